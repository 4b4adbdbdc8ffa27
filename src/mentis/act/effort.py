"""How much work a schema makes. References let a short one ask for more than there is time for.

Only references inside the schema are followed. One that comes back to itself without going into
the value says nothing, and is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from mentis.values.json import JsonObject

_MOST = 100_000
_MOST_EACH = 100  # for each value in the payload
_LISTS = ("allOf", "anyOf", "oneOf")
_SAME = ("not", "if", "then", "else")
_NAMED = ("dependentSchemas",)
_MEMBERS = ("additionalProperties", "unevaluatedProperties", "propertyNames")
_ITEMS = ("items", "additionalItems", "unevaluatedItems", "contains")
_ELSEWHERE = ("$dynamicRef", "$recursiveRef", "$anchor", "$dynamicAnchor", "$recursiveAnchor")


class UncheckableSchema(ValueError):
    """Why a schema is not checked against."""


def refers(schema: JsonObject) -> bool:
    """Whether a part of it stands for another; Entangled, if it is one that is not followed."""
    found, left = False, list[object]([schema])
    while left:
        node = left.pop()
        if isinstance(node, list):
            left.extend(cast("list[object]", node))
        if not isinstance(node, dict):
            continue
        part = cast("dict[str, object]", node)
        for name in _ELSEWHERE:
            if isinstance(part.get(name), (str, bool)):
                raise UncheckableSchema(f"{name} is not followed")
        if part is not schema and isinstance(part.get("$id"), str):
            raise UncheckableSchema("$id inside a schema is not followed")
        if isinstance(part.get("$ref"), str):
            _target(schema, cast("str", part["$ref"]))
            found = True
        left.extend(value for name, value in part.items() if not _data(name, value))
    return found


def _data(name: str, value: object) -> bool:
    """Listed values are not schemas, whatever they look like; a property may have such a name."""
    return name in ("enum", "examples") and isinstance(value, list)


def effort_of(schema: JsonObject, payload: object) -> int:
    """How often some part of the schema is held against some value; Entangled, if too often."""
    walk = _Walk(schema)
    total = walk.effort(schema, payload)
    if total > max(_MOST, _MOST_EACH * len(walk.values)):
        raise UncheckableSchema("its references multiply into more work than one call is worth")
    return total


def refuse_circles(schema: JsonObject) -> None:
    """Entangled, if some part of it stands for itself, or for more than can be worked through."""
    walk, left = _Walk(schema), list[object]([schema])
    while left:
        node = left.pop()
        if isinstance(node, list):
            left.extend(cast("list[object]", node))
        elif isinstance(node, dict):
            part = cast("dict[str, object]", node)
            if walk.effort(part, None) > _MOST:
                raise UncheckableSchema(
                    "its references multiply into more work than one call is worth"
                )
            left.extend(value for name, value in part.items() if not _data(name, value))


class _Walk:
    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._known: dict[tuple[int, int], int | None] = {}
        self.values: set[int] = set()

    def effort(self, node: object, value: object) -> int:
        if not isinstance(node, Mapping):
            return 1
        part = cast("JsonObject", node)
        key = id(part), id(value)
        if key not in self._known:
            self._known[key] = None
            self.values.add(id(value))
            here = sum(self.effort(sub, value) for sub in self._in_place(part))
            inside = sum(self.effort(sub, member) for sub, member in _within(part, value))
            self._known[key] = 1 + here + inside
        known = self._known[key]
        if known is None:
            raise UncheckableSchema("a $ref leads back to itself")
        return known

    def _in_place(self, part: JsonObject) -> Iterator[object]:
        if isinstance(part.get("$ref"), str):
            yield _target(self._root, cast("str", part["$ref"]))
        for name in _LISTS:
            yield from _list(part.get(name))
        yield from (part[name] for name in _SAME if name in part)
        for name in _NAMED:
            yield from _mapping(part.get(name)).values()


def _within(part: JsonObject, value: object) -> Iterator[tuple[object, object]]:
    """Every pair of a part of the schema and a member or item it may be held against."""
    if isinstance(value, Mapping):
        named = _mapping(part.get("properties"))
        every = [*_mapping(part.get("patternProperties")).values()]
        every += [part[name] for name in _MEMBERS if name in part]
        for name, member in _mapping(cast("object", value)).items():
            yield from ((sub, member) for sub in every)
            if name in named:
                yield named[name], member
    elif isinstance(value, list):
        every = [*_list(part.get("prefixItems")), *_list(part.get("items"))]
        every += [part[name] for name in _ITEMS if isinstance(part.get(name), Mapping)]
        for item in cast("list[object]", value):
            yield from ((sub, item) for sub in every)


def _target(root: JsonObject, reference: str) -> object:
    if reference != "#" and not reference.startswith("#/"):
        raise UncheckableSchema(f"$ref {reference[:100]!r} points outside of it")
    found: object = root
    for step in reference[2:].split("/") if reference != "#" else ():
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and name in found:
            found = _mapping(cast("object", found))[name]
        elif (
            isinstance(found, list)
            and name.isdecimal()
            and int(name) < len(cast("list[object]", found))
        ):
            found = cast("list[object]", found)[int(name)]
        else:
            raise UncheckableSchema(f"$ref {reference[:100]!r} points at nothing")
    return found


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _mapping(value: object) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, Mapping) else {}
