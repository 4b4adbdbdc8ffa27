"""A mark: something open beside the ledger, set and taken away together with entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .json import JsonObject
from .value import Value


@dataclass(frozen=True, slots=True)
class Mark(Value):
    """A small row, unique by agent, kind and key. `value` None takes it away.

    `replaces` says what has to be there before: whoever comes second finds it changed.
    """

    kind: str
    key: str
    value: JsonObject | None = None
    replaces: Literal["any", "nothing", "something"] = "any"
