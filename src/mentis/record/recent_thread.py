"""A piece of a conversation: as much of its end as a prompt has room for, or a page of it. However
long it is, no more is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mentis.values.session import TurnPage
from mentis.values.turn import Turn

from .agent_record import AgentRecord
from .threads import CAME_TO_NOTHING, standing_in, told_in

# How many of the newest of these turns are more than a prompt has room for; 0: all are not.
Fills: TypeAlias = Callable[[Sequence[Turn]], int]

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
    end = start = record.ledger.count_turns(record.agent, session)
    size = _PIECE
    read: dict[int, Turn] = {}
    points = _TurningPoints(record, session, before)
    while True:
        first = max(start - size, 0) // _PIECE * _PIECE
        read = read_turns(record, session, first, start) | read
        # Few rounds, and little that has no room: half as much again as was read.
        start, size = first, max(2 * _PIECE, (end - first) // 2)
        turns, told = points.joined(read, start)
        since = _since(turns, told)
        said = tuple([number for number in told if number >= start])
        enough = fills([read[number] for number in said])
        if start <= since or enough:
            break
    if enough and said[-enough] > start and start > since:
        start, said = said[-enough], said[-enough:]
    summary = tuple(n for n in told[:1] if n < start and turns[n].kind == "summary")
    return RecentThread(turns, (*summary, *said), _unread(turns, since, start, before))


def read_turns(record: AgentRecord, session: str, first: int, end: int) -> dict[int, Turn]:
    """The turns of these numbers; StoreDamaged where one of them is missing."""
    found = record.ledger.turns(record.agent, session, since=first, before=end)
    if len(found) < end - first:
        found = record.turns(session)[first:end]  # which says what is wrong
    return dict(enumerate(found, first))


def turns_page(
    record: AgentRecord,
    session: str,
    *,
    after: int | None = None,
    count: int | None = None,
    newest: bool = False,
) -> TurnPage:
    """So many turns `after` a number; with `newest` those before it, or the last ones. No others
    are read but those that replace some. It blocks.
    """
    ledger, agent = record.ledger, record.agent
    length = ledger.count_turns(agent, session)
    if newest:
        end = length if after is None else min(after, length)
        first = 0 if count is None else max(0, end - count)
    else:
        first = 0 if after is None else min(after + 1, length)
        end = length if count is None else min(first + count, length)
    page = read_turns(record, session, first, end)
    points = dict(ledger.turning_points(agent, session, length, before=length))
    standing = standing_in(dict(sorted({**points, **page}.items())))
    more = first > 0 if newest else end < length
    return TurnPage(tuple(page.items()), tuple(sorted(standing)), more)


class _TurningPoints:
    """Of what was not read, as much as tells which summary counts; looked for once."""

    def __init__(self, record: AgentRecord, session: str, before: int | None) -> None:
        self._record, self._session, self._before = record, session, before
        self._found: dict[int, Turn] = {}
        self._there_are_more = True

    def joined(
        self, read: Mapping[int, Turn], start: int
    ) -> tuple[dict[int, Turn], tuple[int, ...]]:
        """These, with what is known of those before `start`, and which of all are told."""
        while True:
            known = {number: turn for number, turn in self._found.items() if number < start}
            turns = {**known, **read}
            told = told_in(turns, self._before)
            if not (start and self._there_are_more) or _since(turns, told):
                return turns, told
            self._look_further(start)

    def _look_further(self, start: int) -> None:
        ledger, count = self._record.ledger, len(self._found) * 4 or _POINTS
        points = ledger.turning_points(self._record.agent, self._session, count, before=start)
        self._there_are_more = len(points) == count
        self._found = dict(points)


def _since(turns: Mapping[int, Turn], told: Sequence[int]) -> int:
    """From which number on the thread is told beside its summary, if it has one."""
    summary = turns[told[0]] if told else None
    return summary.until or 0 if summary is not None and summary.kind == "summary" else 0


def _unread(turns: Mapping[int, Turn], since: int, start: int, before: int | None) -> int:
    """How many between the two stand; where something was erased, at most so many."""
    if start <= since:
        return 0
    ends = [
        (number, turn.replaces)
        for number, turn in turns.items()
        if turn.replaces is not None and turn.state not in CAME_TO_NOTHING
    ]
    runs, at = list[tuple[int, int]](), since
    for number, replaced in (*ends, *(() if before is None else ((start, before),))):
        runs.append((at, min(number, start)))
        while runs and runs[-1][0] >= replaced:  # in their order, so that only the last are cut
            runs.pop()
        if runs:
            runs[-1] = (runs[-1][0], min(runs[-1][1], replaced))
        at = max(at, min(number, start))
    return sum(max(0, end - first) for first, end in (*runs, (at, start)))
