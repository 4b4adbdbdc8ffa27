"""What the model wants done, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .json import JsonObject
from .trust import Trust
from .value import Value

ActionOrigin: TypeAlias = Literal["native", "output_ir", "json", "recovered"]
OutcomeState: TypeAlias = Literal[
    "done", "not_found", "invalid", "refused", "timeout", "crashed", "unavailable", "unknown"
]


@dataclass(frozen=True, slots=True)
class Action(Value):
    """A typed intent; it becomes an act only when it has passed the gate."""

    type: str
    payload: JsonObject
    origin: ActionOrigin = "native"
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Outcome(Value):
    """What an action came to. `text` is what the model is shown of it."""

    action: Action
    state: OutcomeState
    text: str = ""
    reason: str = ""
    trust: Trust = Trust.UNTRUSTED
