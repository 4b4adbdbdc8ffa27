"""Which tools a finished payload offers, whatever format it is in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from mentis.values.json import JsonObject
from mentis.values.tool import ToolDeclaration

# Where the four formats keep a tool, and where its schema.
_HOLDERS = ("function", "functionDeclarations", "function_declarations")
_SCHEMAS = ("parameters", "input_schema", "parametersJsonSchema", "parameters_json_schema")


def offered_in(
    payload: JsonObject, names: Mapping[str, str] | None = None
) -> tuple[ToolDeclaration, ...] | None:
    """The tools under their own names; None where there are none: they may be in the text."""
    found = [_tool(told, names or {}) for told in _told(payload.get("tools"))]
    return tuple(found) or None


def _told(value: object) -> Iterator[JsonObject]:
    if isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _told(item)
    if not isinstance(value, Mapping):
        return
    tool = cast("JsonObject", value)
    held = [tool[name] for name in _HOLDERS if name in tool]
    for inner in held:
        yield from _told(inner)
    if not held and isinstance(tool.get("name"), str):
        yield tool


def _tool(told: JsonObject, names: Mapping[str, str]) -> ToolDeclaration:
    name, schemas = str(told["name"]), [told[key] for key in _SCHEMAS if key in told]
    parameters = cast("list[JsonObject]", [one for one in schemas if isinstance(one, Mapping)])
    description = str(told.get("description", ""))
    own = names.get(name, name)
    if not parameters:
        return ToolDeclaration(own, description)
    return ToolDeclaration(own, description, parameters=parameters[0])
