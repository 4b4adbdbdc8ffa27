"""The end of a turn, as an older Mentis left it in a mark beside its entry."""

from __future__ import annotations

from dataclasses import dataclass

from .turn import Turn, TurnState
from .value import Value


@dataclass(frozen=True, slots=True)
class Ending(Value):
    """The state that a message has now, and what followed it.

    `number` is that of the message; where there is none (`state` is None), how many turns there
    were. No other ending has the same `name`.
    """

    name: str
    number: int
    state: TurnState | None = None
    turns: tuple[Turn, ...] = ()
