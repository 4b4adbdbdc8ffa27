"""Takes a tool's schema in: a copy nobody else holds, of plain JSON, that can be checked against.

Where a schema comes from is not known: it may be cyclic, endless by sharing, or no JSON at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from mentis.errors import BadInput
from mentis.values.tool import ToolDeclaration

from .payloads import has_checker, refuse_unusable

MOST_DEPTH = 64
MOST_PARTS = 50_000


def checked_declaration(tool: ToolDeclaration, *, own: bool = False) -> ToolDeclaration:
    """The declaration with its own copy of the schema; BadInput when it cannot be used."""
    if not isinstance(tool.parameters, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # foreign
        raise _refused(tool.name, f"it is {type(tool.parameters).__name__}, not an object")
    schema = cast("dict[str, object]", _Copy(tool.name).of(tool.parameters, "", 0))
    if schema.setdefault("type", "object") != "object":
        raise _refused(tool.name, f"it describes {schema['type']!r}, and a payload is an object")
    copied = replace(tool, parameters=schema)
    if not own or has_checker():  # ours are told without it, too; their calls wait for it
        refuse_unusable(copied)
    return copied


class _Copy:
    def __init__(self, name: str) -> None:
        self._name = name
        self._parts = 0

    def of(self, part: object, place: str, depth: int) -> object:
        self._parts += 1
        if depth > MOST_DEPTH:
            raise _refused(self._name, f"at {place[:80]}… it contains itself, or is too deep")
        if self._parts > MOST_PARTS:
            raise _refused(self._name, f"it has more than {MOST_PARTS} parts")
        match part:
            case None | bool() | int():
                return part
            case str():
                return self._text(part, place)
            case float() if math.isfinite(part):
                return part
            case Mapping():
                members = cast("Mapping[object, object]", part).items()
                return {
                    self._text(key, place): self.of(value, f"{place}/{key}", depth + 1)
                    for key, value in members
                }
            case list() | tuple():
                items = enumerate(cast("Sequence[object]", part))
                return [self.of(item, f"{place}/{number}", depth + 1) for number, item in items]
            case _:
                raise _refused(self._name, f"{place or '/'} is {part!r:.80}, which is no JSON")

    def _text(self, text: object, place: str) -> str:
        if not isinstance(text, str):
            raise _refused(self._name, f"{place or '/'} has the key {text!r:.80}, not a string")
        if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
            raise _refused(self._name, f"{place or '/'} holds half a surrogate pair")
        return str(text)


def _refused(name: str, why: str) -> BadInput:
    return BadInput(
        f"the schema of tool {name!r} cannot be used: {why}",
        hint="write the tool's parameters as a JSON Schema of an object, in plain JSON",
        tool=name,
    )
