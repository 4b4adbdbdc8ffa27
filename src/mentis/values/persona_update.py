"""An update of what a persona keeps about itself: when one is due, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .reply import Usage
from .trust import Trust
from .value import Value

Trigger: TypeAlias = Literal["share", "hand"]


@dataclass(frozen=True, slots=True)
class Progress(Value):
    """How far a session is from the next update. `failures` are those in a row, `failure` the last.

    `messages` and `tokens` are of what no update has read; an update is due when either reaches its
    threshold.
    """

    session: str
    messages: int
    threshold: int
    tokens: int = 0
    most_tokens: int = 0
    since: int = 0
    failures: int = 0
    failure: str = ""
    due: bool = False

    @property
    def percent(self) -> float:
        return min(100.0, round(100 * self.messages / self.threshold, 1)) if self.threshold else 0.0


@dataclass(frozen=True, slots=True)
class FileChange(Value):
    """`review`: it was made from text that nobody vouches for."""

    name: str
    revision: int
    review: bool = False


@dataclass(frozen=True, slots=True)
class PersonaUpdate(Value):
    """What came of one update, also of one that failed: what it wrote until then stays.

    It read `messages` messages, up to turn `until`; `waiting` did not fit and are for the next one,
    and `cut` characters of a message that is longer than the context were left out. `refused` are
    calls that came to an error. `said` is what the model said at the end.
    """

    session: str
    trigger: Trigger
    success: bool
    entry: int
    messages: int = 0
    until: int = 0
    waiting: int = 0
    cut: int = 0
    rounds: int = 0
    read: tuple[str, ...] = ()
    written: tuple[FileChange, ...] = ()
    refused: tuple[str, ...] = ()
    lineage: Trust = Trust.SELF
    said: str = ""
    usage: Usage | None = None
    failure: str = ""
    message: str = ""
