"""Tool schemas lowered to what a format takes, with a report of what it could not take.

A constraint is never dropped in silence: it moves into the description with a loss, or the tool
is refused. References are resolved inside the schema only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from mentis.errors import RenderError
from mentis.values.rendering import Fragment, Loss
from mentis.values.tool import ToolDeclaration

Dialect: TypeAlias = Literal["openai", "anthropic", "gemini"]
_DEEPEST = 64
_ROOT_UNIONS = ("anyOf", "oneOf", "allOf")
_BESIDE_REF = {"$ref", "description", "default"}


@dataclass(frozen=True, slots=True)
class Lowered:
    """`note` is what has to be said in the description, because the schema cannot say it."""

    schema: Fragment
    note: str = ""
    losses: tuple[Loss, ...] = ()


def lower_schema(tool: ToolDeclaration, dialect: Dialect) -> Lowered:
    schema = Fragment(tool.parameters)
    written = _written(schema, tool)
    if b'"$ref"' in written or b'"definitions"' in written:
        schema = Fragment(_Walk(tool, dict(schema), dialect).lowered())
    schema = _object_root(schema, tool)
    return _without_root_unions(schema, tool) if dialect == "anthropic" else Lowered(schema)


def _written(schema: Fragment, tool: ToolDeclaration) -> bytes:
    try:
        return schema.encoded()
    except (ValueError, TypeError, RecursionError) as error:
        raise _refused(tool, f"it cannot be written as JSON: {error}") from error


def _object_root(schema: Fragment, tool: ToolDeclaration) -> Fragment:
    """Every provider wants an object at the root, with its properties."""
    kind = schema.get("type", "object")
    if kind != "object":
        raise _refused(tool, f"its root is of type {kind!r}, and arguments are an object")
    if "type" in schema and "properties" in schema:
        return schema
    return Fragment({"type": "object", "properties": {}, **schema})


def _without_root_unions(schema: Fragment, tool: ToolDeclaration) -> Lowered:
    unions = {name: schema[name] for name in _ROOT_UNIONS if name in schema}
    if not unions:
        return Lowered(schema)
    kept = Fragment({name: part for name, part in schema.items() if name not in unions})
    said = json.dumps(unions, ensure_ascii=False, separators=(",", ":"))
    loss = Loss("schema", f"{tool.name}: {', '.join(unions)} at the root is told as text")
    return Lowered(kept, f"Arguments must also match {said}", (loss,))


def _refused(tool: ToolDeclaration, reason: str) -> RenderError:
    return RenderError(
        f"the parameters of tool {tool.name!r} cannot be sent: {reason}",
        hint="correct the schema, or leave the tool out",
        tool=tool.name,
    )


@dataclass(slots=True)
class _Walk:
    """One schema with its references; those of the old kind are inlined, circles are kept."""

    tool: ToolDeclaration
    root: dict[str, object]
    dialect: Dialect
    defs: dict[str, object] = field(default_factory=dict[str, object])

    def lowered(self) -> dict[str, object]:
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
        members = cast("dict[str, object]", node)
        if isinstance(reference := members.get("$ref"), str):
            return self._reference(reference, members, inside, depth)
        return {name: self._node(part, inside, depth + 1) for name, part in members.items()}

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
