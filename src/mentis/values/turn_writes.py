"""Changes of a conversation that an entry brings with it, written in its transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .turn import Turn, TurnState
from .value import Value


@dataclass(frozen=True, slots=True)
class TurnWrites(Value):
    """The `state` that the message `number` of a session has now, the `turns` that follow at its
    end, and the numbers of those that are `emptied`.
    """

    session: str
    number: int = 0
    state: TurnState | None = None
    turns: tuple[Turn, ...] = ()
    emptied: tuple[int, ...] = ()

    def applied_to(self, turns: Sequence[Turn]) -> tuple[Turn, ...]:
        """The session after it. A message that is gone stays so, for `verify` to miss."""
        gone = frozenset(self.emptied)
        told = [emptied(turn) if n in gone else turn for n, turn in enumerate(turns)]
        if self.state is not None and 0 <= self.number < len(told):
            told[self.number] = replace(told[self.number], state=self.state)
        return (*told, *self.turns)


def emptied(turn: Turn) -> Turn:
    """The rest of a turn that was erased: its place, and what it takes the place of."""
    return replace(turn, parts=(), author="", origin=None)
