"""Schemas of a document as JSON Schema that stands alone: what they refer to goes into $defs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain, count
from typing import cast

from mentis.values.json import JsonObject

from .document import Document

MOST_DEPTH = 60
_DROPPED = ("xml", "discriminator", "externalDocs", "example", "examples", "deprecated", "title")
_NAMED = ("properties", "patternProperties", "dependentSchemas")
_DATA = ("default", "const", "enum", "required", "type")
_OTHER = re.compile(r"[^A-Za-z0-9_.-]+")


class Schemas:
    """Collects, for one operation, everything its schemas refer to. Circles stay references."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._names: dict[str, str] = {}
        self._left: list[str] = []

    def defs(self) -> dict[str, object]:
        """Everything referred to, by the name it has now; asked for when all is known."""
        made: dict[str, object] = {}
        while self._left:
            reference = self._left.pop()
            made[self._names[reference]] = self.plain(self._document.at(reference))
        return dict(sorted(made.items()))

    def plain(self, part: object, depth: int = 0) -> object:
        """The schema with its references turned inwards and old forms in the new way."""
        if depth > MOST_DEPTH:
            raise self._document.refusal("a schema is nested too deeply", "flatten it")
        if not isinstance(part, Mapping):
            return part
        members = cast("JsonObject", part)
        reference = members.get("$ref")
        if isinstance(reference, str) and self._document.old:
            return {"$ref": self._inward(reference)}  # in 3.0 nothing beside it counts
        made = {name: self._member(name, value, depth) for name, value in members.items()}
        for name in _DROPPED:
            made.pop(name, None)
        if isinstance(reference, str):
            made["$ref"] = self._inward(reference)
        _without_read_only(made, members)
        return _renewed(made) if self._document.old else made

    def _member(self, name: str, value: object, depth: int) -> object:
        if name in _DATA or name in _DROPPED:
            return value
        if name in _NAMED and isinstance(value, Mapping):
            named = cast("JsonObject", value)
            return {key: self.plain(sub, depth + 1) for key, sub in named.items()}
        if isinstance(value, list):
            return [self.plain(item, depth + 1) for item in cast("list[object]", value)]
        return self.plain(value, depth + 1)

    def _inward(self, reference: str) -> str:
        if reference not in self._names:
            name = _OTHER.sub("_", reference.rpartition("/")[2]) or "part"
            taken = self._names.values()
            numbered = (f"{name}_{number}" for number in count(2))
            self._names[reference] = next(
                one for one in chain([name], numbered) if one not in taken
            )
            self._left.append(reference)
        return f"#/$defs/{self._names[reference]}"


def _without_read_only(made: dict[str, object], members: JsonObject) -> None:
    """What only the server may set is nothing to send."""
    named = members.get("properties")
    if not isinstance(named, Mapping):
        return
    own = {
        name
        for name, sub in cast("JsonObject", named).items()
        if isinstance(sub, Mapping) and cast("JsonObject", sub).get("readOnly") is True
    }
    if not own:
        return
    properties = cast("dict[str, object]", made["properties"])
    made["properties"] = {name: sub for name, sub in properties.items() if name not in own}
    if isinstance(made.get("required"), list):
        made["required"] = [n for n in cast("list[str]", made["required"]) if n not in own]


def _renewed(made: dict[str, object]) -> dict[str, object]:
    """3.0 said null and open ends in ways of its own."""
    for name, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(made.get(name), bool):
            exclusive = made.pop(name)
            if exclusive and limit in made:
                made[name] = made.pop(limit)
    if made.pop("nullable", False) is not True:
        return made
    if isinstance(made.get("enum"), list) and None not in cast("list[object]", made["enum"]):
        made["enum"] = [*cast("list[object]", made["enum"]), None]
    if isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]
        return made
    return {"anyOf": [made, {"type": "null"}]} if "enum" not in made else made
