"""Costs and explanations of turns as JSON: the same for every surface."""

from __future__ import annotations

from decimal import Decimal

from mentis.values.cost import CacheLoss, CallCost, Cost, CostReport, TurnCost, TurnExplanation
from mentis.values.reply import Usage


def usage_data(usage: Usage) -> dict[str, int]:
    return {
        "input": usage.input,
        "cached": usage.cache_read,
        "written": usage.cache_write,
        "output": usage.output,
        "reasoning": usage.reasoning,
    }


def usd_data(usd: Decimal | None) -> str | None:
    """A decimal number as text, because JSON's numbers are no money; None where it is not known."""
    return None if usd is None else format(usd.normalize(), "f")


def cost_data(cost: Cost) -> dict[str, object]:
    known = not (cost.unpriced and cost.unpriced == cost.calls)
    return {
        "calls": cost.calls,
        **usage_data(cost.usage),
        "usd": usd_data(cost.usd if known else None),
        "unpriced": cost.unpriced,
        "free": cost.free,
        "planned": cost.planned,
    }


def loss_data(loss: CacheLoss | None) -> dict[str, object] | None:
    if loss is None:
        return None
    return {
        "cause": loss.cause,
        "step": loss.step,
        "where": loss.where,
        "pointer": loss.pointer,
        "byte": loss.byte if loss.byte >= 0 else None,
        "exact": loss.exact,
        "tokens": loss.tokens,
        "usd": usd_data(loss.usd),
        "reason": loss.reason,
    }


def call_cost_data(call: CallCost) -> dict[str, object]:
    return {
        "route": call.route,
        "model": call.model,
        "step": call.step,
        "number": call.number,
        "stage": call.stage,
        "planned": call.planned,
        **usage_data(call.usage),
        "usd": usd_data(call.usd),
        "price": call.price,
        "expected": call.expected,
        "counted": call.counted,
    }


def turn_cost_data(turn: TurnCost) -> dict[str, object]:
    return {
        "agent": turn.agent,
        "entry": turn.entry,
        "time": turn.time or None,
        "session": turn.session,
        "kind": turn.kind,
        "elsewhere": turn.elsewhere,
        "cost": cost_data(turn.cost),
        "whole": cost_data(turn.whole),
        "calls": [call_cost_data(call) for call in turn.calls],
        "inner": [turn_cost_data(one) for one in turn.inner],
        "loss": loss_data(turn.loss),
        "fix": turn.fix,
    }


def cost_report_data(report: CostReport) -> dict[str, object]:
    return {
        "agents": list(report.agents),
        "by": report.by,
        "total": cost_data(report.total),
        "groups": [
            {"name": one.name, **({"agent": one.agent} if one.agent else {}), **cost_data(one.cost)}
            for one in report.groups
        ],
        "turns": [turn_cost_data(one) for one in report.turns],
        "notes": list(report.notes),
        "partial": report.partial,
    }


def explanation_data(found: TurnExplanation) -> dict[str, object]:
    return {
        **turn_cost_data(found.turn),
        "step": found.step,
        "steps": found.steps,
        "call": None if found.call is None else call_cost_data(found.call),
        "rebuilt": found.rebuilt,
        "identical": found.identical,
        "pieces": [
            {
                "name": one.name,
                "pointer": one.pointer,
                "trust": one.trust.value,
                "tokens": one.tokens,
                "cached": one.cached,
                "written": one.written,
                "usd": usd_data(one.usd),
                **({"screening": one.screening} if one.screening else {}),
            }
            for one in found.pieces
        ],
        "answer_usd": usd_data(found.answer_usd),
        "omitted": [
            {"kind": one.kind, "name": one.name, "reason": one.reason, "tokens": one.tokens}
            for one in found.omitted
        ],
        "before": None if found.before is None else list(found.before),
        "changed": loss_data(found.changed),
        "context": None if found.context is None else list(found.context),
        "loss": loss_data(found.loss),
        "fix": found.fix,
        "notes": list(found.notes),
    }
