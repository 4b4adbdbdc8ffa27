"""Writes of turns that an older Mentis has recorded and left to be done: marks beside its ledger.

There the turns could lie in another database than the entry, so a mark named them first: `ending`
what a turn came to, `erased_turns` those that a tombstone has erased.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from mentis.codec.forms import from_json
from mentis.errors import BadInput, StoreDamaged
from mentis.values.ending import Ending
from mentis.values.mark import Mark
from mentis.values.turn import Turn
from mentis.values.turn_writes import TurnWrites

from .layout import read_mark
from .rows import Row
from .session import SqlTransaction
from .sql_turns import TurnRow, count_turns, write_turns

ENDING, ERASED_TURNS = "ending", "erased_turns"  # the kinds of the marks
_SESSION, _ENDING, _NUMBERS = "session", "ending", "turns"
_MARKS = "SELECT key, value FROM marks WHERE agent = ? AND kind = ? ORDER BY key"
_CLEAR = "DELETE FROM marks WHERE agent = ? AND kind = ? AND key = ?"
# From the message on: what it came to stands there, or behind it. Only SQLite has the column.
_WRITTEN = """
SELECT 1 FROM turns WHERE agent = ? AND session = ? AND number >= ? AND ending = ? LIMIT 1
"""

Read = Callable[[str, Sequence[object]], list[Row]]


@dataclass(frozen=True, slots=True)
class OlderWrites:
    """What one mark leaves to be done. An ending may have been written already, by its name."""

    mark: Mark
    writes: TurnWrites

    @classmethod
    def read(cls, mark: Mark) -> OlderWrites:
        """StoreDamaged unless it is as it was written: what it says is told to the model."""
        return cls(mark, _ending(mark) if mark.kind == ENDING else _erased(mark))

    def is_written(self, agent: str, read: Read) -> bool:
        """`read` is of the SQLite database that has the turns."""
        if self.mark.kind != ENDING:
            return False
        place = agent, self.writes.session, self.writes.number, self.mark.key
        return bool(read(_WRITTEN, place))

    def within(self, count: int) -> TurnWrites:
        """Only of the first so many turns, which are there."""
        there = tuple(number for number in self.writes.emptied if 0 <= number < count)
        return replace(self.writes, emptied=there)

    def applied_to(self, turns: Sequence[Turn]) -> tuple[Turn, ...]:
        return self.within(len(turns)).applied_to(turns)

    def __str__(self) -> str:
        """Of a verdict, while it is still to be done."""
        where = f"session {self.writes.session!r}"
        until = "when an agent of this home is opened next"
        if self.mark.kind == ENDING:
            number = self.writes.number
            return f"what turn {number} of {where} came to is recorded, and written {until}"
        listed = ", ".join(map(str, self.writes.emptied))
        return (
            f"turns {listed} of {where} went with entry {self.mark.key}, and what was said there is"
            f" emptied in the database {until}"
        )


def settle_marks(session: SqlTransaction, agent: str, read: Read) -> None:
    """Write what the marks leave to be done and take them away, in one transaction."""
    for kind in (ENDING, ERASED_TURNS):
        for key, value in session.execute(_MARKS, (agent, kind)):
            one = OlderWrites.read(read_mark(kind, key, value))
            if not one.is_written(agent, read):
                writes = one.within(count_turns(session, agent, one.writes.session))
                write_turns(session, agent, writes, tuple(map(TurnRow.of, writes.turns)))()
            session.execute(_CLEAR, (agent, kind, key))


def _ending(mark: Mark) -> TurnWrites:
    value = mark.value or {}
    session, written = value.get(_SESSION), value.get(_ENDING)
    try:
        ending = from_json(Ending, str(written))
    except BadInput as error:
        raise _damaged(mark, "what a turn came to", error.message) from error
    if ending.name != mark.key or not mark.key.startswith(f"{session}/"):
        raise _damaged(mark, "what a turn came to", "it is that of another turn")
    return TurnWrites(str(session), ending.number, ending.state, ending.turns)


def _erased(mark: Mark) -> TurnWrites:
    value = mark.value or {}
    session, numbers = value.get(_SESSION), value.get(_NUMBERS)
    listed = cast("list[object]", numbers) if isinstance(numbers, list) else [None]
    whole = all(type(number) is int for number in listed)
    if not (mark.key.isdecimal() and isinstance(session, str) and whole):
        raise _damaged(mark, "which turns were erased", "it is not as it was written")
    return TurnWrites(session, emptied=tuple(cast("list[int]", listed)))


def _damaged(mark: Mark, what: str, reason: str) -> StoreDamaged:
    return StoreDamaged(
        f"{what} cannot be read in mark {mark.key!r}: {reason}",
        hint="somebody changed the database; put a backup in its place",
        column="marks",
        key=mark.key,
    )
