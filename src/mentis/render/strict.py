"""Which tools a provider is asked to enforce, and their schemas in the form that takes.

Strict mode changes a schema only where the tool asks for it: objects are closed, and for OpenAI
optional fields become required ones that may be null (`settle` takes such a null for absent).
A tool it cannot be done for goes out as it is, with a loss: no constraint is ever dropped for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

from mentis.values.rendering import Loss
from mentis.values.tool import ToolDeclaration

from .schemas import Dialect, LoweredSchema, check_form

Node: TypeAlias = dict[str, object]
# What both take for certain; all that a schema may hold to be enforced without being asked for.
_CORE = frozenset(
    {
        *("type", "properties", "required", "additionalProperties", "items", "enum", "const"),
        *("anyOf", "$ref", "$defs", "description", "title"),
    }
)
_ALLOWED: Mapping[str, frozenset[str]] = {
    "openai": _CORE
    | {"pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
    | {"multipleOf", "minItems", "maxItems", "default"},
    "anthropic": _CORE | {"default"},
}
# The formats that OpenAI enforces, as in pydantic-ai (profiles/openai.py), November 2026.
_FORMATS = frozenset(
    ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
)
# Without being asked, only what is far from every limit.
_PLAIN = _CORE - {"anyOf", "$ref", "$defs"}
_FEW = 50
# What says which values are meant; a schema with none of these takes anything.
_SAYS = frozenset({"type", "enum", "const", "anyOf", "$ref"})
_LEVELS, _PROPERTIES, _ENUMS, _NAME_CHARACTERS = 10, 5000, 1000, 120_000
_STRICT_TOOLS, _OPTIONAL, _UNIONS = 20, 24, 16


class NotStrict(ValueError):
    """Why a schema cannot be enforced. It never leaves this room."""


@dataclass(slots=True)
class EnforcedSchemas:
    """Schemas to enforce, by the tool's own name, and what could not be."""

    schemas: dict[str, Node]
    losses: list[Loss]


def enforce_schemas(
    tools: Iterable[tuple[ToolDeclaration, LoweredSchema]], dialect: Dialect, *, able: bool
) -> EnforcedSchemas:
    """Those that ask for it come first; those that merely could be only where all of them fit."""
    made = EnforcedSchemas({}, [])
    could: dict[str, Node] = {}
    counted = _Count()
    for tool, lowered in tools:
        if not tool.strict:
            closed = lowered.schema.get("additionalProperties") is False  # as few are
            if closed and able and tool.strict is None and _is_exact(lowered.schema, 0):
                could[tool.name] = lowered.schema
            continue
        check_form(tool, lowered.schema)
        try:
            schema = _strict(lowered, dialect, able=able)
            if dialect == "anthropic":
                counted.add(schema)
            made.schemas[tool.name] = schema
            if dialect == "openai" and _has_default(lowered.schema):
                made.losses.append(Loss("strict", f"{tool.name}: its default values are not told"))
        except NotStrict as error:
            made.losses.append(Loss("strict", f"{tool.name}: not enforced: {error}"))
    if dialect == "openai" or len(made.schemas) + len(could) <= _STRICT_TOOLS:
        made.schemas |= could
    return made


def _strict(lowered: LoweredSchema, dialect: Dialect, *, able: bool) -> Node:
    root: Node = lowered.schema
    if not able:
        raise NotStrict("this model holds no tool to its schema")
    if dialect == "gemini":  # all tools at once, by the mode in which it calls them
        return root
    if lowered.beside:
        raise NotStrict("what stands at its root has to be told as text")
    _check(root, _ALLOWED[dialect], dialect)
    return cast("Node", _closed(root, nullable=dialect == "openai"))


def _is_exact(node: object, level: int) -> bool:
    """Whether no byte has to change, seen in one pass: this is on the way of every first render."""
    if type(node) is not dict or level == _LEVELS:
        return False
    schema = cast("Node", node)
    if not schema.keys() <= _PLAIN or ("enum" in schema and not _is_short(schema["enum"])):
        return False
    kind = schema.get("type")
    held = schema.get("properties")
    if held is None:
        return _is_exact_leaf(schema, kind, level)
    if type(held) is not dict or kind is None or schema.get("additionalProperties") is not False:
        return False
    parts = cast("Node", held)
    if len(parts) > _FEW or not _all_required(parts, schema.get("required", [])):
        return False
    return all(_is_exact(part, level + 1) for part in parts.values())


def _is_exact_leaf(schema: Node, kind: object, level: int) -> bool:
    if "items" in schema:
        return kind is not None and _is_exact(schema["items"], level + 1)
    if type(kind) is str:
        return kind not in ("object", "array")
    if kind is not None:
        return not _may_be(kind, "object") and not _may_be(kind, "array")
    return "enum" in schema or "const" in schema


def _is_short(enum: object) -> bool:
    return type(enum) is list and len(cast("list[object]", enum)) <= _FEW


def _all_required(held: Node, required: object) -> bool:
    if type(required) is not list:
        return False
    names = cast("list[object]", required)
    if names == list(held):  # as most are
        return True
    return sorted(map(str, names)) == sorted(held)


def _may_be(kind: object, name: str) -> bool:
    return kind == name or (isinstance(kind, list) and name in kind)


def _check(root: Node, allowed: frozenset[str], dialect: Dialect) -> None:
    for node in _nodes(root):
        if other := sorted(set(node) - allowed):
            raise NotStrict(f"{other[0]!r} cannot be enforced")
        if dialect == "openai" and node.get("format", "date") not in _FORMATS:
            raise NotStrict(f"the format {node['format']!r} cannot be enforced")
        _check_said(node)
    if dialect == "anthropic":
        if "$ref" in {key for node in _nodes(root) for key in node}:
            raise NotStrict("it refers to itself, or to a part of itself")
        return
    _check_size(root)


def _check_said(node: Node) -> None:
    """Nothing in it may be left open, and nothing asked for that it does not declare."""
    kind = node.get("type")
    if node.keys().isdisjoint(_SAYS):
        raise NotStrict("a value in it may be anything")
    extra = node.get("additionalProperties", False)
    if extra is not False or (_may_be(kind, "object") and "properties" not in node):
        raise NotStrict("an object in it may hold anything")
    if _may_be(kind, "array") and "items" not in node:
        raise NotStrict("a list in it may hold anything")
    held = _members(node, "properties")
    for name in cast("list[str]", node.get("required", [])):
        if name not in held:
            raise NotStrict(f"it requires {name!r}, which it does not declare")


def _check_size(root: Node) -> None:
    nodes = list(_nodes(root))
    names = [name for node in nodes for name in _members(node, "properties")]
    enums = [value for node in nodes for value in cast("list[object]", node.get("enum", []))]
    if len(names) > _PROPERTIES:
        raise NotStrict(f"it has {len(names)} properties, and {_PROPERTIES} are the most")
    if len(enums) > _ENUMS:
        raise NotStrict(f"it has {len(enums)} enum values, and {_ENUMS} are the most")
    if sum(map(len, [*names, *map(str, enums)])) > _NAME_CHARACTERS:
        raise NotStrict(f"its names have more than {_NAME_CHARACTERS} characters")
    if _depth(root) > _LEVELS:
        raise NotStrict(f"it is nested more than {_LEVELS} levels deep")


@dataclass(slots=True)
class _Count:
    """The limits Anthropic sets on all enforced tools of one request."""

    tools: int = 0
    optional: int = 0
    unions: int = 0

    def add(self, schema: Node) -> None:
        nodes = list(_nodes(schema))
        optional = self.optional + sum(len(_optional(node)) for node in nodes)
        unions = self.unions + sum(
            "anyOf" in node or isinstance(node.get("type"), list) for node in nodes
        )
        if self.tools == _STRICT_TOOLS:
            raise NotStrict(f"{_STRICT_TOOLS} enforced tools are the most")
        if optional > _OPTIONAL:
            raise NotStrict(f"{_OPTIONAL} optional fields in enforced tools are the most")
        if unions > _UNIONS:
            raise NotStrict(f"{_UNIONS} unions in enforced tools are the most")
        self.tools, self.optional, self.unions = self.tools + 1, optional, unions


def _nodes(node: object) -> Iterator[Node]:
    """Every schema in a schema, itself first."""
    if not isinstance(node, dict):  # true takes anything, and false nothing
        raise NotStrict("a value in it may be anything, or nothing")
    schema = cast("Node", node)
    yield schema
    for key in ("properties", "$defs"):
        for part in _members(schema, key).values():
            yield from _nodes(part)
    if "items" in schema:
        yield from _nodes(schema["items"])
    for part in cast("list[object]", schema.get("anyOf", [])):
        yield from _nodes(part)


def _has_default(root: Node) -> bool:
    """One that says more than that the field may be left out."""
    return any(node.get("default") is not None for node in _nodes(root))


def _members(node: Node, key: str) -> Node:
    held = node.get(key)
    return cast("Node", held) if isinstance(held, dict) else {}


def _depth(node: object) -> int:
    if not isinstance(node, dict):
        return 0
    schema = cast("Node", node)
    inner = [*_members(schema, "properties").values(), schema.get("items")]
    inner += cast("list[object]", schema.get("anyOf", []))
    deepest = max(map(_depth, inner), default=0)
    return deepest + (schema.get("type") in ("object", "array"))


def _optional(node: Node) -> list[str]:
    required = cast("list[object]", node.get("required", []))
    return [name for name in _members(node, "properties") if name not in required]


def _closed(node: object, *, nullable: bool) -> object:
    if isinstance(node, list):
        return [_closed(item, nullable=nullable) for item in cast("list[object]", node)]
    if not isinstance(node, dict):
        return node
    schema = cast("Node", node)
    made = dict(schema)
    for key in ("properties", "$defs"):
        if held := _members(schema, key):
            made[key] = {name: _closed(part, nullable=nullable) for name, part in held.items()}
    for key in ("items", "anyOf"):
        if key in schema:
            made[key] = _closed(schema[key], nullable=nullable)
    if nullable:
        made = _bare(made)
    if "properties" not in schema:
        return made
    made["additionalProperties"] = False
    if nullable:
        properties = _members(made, "properties")
        freed = {name: _or_null(cast("Node", properties[name])) for name in _optional(schema)}
        made["properties"] = {**properties, **freed}
        made["required"] = list(properties)
    return made


def _bare(node: Node) -> Node:
    """Without what OpenAI does not take: a default, or anything beside a reference."""
    rest = {name: part for name, part in node.items() if name not in ("default", "$ref")}
    if "$ref" not in node:
        return rest
    return {"anyOf": [{"$ref": node["$ref"]}], **rest} if rest else {"$ref": node["$ref"]}


def _or_null(node: Node) -> Node:
    """The same, or null. What may be null already stays as it is."""
    if admits_null(node):
        return node
    kind = node.get("type")
    if "enum" in node and isinstance(kind, str):
        enum = [*cast("list[object]", node["enum"]), None]
        return {**node, "type": [kind, "null"], "enum": enum}
    if isinstance(kind, (str, list)) and not {"const", "anyOf", "enum"} & set(node):
        kinds = [kind] if isinstance(kind, str) else cast("list[object]", kind)
        return {**node, "type": [*kinds, "null"]}
    told: Node = {"description": node["description"]} if "description" in node else {}
    inner = {name: part for name, part in node.items() if name not in told}
    unions = cast("list[object]", inner["anyOf"]) if set(inner) == {"anyOf"} else [inner]
    return {"anyOf": [*unions, {"type": "null"}], **told}


def admits_null(node: Node) -> bool:
    kind = node.get("type")
    if kind == "null" or (isinstance(kind, list) and "null" in kind):
        return True
    if "enum" in node:
        return None in cast("list[object]", node["enum"])
    if "const" in node:
        return node["const"] is None
    unions = cast("list[object]", node.get("anyOf", []))
    return any(admits_null(cast("Node", one)) for one in unions if isinstance(one, dict))
