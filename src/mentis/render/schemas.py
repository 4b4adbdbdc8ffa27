"""Tool schemas lowered to what a format takes, with a report of what it could not take.

A constraint is never dropped in silence: it moves into the description with a loss, or the tool
is refused. References are resolved inside the schema only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from mentis.errors import RenderError
from mentis.values.json import JsonObject
from mentis.values.rendering import Loss
from mentis.values.tool import ToolDeclaration
from mentis.values.written import dump, quick

Dialect: TypeAlias = Literal["openai", "anthropic", "gemini"]
_DEEPEST = 64
_ENDS = ("Minimum", "Maximum")
_OTHER_ITEMS = "additionalItems"
_UNIONS = ("anyOf", "oneOf", "allOf")
# What may not stand at the root of the arguments.
_NOT_AT_ROOT: Mapping[Dialect, tuple[str, ...]] = {
    "openai": (*_UNIONS, "not", "enum", "const"),
    "anthropic": _UNIONS,
    "gemini": (),
}
# How earlier drafts of JSON Schema wrote what is written otherwise today.
_DATED = (
    b'"items":[',
    *(f'"exclusive{end}":{flag}'.encode() for end in _ENDS for flag in ("true", "false")),
)
# Where schemas stand in a schema: by name, in a row, alone. All else is data.
_NAMED = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
_ROWS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_ALONE = frozenset(
    {
        *("items", "additionalProperties", "not", "contains", "if", "then", "else"),
        *("propertyNames", "unevaluatedItems", "unevaluatedProperties"),
    }
)
_BESIDE_REF = {"$ref", "description", "default"}


@dataclass(slots=True)
class LoweredSchema:
    """`beside` is JSON that has to be said in the description: the schema cannot hold it."""

    schema: dict[str, object]
    beside: str = ""
    losses: tuple[Loss, ...] = ()


def lower_schemas(tools: Sequence[ToolDeclaration], dialect: Dialect) -> list[LoweredSchema]:
    """One look at all of them; only where there is something to see, one at each."""
    written = quick([tool.parameters for tool in tools])
    if _refers(written) or _is_odd(written) or _is_dated(written, dialect):
        return [lower_schema(tool, dialect) for tool in tools]
    return [_rooted(tool, tool.parameters, dialect) for tool in tools]


def lower_schema(tool: ToolDeclaration, dialect: Dialect) -> LoweredSchema:
    """Alone: everything in it is looked at."""
    schema, written = tool.parameters, _written(tool)
    check_form(tool, schema)
    if _refers(written) or _is_dated(written, dialect):
        schema = _Walk(tool, dict(schema), dialect).lower()
    return _rooted(tool, schema, dialect)


def _refers(written: bytes) -> bool:
    """To a part of itself; also where nobody can tell yet."""
    return not written or b'"$ref"' in written or b'"definitions"' in written


def _is_dated(written: bytes, dialect: Dialect) -> bool:
    """Whether something in it may have to be written otherwise: OpenAI wants items in each list."""
    count = written.count
    listed = dialect == "openai" and count(b'"array"') > count(b'"items":')
    return listed or any(form in written for form in _DATED)


def _is_odd(written: bytes) -> bool:
    """Whether something stands under these names that they do not stand for in a schema."""
    count = written.count
    return count(b'"properties":') != count(b'"properties":{') or count(b'"required":') != count(
        b'"required":['
    )


def _rooted(tool: ToolDeclaration, given: JsonObject, dialect: Dialect) -> LoweredSchema:
    schema = given if isinstance(given, dict) else dict(given)
    if schema.get("type") != "object" or "properties" not in schema:
        schema = _object_root(schema, tool)
    if not _is_plain(schema):
        check_form(tool, schema)
    barred = [name for name in _NOT_AT_ROOT[dialect] if name in schema]
    return _without(barred, schema, tool) if barred else LoweredSchema(schema)


def _is_plain(schema: dict[str, Any]) -> bool:
    """Plain loops, for this is done for every tool of every first rendering."""
    for part in schema["properties"].values():
        if type(part) is not dict:
            return False
    for name in schema.get("required", ()):
        if type(name) is not str:
            return False
    return "$defs" not in schema


def check_form(tool: ToolDeclaration, schema: JsonObject) -> None:
    """Refuse what is no schema: parts of it that are not what a keyword stands for."""
    waiting: list[object] = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, bool):
            continue
        if not isinstance(node, Mapping):
            raise _refused(tool, f"{_short(node)} stands where a schema belongs")
        for name, part in cast("JsonObject", node).items():
            waiting += _inside(tool, name, part)


def _inside(tool: ToolDeclaration, name: str, part: object) -> Iterable[object]:
    """The schemas below a keyword."""
    if name in _NAMED:
        if not isinstance(part, Mapping):
            raise _refused(tool, f"{name!r} is {_short(part)}, and no object")
        return cast("JsonObject", part).values()
    if name in _ROWS or (name == "items" and isinstance(part, list)):  # the old form of a row
        if not isinstance(part, list):
            raise _refused(tool, f"{name!r} is {_short(part)}, and no list")
        return cast("list[object]", part)
    if name in _ALONE:
        return (part,)
    if not _is_well_formed(name, part):
        raise _refused(tool, f"{name!r} cannot be {_short(part)}")
    return ()


def _is_well_formed(name: str, part: object) -> bool:
    match name:
        case "required":
            return _are_names(part)
        case "type":
            return isinstance(part, str) or _are_names(part)
        case "enum":
            return isinstance(part, list)
        case "$ref":
            return isinstance(part, str)
        case _:
            return True


def _are_names(part: object) -> bool:
    return isinstance(part, list) and all(isinstance(o, str) for o in cast("list[object]", part))


def _short(part: object) -> str:
    return repr(part)[:40]


def _written(tool: ToolDeclaration) -> bytes:
    try:
        return quick(tool.parameters) or dump(tool.parameters)
    except (ValueError, TypeError, RecursionError) as error:
        raise _refused(tool, f"it cannot be written as JSON: {error}") from error


def _object_root(schema: dict[str, object], tool: ToolDeclaration) -> dict[str, object]:
    """Every provider wants an object at the root, with its properties."""
    kind = schema.get("type", "object")
    if kind != "object":
        raise _refused(tool, f"its root is of type {kind!r}, and arguments are an object")
    return {"type": "object", "properties": {}, **schema}


def _without(
    barred: Sequence[str], schema: dict[str, object], tool: ToolDeclaration
) -> LoweredSchema:
    """What may not stand at the root is said in the description."""
    told = {name: schema[name] for name in barred}
    kept = {name: part for name, part in schema.items() if name not in told}
    said = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    loss = Loss("schema", f"{tool.name}: {', '.join(told)} at the root is told as text")
    return LoweredSchema(kept, said, (loss,))


def check_depth(tool: ToolDeclaration, schema: JsonObject) -> None:
    """Refuse what is nested deeper than anybody should follow it."""
    level: list[object] = [schema]
    for _ in range(_DEEPEST + 1):
        level = [part for node in level for part in _parts(node)]
    if level:
        raise _refused(tool, f"it is nested more than {_DEEPEST} levels deep")


def _parts(node: object) -> Iterable[object]:
    if isinstance(node, dict):
        return cast("dict[str, object]", node).values()
    return cast("list[object]", node) if isinstance(node, list) else ()


def _refused(tool: ToolDeclaration, reason: str) -> RenderError:
    return RenderError(
        f"the parameters of tool {tool.name!r} cannot be sent: {reason}",
        hint="correct the schema, or leave the tool out",
        tool=tool.name,
    )


def _up_to_date(node: dict[str, object], dialect: Dialect) -> dict[str, object]:
    """The same schema in the words of today; the node itself where there is nothing to change."""
    made = node
    if isinstance(row := node.get("items"), list):
        rest = {name: part for name, part in node.items() if name not in ("items", _OTHER_ITEMS)}
        more = {"items": node[_OTHER_ITEMS]} if _OTHER_ITEMS in node else {}
        made = {**rest, "prefixItems": cast("object", row), **more}
    for end in _ENDS:
        exclusive, bound = f"exclusive{end}", end.lower()
        flag = made.get(exclusive)
        if not isinstance(flag, bool):
            continue
        limit = made.get(bound)
        made = {n: p for n, p in made.items() if n != exclusive and not (flag and n == bound)}
        if flag and limit is not None:
            made[exclusive] = limit
    kind = made.get("type")
    is_list = kind == "array" or (isinstance(kind, list) and "array" in kind)
    bare = dialect == "openai" and is_list and "items" not in made
    return {**made, "items": {}} if bare else made


@dataclass(slots=True)
class _Walk:
    """One schema with its references; those of the old kind are inlined, circles are kept.

    Only where a schema stands there is one: what a `default` or an `enum` holds is data.
    """

    tool: ToolDeclaration
    root: dict[str, object]
    dialect: Dialect
    defs: dict[str, object] = field(default_factory=dict[str, object])

    def lower(self) -> dict[str, object]:
        root = self.root
        seen: list[str] = []
        while isinstance(reference := root.get("$ref"), str):
            if reference in seen:
                raise _refused(self.tool, f"{reference} leads in a circle")
            seen.append(reference)
            beside = {name: part for name, part in root.items() if name != "$ref"}
            root = {**self._target(reference), **beside}
        plain = {n: p for n, p in root.items() if n not in ("definitions", "$defs")}
        schema = cast("dict[str, object]", self._node(plain, (), 0))
        if "$defs" in self.root:
            given = cast("Mapping[str, object]", self.root["$defs"])
            self.defs |= {name: self._node(part, (), 0) for name, part in given.items()}
        return {**schema, "$defs": self.defs} if self.defs else schema

    def _node(self, node: object, inside: tuple[str, ...], depth: int) -> object:
        if depth > _DEEPEST:
            raise _refused(self.tool, f"it is nested more than {_DEEPEST} levels deep")
        if isinstance(node, list):
            return [self._node(item, inside, depth + 1) for item in cast("list[object]", node)]
        if not isinstance(node, dict):
            return node
        members = _up_to_date(cast("dict[str, object]", node), self.dialect)
        if isinstance(reference := members.get("$ref"), str):
            return self._reference(reference, members, inside, depth)
        return {name: self._part(name, part, inside, depth + 1) for name, part in members.items()}

    def _part(self, name: str, part: object, inside: tuple[str, ...], depth: int) -> object:
        if name in _NAMED or name == "dependencies":
            named = cast("Mapping[str, object]", part)
            return {key: self._node(one, inside, depth) for key, one in named.items()}
        return self._node(part, inside, depth) if name in _ROWS or name in _ALONE else part

    def _reference(
        self, reference: str, members: dict[str, object], inside: tuple[str, ...], depth: int
    ) -> object:
        target = self._target(reference)
        beside = {name: part for name, part in members.items() if name != "$ref"}
        if not reference.startswith("#/definitions/"):
            return self._kept(reference, beside, inside, depth)
        if reference in inside:
            name = reference.rpartition("/")[2]
            if name not in self.defs:
                self.defs[name] = {}  # holds the place while its own circle is followed
                self.defs[name] = self._node(target, (*inside, reference), depth + 1)
            return self._kept(f"#/$defs/{name}", beside, inside, depth)
        return {
            **cast("dict[str, object]", self._node(target, (*inside, reference), depth + 1)),
            **cast("dict[str, object]", self._node(beside, inside, depth + 1)),
        }

    def _kept(
        self, reference: str, beside: dict[str, object], inside: tuple[str, ...], depth: int
    ) -> object:
        """A reference stays one; where little may stand beside it, it moves one level down."""
        rest = cast("dict[str, object]", self._node(beside, inside, depth + 1))
        if self.dialect == "gemini" and set(rest) - _BESIDE_REF:
            return {"anyOf": [{"$ref": reference}], **rest}
        return {"$ref": reference, **rest}

    def _target(self, reference: str) -> dict[str, object]:
        if reference != "#" and not reference.startswith("#/"):
            raise _refused(self.tool, f"it refers to {reference!r}, which is not inside it")
        here: object = self.root
        for step in reference.split("/")[1:]:
            inside: dict[str, object] = cast("Any", here) if isinstance(here, dict) else {}
            here = inside.get(step.replace("~1", "/").replace("~0", "~"))
        if not isinstance(here, dict):
            raise _refused(self.tool, f"{reference!r} leads nowhere")
        return cast("dict[str, object]", here)
