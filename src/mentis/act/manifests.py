"""Definitions in the form of the origin system, read as specs.

A manifest is a JSON object: `required_fields` and `optional_fields` (names of strings), or a
`payload` (name to field; required unless it says `optional`), or a `schema` with `properties`;
`description` or `brief`; `external_effects`, `scope`, `security_level`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast, get_args

from mentis.errors import BadInput
from mentis.values.act import ActSpec, Scope
from mentis.values.json import JsonObject
from mentis.values.tool import ToolDeclaration

_HIDING = re.compile(r"\b(admin|deprecated|internal)\b", re.IGNORECASE)
_PREFIXES: Mapping[str, Scope] = {
    "message_": "message",
    "memory_": "memory",
    "remember": "memory",
    "goal_": "goal",
    "status_": "status",
}
_TYPES = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
}


def spec_from_manifest(manifest: JsonObject, *, name: str = "") -> ActSpec:
    """The same act in today's form. BadInput when it has no name or says what cannot be meant."""
    name = name or _text(manifest, "name") or _text(manifest, "type")
    if not name:
        raise BadInput("a manifest has no name", hint='add "name": "..." to it')
    effects = bool(manifest.get("external_effects"))
    properties, required = _fields(manifest, name)
    schema: dict[str, object] = {"type": "object", "properties": properties, "required": required}
    described = _text(manifest, "description") or _text(manifest, "brief")
    declaration = ToolDeclaration(
        name,
        described or f"Execute {name} action",  # what the origin told of an act without words
        schema,
        external_effects=effects,
        idempotent=manifest.get("idempotent") is True,
    )
    source = _text(manifest, "source") or "manifest"
    return ActSpec(declaration, _scope(manifest, name, effects=effects), source)


def hidden_because(manifest: JsonObject) -> str:
    """Why the origin would not have offered it to a model: what it says of itself; "" if nothing.

    Whoever imports many leaves these out, and says so.
    """
    said = " ".join(_text(manifest, key) for key in ("description", "brief", "security_level"))
    found = _HIDING.search(said)
    return f"it calls itself {found[0].lower()}" if found else ""


def _scope(manifest: JsonObject, name: str, *, effects: bool) -> Scope:
    declared = _text(manifest, "scope")
    if declared:
        if declared not in get_args(Scope):
            raise BadInput(
                f"manifest {name!r}: there is no scope {declared!r}",
                hint=f"use one of: {', '.join(get_args(Scope))}",
                tool=name,
            )
        return cast("Scope", declared)
    if effects:
        return "message" if name.startswith("message_") else "agent"
    for prefix, scope in _PREFIXES.items():
        if name.startswith(prefix):
            return scope
    return "core"


def _fields(manifest: JsonObject, name: str) -> tuple[dict[str, object], list[str]]:
    if "required_fields" in manifest or "optional_fields" in manifest:
        needed, other = (
            _names(manifest, key, name) for key in ("required_fields", "optional_fields")
        )
        return {field: {"type": "string"} for field in [*needed, *other]}, needed
    payload = manifest.get("payload")
    if isinstance(payload, Mapping):
        return _payload(cast("JsonObject", payload))
    schema = manifest.get("schema")
    if not isinstance(schema, Mapping):
        return {}, []
    parts = cast("JsonObject", schema)
    properties = parts.get("properties")
    known = dict(cast("JsonObject", properties)) if isinstance(properties, Mapping) else {}
    return known, [field for field in _names(parts, "required", name) if field in known]


def _payload(payload: JsonObject) -> tuple[dict[str, object], list[str]]:
    properties: dict[str, object] = {}
    required: list[str] = []
    for field, said in payload.items():
        part = dict(cast("JsonObject", said)) if isinstance(said, Mapping) else {"type": said}
        if part.pop("optional", False) is not True:
            required.append(field)
        kind = part.get("type")
        part["type"] = _TYPES.get(kind, kind) if isinstance(kind, str) and kind else "string"
        properties[field] = part
    return properties, required


def _names(manifest: JsonObject, key: str, name: str) -> list[str]:
    listed = manifest.get(key, [])
    names = cast("list[object]", listed) if isinstance(listed, (list, tuple)) else [listed]
    if not all(isinstance(one, str) for one in names):
        raise BadInput(
            f"manifest {name!r}: {key} is no list of names",
            hint='write it as ["text", "target"]',
            tool=name,
        )
    return list(dict.fromkeys(cast("list[str]", names)))


def _text(manifest: JsonObject, key: str) -> str:
    said = manifest.get(key)
    return said.strip() if isinstance(said, str) else ""
