"""The end of a conversation: as much of it is read as a prompt has room for, however long it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mentis.values.turn import Turn

from .agent_record import AgentRecord
from .threads import CAME_TO_NOTHING, told_in

# Whether these turns alone are more than a prompt has room for.
Fills: TypeAlias = Callable[[Sequence[Turn]], bool]

_PIECE = 256  # pieces begin at multiples of it, so that the same ones are read the next time
_POINTS = 64  # turning points that are looked at first


@dataclass(frozen=True, slots=True)
class RecentThread:
    """`told` are the numbers of those that the model is told, as `told_numbers` has them; before
    these it would be told `earlier` others, had it room for them.
    """

    turns: Mapping[int, Turn]
    told: tuple[int, ...]
    earlier: int = 0


def read_thread(
    record: AgentRecord, session: str, fills: Fills, before: int | None = None
) -> RecentThread:
    """The thread, as if the turn `before` was replaced, if given. It blocks.

    A summary is found wherever it stands; what it stands for is not read.
    """
    start, size = record.ledger.count_turns(record.agent, session), _PIECE
    read: dict[int, Turn] = {}
    while True:
        first = max(start - size, 0) // _PIECE * _PIECE
        read = {**_stretch(record, session, first, start), **read}
        start, size = first, size * 2
        turns = _with_turning_points(record, session, read, start=start, before=before)
        told = told_in(turns, before)
        since = _since(turns, told)
        said = tuple(number for number in told if number >= start)
        if start <= since or fills([read[number] for number in said]):
            break
    summary = tuple(n for n in told[:1] if n < start and turns[n].kind == "summary")
    return RecentThread(turns, (*summary, *said), _unread(turns, since, start, before))


def _stretch(record: AgentRecord, session: str, first: int, end: int) -> dict[int, Turn]:
    """The turns of these numbers; StoreDamaged where one of them is missing."""
    found = record.ledger.turns(record.agent, session, since=first, before=end)
    if len(found) < end - first:
        found = record.turns(session)[first:end]  # which says what is wrong
    return dict(enumerate(found, first))


def _with_turning_points(
    record: AgentRecord,
    session: str,
    read: Mapping[int, Turn],
    *,
    start: int,
    before: int | None,
) -> dict[int, Turn]:
    """What was read, and of what was not as much as tells which summary counts."""
    count, turns = 0, dict(read)
    while start and not _since(turns, told_in(turns, before)):
        count = count * 4 or _POINTS
        points = record.ledger.turning_points(record.agent, session, count, before=start)
        turns = {**dict(points), **read}
        if len(points) < count:
            break
    return turns


def _since(turns: Mapping[int, Turn], told: Sequence[int]) -> int:
    """From which number on the thread is told beside its summary, if it has one."""
    summary = turns[told[0]] if told else None
    return summary.until or 0 if summary is not None and summary.kind == "summary" else 0


def _unread(turns: Mapping[int, Turn], since: int, start: int, before: int | None) -> int:
    """How many between the two stand; where something was erased, at most so many."""
    ends = [
        (number, turn.replaces)
        for number, turn in turns.items()
        if turn.replaces is not None and turn.state not in CAME_TO_NOTHING
    ]
    runs, at = list[tuple[int, int]](), since
    for number, replaced in (*ends, *(() if before is None else ((start, before),))):
        runs.append((at, min(number, start)))
        runs = [(first, min(end, replaced)) for first, end in runs if first < replaced]
        at = min(number, start)
    return sum(max(0, end - first) for first, end in (*runs, (at, start)))
