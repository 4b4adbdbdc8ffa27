"""An action, which the model wants done, and its outcome."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .cognition import Screening
from .json import JsonObject
from .part import MediaPart
from .trust import Trust
from .value import LATE, Value

ActionOrigin: TypeAlias = Literal["native", "output_ir", "json", "recovered"]
OutcomeState: TypeAlias = Literal[
    "done",
    "waiting",  # for a person to say yes
    "not_found",
    "invalid",
    "refused",
    "timeout",
    "crashed",
    "unavailable",
    "unknown",  # begun, and nobody can say how far it came
    "deferred",  # to the caller, who executes it and brings the result
]


@dataclass(frozen=True, slots=True)
class Action(Value):
    """A typed intent; it becomes an act only when it has passed the gate."""

    type: str
    payload: JsonObject
    origin: ActionOrigin = "native"
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class InnerTurn(Value):
    """The turn of an agent that an act asked for, by its entry. `handoff`: its answer is the answer
    of the turn that asked.
    """

    agent: str
    session: str
    entry: int
    hash: str
    handoff: bool = False


@dataclass(frozen=True, slots=True)
class Outcome(Value):
    """What an action came to. `text` is what the model is shown of it.

    `key` is that of the call. A result that is too large for the record is kept as a blob; `text`
    is then a brief of it, and `size` what it has in bytes. `source` says who answered. `screening`
    is the verdict on what came from outside; dropped, the tool's words are in the blob alone.
    `media` are the pictures, sounds and documents that came with the text, each by its bytes.
    `turn` is that of the agent that was asked, where the act asked one.
    """

    action: Action
    state: OutcomeState
    text: str = ""
    reason: str = ""
    trust: Trust = Trust.UNTRUSTED
    key: str = ""
    blob: str = ""
    size: int = 0
    source: str = ""
    screening: Screening | None = field(default=None, metadata=LATE)
    media: tuple[MediaPart, ...] = field(default=(), metadata=LATE)
    turn: InnerTurn | None = field(default=None, metadata=LATE)
