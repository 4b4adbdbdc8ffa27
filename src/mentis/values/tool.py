"""The declaration of a tool: what the model is told about something the agent can do."""

from __future__ import annotations

from dataclasses import dataclass, field

from .json import JsonObject
from .trust import Trust
from .value import LATE, Value

NO_PARAMETERS: JsonObject = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True)
class ToolDeclaration(Value):
    """A tool as the model is told of it. `parameters` is a JSON Schema of an object.

    `strict` asks the provider to hold the model to it. True: wherever the provider can, with
    optional fields as nullable ones; where it cannot, the schema goes out as it is, with a loss.
    None: only where the schema is in that form already, so that no byte of it changes. False:
    never. `reference`: what it answers is reference data (contacts, prices, opening hours), which
    nobody outside can write: its values do not taint. Its words are text from outside all the same.
    """

    name: str
    description: str
    parameters: JsonObject = field(default_factory=lambda: dict(NO_PARAMETERS))
    external_effects: bool = False
    idempotent: bool = False
    trust: Trust = Trust.REFERENCE
    strict: bool | None = None
    reference: bool = field(default=False, metadata=LATE)
