"""Numbers in the form their schema wants: 3.0 becomes 3 where an integer is declared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from .lenient import object_in


def with_integers(value: object, schema: object) -> object:
    """The value itself when nothing in it has to change."""
    shape = object_in(schema)
    if isinstance(value, float):
        return int(value) if _wants_integer(shape) and value.is_integer() else value
    if isinstance(value, dict):
        return _members(cast("Mapping[str, object]", value), object_in(shape.get("properties")))
    if isinstance(value, list):
        items = cast("list[object]", value)
        made = [with_integers(item, shape.get("items")) for item in items]
        return made if _changed(made, items) else items
    return value


def _members(value: Mapping[str, object], shapes: Mapping[str, object]) -> Mapping[str, object]:
    made = {name: with_integers(item, shapes.get(name)) for name, item in value.items()}
    return made if _changed(list(made.values()), list(value.values())) else value


def _changed(made: list[object], items: list[object]) -> bool:
    return any(new is not old for new, old in zip(made, items, strict=True))


def _wants_integer(shape: Mapping[str, object]) -> bool:
    kind = shape.get("type")
    if isinstance(kind, list):
        return "integer" in kind and "number" not in kind
    return kind == "integer"
