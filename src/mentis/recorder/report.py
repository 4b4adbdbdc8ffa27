"""The sum of recorded calls: how many, tokens, money, what the cache lost, what to change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from mentis.record.foreign_calls import ForeignCall, LossReason
from mentis.values.value import Value

_FIXES: Mapping[LossReason, str] = {
    "changed": "keep {place} the same from call to call: put what changes behind it",
    "reordered": "declare the tools in one order",
    "rewritten": "older messages were replaced: do that seldom, and many at a time",
    "unmarked": "ask for the cache: put cache_control on the last tool, the system text and the"
    " last message",
    "ended": "calls were too far apart: ask for a longer life (ttl 1h), or keep it warm",
    "unknown": "the prompt did not change: the provider let go of it early",
}


@dataclass(frozen=True, slots=True)
class LossSummary(Value):
    """One cause: how often, tokens read again, money; `fix` says what to change."""

    reason: LossReason
    place: str
    calls: int
    tokens: int
    usd: Decimal | None
    fix: str


@dataclass(frozen=True, slots=True)
class CallReport(Value):
    """`usd` sums up what has a price; `unpriced` calls have none, and `why` says why not.

    `questions` of the `calls` asked a model; `failed` had no answer, or an error; `unmeasured` were
    answered, and nobody said what they used. `flagged` results of tools look like somebody's
    instructions.
    """

    calls: int
    questions: int
    failed: int
    unmeasured: int
    sessions: int
    input: int
    output: int
    cache_read: int
    cache_write: int
    usd: Decimal
    unpriced: int
    why: str
    losses: tuple[LossSummary, ...]
    flagged: int


def report_calls(found: Iterable[ForeignCall]) -> CallReport:
    calls = list(found)
    asked = [call for call in calls if call.model]
    used = [call.usage for call in asked if call.usage is not None]
    unpriced = [call for call in asked if call.usage is not None and call.usd is None]
    return CallReport(
        calls=len(calls),
        questions=len(asked),
        failed=sum(call.end != "answered" or call.status >= 400 for call in calls),
        unmeasured=sum(call.status == 200 and call.usage is None for call in asked),
        sessions=len({call.session for call in asked}),
        input=sum(usage.input for usage in used),
        output=sum(usage.output for usage in used),
        cache_read=sum(usage.cache_read for usage in used),
        cache_write=sum(usage.cache_write for usage in used),
        usd=sum((call.usd for call in asked if call.usd is not None), Decimal(0)),
        unpriced=len(unpriced),
        why=unpriced[0].priced if unpriced else "",
        losses=_losses(asked),
        flagged=sum(len(call.flagged) for call in asked),
    )


def _losses(calls: Iterable[ForeignCall]) -> tuple[LossSummary, ...]:
    """By cause, the dearest first."""
    groups: dict[tuple[LossReason, str], list[ForeignCall]] = {}
    for call in calls:
        if call.lost and call.reason is not None:
            place = call.place if call.reason == "changed" else ""
            groups.setdefault((call.reason, place), []).append(call)
    made = [_summary(reason, place, same) for (reason, place), same in groups.items()]
    return tuple(sorted(made, key=lambda one: -one.tokens))


def _summary(reason: LossReason, place: str, calls: list[ForeignCall]) -> LossSummary:
    paid = [call.lost_usd for call in calls if call.lost_usd is not None]
    return LossSummary(
        reason,
        place,
        len(calls),
        sum(call.lost for call in calls),
        sum(paid, Decimal(0)) if len(paid) == len(calls) else None,
        _FIXES[reason].format(place=place),
    )


@dataclass(frozen=True, slots=True)
class SessionReport(Value):
    """One session of a recorded agent. `threads` begin with messages of their own: sub-agents,
    titles; `parents` says which of them each one branched from.
    """

    name: str
    first: str
    last: str
    threads: int
    parents: Mapping[int, int]
    sum: CallReport


def report_sessions(found: Iterable[ForeignCall]) -> tuple[SessionReport, ...]:
    """In the order in which they began; calls that ask no model are in none."""
    groups: dict[str, list[ForeignCall]] = {}
    for call in found:
        if call.session:
            groups.setdefault(call.session, []).append(call)
    return tuple(
        SessionReport(
            name,
            calls[0].time,
            calls[-1].time,
            len({call.thread for call in calls}),
            {call.thread: call.parent for call in calls if call.parent is not None},
            report_calls(calls),
        )
        for name, calls in groups.items()
    )
