"""The type of an arbitrary JSON object carried inside a value (schemas, provider state)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

JsonObject: TypeAlias = Mapping[str, object]
