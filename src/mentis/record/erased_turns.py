"""Turns that go with the fields of their entry: named beside its tombstone, and emptied after it.

The mark that names them is set in the transaction of the tombstone, since the turns may lie in
another database. So whoever was killed in between has left exactly what is still to be done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from mentis.errors import StoreDamaged
from mentis.values.mark import Mark
from mentis.values.turn import Turn

from .stored_turns import emptied, is_emptied

ERASED_TURNS = "erased_turns"  # the kind of the marks
_SESSION, _NUMBERS, _FIELDS = "session", "turns", "fields"


@dataclass(frozen=True, slots=True)
class ErasedTurns:
    """The turns that entry `index` speaks of and that go with these fields of it.

    `missing` are not in the session as it says.
    """

    index: int
    session: str
    numbers: tuple[int, ...]
    fields: tuple[str, ...]
    missing: int = 0

    @classmethod
    def read(cls, mark: Mark) -> ErasedTurns:
        """StoreDamaged unless it is as it was written: what it names is emptied."""
        value = mark.value or {}
        session, numbers, fields = (value.get(name) for name in (_SESSION, _NUMBERS, _FIELDS))
        if (
            mark.key.isdecimal()
            and isinstance(session, str)
            and _all_of(int, numbers)
            and _all_of(str, fields)
        ):
            turns = tuple(cast("list[int]", numbers))
            return cls(int(mark.key), session, turns, tuple(cast("list[str]", fields)))
        raise StoreDamaged(
            f"which turns were erased cannot be read in mark {mark.key!r}",
            hint="somebody changed the database; put a backup in its place",
            column="marks",
            key=mark.key,
        )

    def mark(self) -> Mark:
        value = {
            _SESSION: self.session,
            _NUMBERS: list(self.numbers),
            _FIELDS: list(self.fields),
        }
        return Mark(ERASED_TURNS, str(self.index), value)

    def standing(self, turns: Sequence[Turn]) -> tuple[int, ...]:
        """Those of the session that still have what was said in them."""
        there = (number for number in self.numbers if 0 <= number < len(turns))
        return tuple(number for number in there if not is_emptied(turns[number]))

    def apply_to(self, turns: Sequence[Turn]) -> tuple[Turn, ...]:
        """The turns of the session as they are once these are emptied."""
        gone = frozenset(self.numbers)
        return tuple(emptied(turn) if n in gone else turn for n, turn in enumerate(turns))

    def note(self) -> str:
        """Of a verdict, while they still stand."""
        return (
            f"{self} went with entry {self.index}, and what was said there is not emptied in the"
            f" database yet: `mentis ledger erase {self.index}` again does that, or the next turn"
        )

    def __str__(self) -> str:
        listed = ", ".join(map(str, self.numbers))
        return f"turn{'s' * (len(self.numbers) > 1)} {listed} of session {self.session!r}"


def _all_of(kind: type, value: object) -> bool:
    if not isinstance(value, list):
        return False
    return all(type(one) is kind for one in cast("list[object]", value))
