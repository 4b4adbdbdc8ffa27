"""An answer bound to a schema: how a model without native tools is held to those it was told of.

The schema allows words, `{"text": ...}`, or calls in the form the catalogue names. `settle` reads
both back. What a grammar cannot say is left out of it, with a loss; the tool's own schema is still
told in the catalogue and still checked before anything is done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from mentis.values.fragment import Fragment
from mentis.values.rendering import Loss
from mentis.values.request import ToolChoice
from mentis.values.tool import ToolDeclaration
from mentis.values.written import dump

from .schemas import check_depth, lower_schema

# More calls at once than a small model makes for a reason; without a bound it may not stop.
_MOST_CALLS = 4
# Counts in a schema become repetitions in a grammar, which servers refuse past some thousands.
_MOST_REPEATS = 1000
_VALUES = ("enum", "const", "default", "examples")  # data, in which nothing is a keyword
_FREE = ToolChoice()
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems")


@dataclass(frozen=True, slots=True)
class ResponseFormat:
    """`form` is the value of `response_format`."""

    form: Fragment
    losses: tuple[Loss, ...] = ()


def bound_answer(tools: Sequence[ToolDeclaration], choice: ToolChoice = _FREE) -> ResponseFormat:
    """Words, or up to so many calls of these tools; or only what `choice` leaves of that."""
    walk = _Walk()
    forms = list[object]()
    if choice.mode != "none":
        named = [tool for tool in tools if choice.mode != "one" or tool.name == choice.name]
        calls = [walk.call(tool, f"t{number}") for number, tool in enumerate(named)]
        counts = {"minItems": 1, "maxItems": 1 if choice.mode == "one" else _MOST_CALLS}
        forms.append(_only("actions", {"type": "array", "items": {"anyOf": calls}, **counts}))
    if choice.mode in ("auto", "none"):
        forms.append(_only("text", {"type": "string"}))
    schema: dict[str, object] = {"anyOf": forms}
    if walk.definitions:
        schema["$defs"] = walk.definitions
    answer = Fragment(name="answer", strict=True, schema=schema)
    return ResponseFormat(Fragment(type="json_schema", json_schema=answer), tuple(walk.losses))


@dataclass(frozen=True, slots=True)
class BoundSchema:
    schema: Mapping[str, object]
    losses: tuple[Loss, ...] = ()


def bound_output(tool: ToolDeclaration) -> BoundSchema:
    """An answer that is nothing but the arguments of this tool, which nobody calls."""
    walk = _Walk()
    schema = walk.payload(tool, "answer")
    if walk.definitions:
        schema = {**schema, "$defs": walk.definitions}
    return BoundSchema(schema, tuple(walk.losses))


def _only(name: str, schema: Mapping[str, object]) -> dict[str, object]:
    return _closed({name: schema})


def _closed(properties: Mapping[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@dataclass(slots=True)
class _Walk:
    definitions: dict[str, object] = field(default_factory=dict[str, object])
    losses: list[Loss] = field(default_factory=list[Loss])

    def call(self, tool: ToolDeclaration, key: str) -> dict[str, object]:
        payload = self.payload(tool, key)
        return _closed({"type": {"const": tool.name}, "payload": payload})

    def payload(self, tool: ToolDeclaration, key: str) -> dict[str, object]:
        lowered = lower_schema(tool, "openai")
        check_depth(tool, lowered.schema)
        payload = cast("dict[str, object]", self._node(lowered.schema, tool.name, key))
        if b'"$ref"' not in dump(lowered.schema):
            return payload
        # References start at the root, so the schema they point into has to be there.
        self.definitions[key] = payload
        return {"$ref": f"#/$defs/{key}"}

    def _node(self, node: object, tool: str, key: str) -> object:
        if isinstance(node, list):
            return [self._node(item, tool, key) for item in cast("list[object]", node)]
        if not isinstance(node, dict):
            return node
        members = cast("dict[str, object]", node)
        return {
            name: self._member(name, part, tool, key)
            for name, part in members.items()
            if not self._unsayable(name, part, tool)
        }

    def _member(self, name: str, part: object, tool: str, key: str) -> object:
        if name == "$ref" and isinstance(part, str):
            return f"#/$defs/{key}{part.removeprefix('#')}"
        if name in _VALUES:
            return part
        return self._node(part, tool, key)

    def _unsayable(self, name: str, part: object, tool: str) -> bool:
        many = name in _COUNTS and isinstance(part, int) and part > _MOST_REPEATS
        if not many and not (name == "pattern" and isinstance(part, str)):
            return False
        self.losses.append(Loss("unbound", f"{tool}: the model is not held to {name} {part!r}"))
        return True
