"""The sum of recorded calls: how many, tokens, money, what the cache lost, what to change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from mentis.record.foreign_calls import CallOrigin, ForeignCall, LossReason, loss_fix
from mentis.values.value import Value


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
class SideSummary(Value):
    """Calls of one kind beside the conversations: titles, probes, counts of tokens."""

    what: str
    calls: int
    input: int
    output: int
    usd: Decimal
    unpriced: int


@dataclass(frozen=True, slots=True)
class CallReport(Value):
    """`usd` sums up what has a price; `unpriced` calls have none, and `why` says why not.

    `questions` of the `calls` asked a model; `failed` had no answer, or an error; `unmeasured` were
    answered, and nobody said what they used. `flagged` results of tools look like somebody's
    instructions. `side` are the calls beside conversations, which the sums hold as well; `repaired`
    calls were changed on their way.
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
    side: tuple[SideSummary, ...] = ()
    repaired: int = 0


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
        side=_sides(calls),
        repaired=sum(bool(call.repairs) for call in calls),
    )


def _sides(calls: Iterable[ForeignCall]) -> tuple[SideSummary, ...]:
    """By kind, those that came most often first."""
    groups: dict[str, list[ForeignCall]] = {}
    for call in calls:
        if call.what:
            groups.setdefault(call.what, []).append(call)
    made: list[SideSummary] = []
    for what, same in groups.items():
        used = [call.usage for call in same if call.usage is not None]
        paid = [call.usd for call in same if call.usd is not None]
        tokens = sum(usage.input for usage in used), sum(usage.output for usage in used)
        unpriced = len(used) - len(paid)
        made.append(SideSummary(what, len(same), *tokens, sum(paid, Decimal(0)), unpriced))
    return tuple(sorted(made, key=lambda one: -one.calls))


def _losses(calls: Iterable[ForeignCall]) -> tuple[LossSummary, ...]:
    """By cause, the dearest first."""
    groups: dict[tuple[LossReason, str, str], list[ForeignCall]] = {}
    for call in calls:
        if call.lost and call.reason is not None:
            place = call.place if call.reason == "changed" else ""
            groups.setdefault((call.reason, place, call.repair), []).append(call)
    made = [_summary(reason, place, same) for (reason, place, _), same in groups.items()]
    return tuple(sorted(made, key=lambda one: -one.tokens))


def _summary(reason: LossReason, place: str, calls: list[ForeignCall]) -> LossSummary:
    paid = [call.lost_usd for call in calls if call.lost_usd is not None]
    return LossSummary(
        reason,
        place,
        len(calls),
        sum(call.lost for call in calls),
        sum(paid, Decimal(0)) if len(paid) == len(calls) else None,
        loss_fix(reason, place, calls[0].repair),
    )


@dataclass(frozen=True, slots=True)
class ThreadReport(Value):
    """One thread of a session. `parent` is the thread above it; `origin` the call that asked for
    it, which may be of another session. `what` is the kind of its calls, where they are beside a
    conversation.
    """

    number: int
    parent: int | None
    origin: CallOrigin | None
    what: str
    sum: CallReport


@dataclass(frozen=True, slots=True)
class SessionReport(Value):
    """One session of a recorded agent. `parent` is the session that asked for it. `threads` begin
    with messages of their own: sub-agents, titles; `parents` says which of them each one is below,
    `tree` tells of each.
    """

    name: str
    first: str
    last: str
    threads: int
    parents: Mapping[int, int]
    sum: CallReport
    parent: str | None = None
    tree: tuple[ThreadReport, ...] = ()

    @property
    def main(self) -> ThreadReport:
        """The conversation that it is about: its first thread, but for calls beside it."""
        return next((one for one in self.tree if not one.what), self.tree[0])


def report_sessions(found: Iterable[ForeignCall]) -> tuple[SessionReport, ...]:
    """In the order in which they began; calls that ask no model are in none."""
    groups: dict[str, list[ForeignCall]] = {}
    for call in found:
        if call.session:
            groups.setdefault(call.session, []).append(call)
    return tuple(_session(name, calls, groups) for name, calls in groups.items())


def _session(
    name: str, calls: list[ForeignCall], known: Mapping[str, list[ForeignCall]]
) -> SessionReport:
    tree = tuple(_threads(calls))
    made = SessionReport(
        name,
        calls[0].time,
        calls[-1].time,
        len(tree),
        {one.number: one.parent for one in tree if one.parent is not None},
        report_calls(calls),
        tree=tree,
    )
    above = made.main.origin.session if made.main.origin else name
    return replace(made, parent=above) if above != name and above in known else made


def _threads(calls: list[ForeignCall]) -> Iterator[ThreadReport]:
    groups: dict[int, list[ForeignCall]] = {}
    for call in calls:
        groups.setdefault(call.thread, []).append(call)
    for number, same in sorted(groups.items()):
        kinds = {call.what for call in same}
        parent = next((call.parent for call in same if call.parent is not None), None)
        origin = next((call.origin for call in same if call.origin is not None), None)
        what = kinds.pop() if len(kinds) == 1 else ""
        yield ThreadReport(number, parent, origin, what, report_calls(same))
