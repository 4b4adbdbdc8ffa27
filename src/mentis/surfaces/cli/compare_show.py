"""A comparison as a person reads it: case by case, then the sums, and what they say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

from mentis.values.words import quantity

from .rates_show import INTERVAL, count_words, interval_words, rate_words
from .report import Note, Text, TextDiff
from .shown import safe
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.values.comparison import ComparedCase, ComparedSide, ComparePlan, Comparison
    from mentis.values.proportion import Proportion

_NAMES = ("A", "B")
_SHOWN = 40  # characters of a message that has no name of its own


def plan_lines(plan: ComparePlan) -> Iterator[Text]:
    """What would be asked, at most for how much, and how the prompts differ."""
    rows = [
        (
            name,
            one.label,
            one.route,
            one.model,
            str(one.calls),
            str(one.prompt_tokens),
            _usd(one.usd),
        )
        for name, one in zip(_NAMES, plan.sides, strict=False)
    ]
    columns = ("", "side", "route", "model", "calls", "prompt tokens", "at most")
    yield TextTable(columns, rows, right=columns[-3:])
    yield from _difference_lines(plan)


def comparison_lines(found: Comparison, *, answers: bool = False) -> Iterator[Text]:
    """Cases, sums, verdict, what failed and why, and how the prompts differ."""
    two = len(found.sides) > 1
    names = _NAMES[: len(found.sides)]
    rows = [
        (_case_name(one), *(_count(one.passed(n)) for n in range(len(names))))
        for one in found.cases
    ]
    yield TextTable(("message", *(names if two else ("passed",))), rows, right=names)
    yield ""
    sums = [_sum(name, one) for name, one in zip(names, found.sides, strict=True)]
    columns = ("", "side", "model", "passed", "rate", INTERVAL, "in", "out", "cost")
    yield TextTable(columns, sums, right=columns[3:])
    yield ""
    yield from _verdict(found)
    yield from _fault_lines(found, two=two)
    if answers:
        yield from _answer_lines(found, two=two)
    yield from _difference_lines(found.plan)


def _case_name(one: ComparedCase) -> str:
    told = one.case.name if not one.case.name.isdecimal() else one.case.message
    line = safe(" ".join(told.split()))
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 3]}..."


def _count(counted: Proportion) -> str:
    return count_words(counted) if counted.total else "no check"


def _sum(name: str, side: ComparedSide) -> tuple[str, ...]:
    return (
        name,
        safe(side.plan.label),
        safe(side.plan.model),
        _count(side.passed),
        rate_words(side.passed),
        interval_words(side.passed),
        f"{side.usage.input:,}",
        f"{side.usage.output:,}",
        _usd(side.usd),
    )


def _usd(usd: Decimal | None) -> str:
    return "unknown" if usd is None else "free" if usd == 0 else f"${usd:.4f}"


def _verdict(found: Comparison) -> Iterator[Text]:
    apart = found.difference
    if apart is not None:
        first, second = (one.passed.rate for one in found.sides)
        points = round((second - first) * 100)
        between = f"(95 %: {apart[0] * 100:+.0f} to {apart[1] * 100:+.0f} points)"
        often = f"{abs(points)} points {'more' if points > 0 else 'less'} often"
        told = f"B passes {often if points else 'as often as A'} {between}"
        yield told if found.winner else f"{told}: chance alone may explain it"
    elif not any(one.passed.total for one in found.sides):
        yield Note("no message has a check: nothing can pass or fail")
    if found.replayed:
        yield Note("these answers were kept; nobody was asked and nothing was spent")
    for name, side in zip(_NAMES, found.sides, strict=False):
        if side.unanswered:
            yield Note(f"{name}: {quantity(side.unanswered, 'call')} brought no answer, see below")


def _fault_lines(found: Comparison, *, two: bool) -> Iterator[Text]:
    """What failed, each reason once with how often."""
    for case in found.cases:
        for name, answers in zip(_NAMES, case.answers, strict=False):
            reasons = Counter(
                reason
                for one in answers
                for reason in ((f"no answer: {one.failure}",) if one.failure else one.faults)
            )
            for reason, count in reasons.items():
                often = f" ({count} of {len(answers)})" if len(answers) > 1 else ""
                yield safe(f"{f'{name}, ' if two else ''}{_case_name(case)}: {reason}{often}")


def _answer_lines(found: Comparison, *, two: bool) -> Iterator[Text]:
    for case in found.cases:
        yield ""
        yield f"message> {case.case.message}"
        for name, answers in zip(_NAMES, case.answers, strict=False):
            for one in answers:
                mark = "ok" if one.passed else "failed"
                called = f" [asked for {', '.join(one.asked_for)}]" if one.asked_for else ""
                yield f"{name if two else 'answer'} ({mark})> {one.text}{called}"


def _difference_lines(plan: ComparePlan) -> Iterator[Text]:
    for note in plan.notes:
        yield Note(safe(note))
    if plan.differences:
        yield ""
        for difference in plan.differences:
            yield TextDiff(difference.diff)
