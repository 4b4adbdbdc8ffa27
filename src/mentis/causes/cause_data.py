"""Plans and causes as JSON: the same for every surface."""

from __future__ import annotations

from mentis.costs.cost_data import usage_data, usd_data
from mentis.values.cause import CausePlan, PromptUnit, TurnCauses, UnitCause

_PLACES = 4  # of a fall: the model itself is not as exact as that


def plan_data(plan: CausePlan) -> dict[str, object]:
    return {
        "agent": plan.agent,
        "entry": plan.entry,
        "step": plan.step,
        "method": plan.method,
        "route": plan.route,
        "model": plan.model,
        "units": [_unit(unit) for unit in plan.units],
        "skipped": [_unit(unit) for unit in plan.skipped],
        "calls": plan.calls,
        "most": usage_data(plan.usage),
        "most_usd": usd_data(plan.usd),
        "free": plan.free,
        "price": plan.price,
        "notes": list(plan.notes),
    }


def causes_data(found: TurnCauses) -> dict[str, object]:
    return {
        **plan_data(found.plan),
        "answer": found.answer,
        "value": round(found.value, _PLACES),
        "answer_tokens": found.answer_tokens,
        "spread": round(found.spread, _PLACES),
        "causes": [_cause(one) for one in found.causes],
        "prefilled": found.prefilled,
        "reused": found.reused,
        "usage": usage_data(found.usage),
        "usd": usd_data(found.usd),
        "notes": list(found.notes),
    }


def _cause(one: UnitCause) -> dict[str, object]:
    tokens = [{"token": each.token, "fall": round(each.fall, _PLACES)} for each in one.tokens]
    measured = {"value": round(one.value, _PLACES), "fall": round(one.fall, _PLACES)}
    return {**_unit(one.unit), **measured, "tokens": tokens}


def _unit(unit: PromptUnit) -> dict[str, object]:
    return {
        "name": unit.name,
        "kind": unit.kind,
        "trust": unit.trust.value,
        "section": unit.section,
        "size": unit.tokens,
    }
