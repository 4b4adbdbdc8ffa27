"""The state a mind keeps between ticks. A change makes a new state with the next revision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .json import JsonObject
from .trust import Trust
from .value import Value


@dataclass(frozen=True, slots=True)
class Goal(Value):
    id: str
    text: str
    weight: float = 1.0
    children: tuple[Goal, ...] = ()
    lineage: Trust = Trust.SELF


@dataclass(frozen=True, slots=True)
class CognitionState(Value):
    goals: tuple[Goal, ...] = ()
    l1_memory: tuple[str, ...] = ()
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Sense(Value):
    """Something that reached the agent from outside its own thinking."""

    id: str
    kind: str
    payload: JsonObject
    trust: Trust = Trust.UNTRUSTED


@dataclass(frozen=True, slots=True)
class Memory(Value):
    """A searchable note: a fact, a decision, an episode."""

    id: str
    text: str
    kind: str = "observation"
    trust: Trust = Trust.UNTRUSTED
    source: str = ""
    time: str = ""


@dataclass(frozen=True, slots=True)
class Screened(Value):
    """What the screener says of a text."""

    outcome: Literal["clean", "suspicious", "dropped"]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Revision(Value):
    """One saved state of something editable: prompts, persona files, cognition state."""

    key: str
    number: int
    content: str
    digest: str
    time: str
    words: str = ""
