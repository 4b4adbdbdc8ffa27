"""A conversation seen from outside."""

from __future__ import annotations

from dataclasses import dataclass

from .turn import Turn
from .value import Value

BEATS = "beats"  # the session of what it thinks in moments of its own


@dataclass(frozen=True, slots=True)
class SessionOutline(Value):
    """A conversation as a list shows it. `begins` are the first words in it, `turns` how many are
    kept; `unanswered`: whether its last message came to nothing, or waits.
    """

    name: str
    title: str = ""
    begins: str = ""
    turns: int = 0
    unanswered: bool = False


@dataclass(frozen=True, slots=True)
class TurnPage(Value):
    """A stretch of a conversation, the oldest first, each turn with its number. Those that are
    `standing` were not replaced by a later one; `more`: whether others follow the stretch.
    """

    turns: tuple[tuple[int, Turn], ...]
    standing: tuple[int, ...] = ()
    more: bool = False


@dataclass(frozen=True, slots=True)
class AnswerVersion(Value):
    """An answer that the last message of a conversation has had; `number` is that of its message,
    and `current` the one that counts.
    """

    number: int
    text: str
    current: bool = False


@dataclass(frozen=True, slots=True)
class Session(Value):
    """`turns` are all that are kept, `told` those that still count, `replaced` those said anew.

    `unanswered` are the numbers of messages that failed or were never finished: no model is told.
    """

    name: str
    title: str = ""
    turns: int = 0
    told: int = 0
    replaced: int = 0
    unanswered: tuple[int, ...] = ()
    summary: bool = False
