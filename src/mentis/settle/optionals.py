"""Null for a field that is merely optional is no value at all: the field is absent.

A schema that a provider enforces has no optional fields; they are lowered to fields that may be
null, and a model that leaves one out writes null. Where the tool's own schema knows null, it stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from .lenient import list_in, object_in


def without_nulls(value: object, schema: object, root: object) -> object:
    """The value itself when nothing in it has to change."""
    shape = _resolved(object_in(schema), object_in(root))
    if isinstance(value, dict):
        return _members(cast("Mapping[str, object]", value), shape, root)
    if isinstance(value, list):
        items = cast("list[object]", value)
        made = [without_nulls(item, shape.get("items"), root) for item in items]
        return made if any(new is not old for new, old in zip(made, items, strict=True)) else items
    return value


def _members(
    value: Mapping[str, object], shape: Mapping[str, object], root: object
) -> Mapping[str, object]:
    shapes, required = object_in(shape.get("properties")), list_in(shape.get("required"))
    made: dict[str, object] = {}
    changed = False
    for name, item in value.items():
        own = shapes.get(name)
        if item is None and name not in required and own is not None and not _null(own, root):
            changed = True
            continue
        made[name] = without_nulls(item, own, root)
        changed = changed or made[name] is not item
    return made if changed else value


def _null(schema: object, root: object) -> bool:
    """Whether null is among what the schema allows; what says nothing allows everything."""
    shape = _resolved(object_in(schema), object_in(root))
    kind = shape.get("type")
    if kind is not None:
        return kind == "null" or "null" in list_in(kind)
    if "enum" in shape:
        return None in list_in(shape["enum"])
    if "const" in shape:
        return shape["const"] is None
    unions = [*list_in(shape.get("anyOf")), *list_in(shape.get("oneOf"))]
    return any(_null(one, root) for one in unions) if unions else True


def _resolved(shape: Mapping[str, object], root: Mapping[str, object]) -> Mapping[str, object]:
    """Where a reference leads, if it leads to a part of the same schema."""
    for _ in range(8):
        reference = shape.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return shape
        here: object = root
        for step in reference.split("/")[1:]:
            here = object_in(here).get(step)
        shape = object_in(here)
    return shape
