"""What the model is told about something the agent can do."""

from __future__ import annotations

from dataclasses import dataclass, field

from .json import JsonObject
from .trust import Trust
from .value import Value

NO_PARAMETERS: JsonObject = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True)
class ToolDeclaration(Value):
    """`parameters` is a JSON Schema of an object."""

    name: str
    description: str
    parameters: JsonObject = field(default_factory=lambda: dict(NO_PARAMETERS))
    external_effects: bool = False
    idempotent: bool = False
    trust: Trust = Trust.REFERENCE
