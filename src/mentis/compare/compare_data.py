"""Plans and comparisons as JSON: the same for every surface."""

from __future__ import annotations

from mentis.codec.forms import to_object
from mentis.costs.cost_data import usage_data, usd_data
from mentis.values.comparison import (
    ComparedCase,
    ComparedSide,
    ComparePlan,
    Comparison,
    JudgedAnswer,
    PlannedSide,
)

from .rates import rate_data

_PLACES = 4  # of a rate


def plan_data(plan: ComparePlan) -> dict[str, object]:
    return {
        "agent": plan.agent,
        "messages": len(plan.cases),
        "repeat": plan.repeat,
        "calls": plan.calls,
        "most_usd": usd_data(plan.usd),
        "free": plan.free,
        "planned": [_planned(one) for one in plan.sides],
        "differences": [to_object(one) for one in plan.differences],
        "notes": list(plan.notes),
    }


def comparison_data(found: Comparison) -> dict[str, object]:
    apart = found.difference
    return {
        **plan_data(found.plan),
        "replayed": found.replayed,
        "sides": [_side(one) for one in found.sides],
        "difference": None if apart is None else [round(one, _PLACES) for one in apart],
        "winner": found.winner,
        "cases": [_case(one) for one in found.cases],
    }


def _planned(side: PlannedSide) -> dict[str, object]:
    return {
        "label": side.label,
        "route": side.route,
        "model": side.model,
        "calls": side.calls,
        "prompt_tokens": side.prompt_tokens,
        "most": usage_data(side.usage),
        "most_usd": usd_data(side.usd),
        "price": side.price,
    }


def _side(side: ComparedSide) -> dict[str, object]:
    return {
        "label": side.plan.label,
        "route": side.plan.route,
        "model": side.plan.model,
        **rate_data(side.passed),
        "unanswered": side.unanswered,
        "usage": usage_data(side.usage),
        "usd": usd_data(side.usd),
    }


def _case(found: ComparedCase) -> dict[str, object]:
    return {
        "name": found.case.name,
        "message": found.case.message,
        "checks": len(found.case.checks),
        "sides": [
            {**rate_data(found.passed(n)), "answers": [_answer(one) for one in answers]}
            for n, answers in enumerate(found.answers)
        ],
    }


def _answer(one: JudgedAnswer) -> dict[str, object]:
    return {
        "text": one.text,
        "stop": one.stop,
        "passed": one.passed,
        "faults": list(one.faults),
        "failure": one.failure,
        "asked_for": list(one.asked_for),
        "usage": None if one.usage is None else usage_data(one.usage),
        "usd": usd_data(one.usd),
    }
