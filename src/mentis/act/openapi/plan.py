"""How one operation is called: its parameters and body as one payload, and where each goes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from mentis.values.json import JsonObject

from .document import Document, Operation
from .schema import Schemas

Place: TypeAlias = Literal["path", "query", "header", "cookie"]
_STYLES = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}
_KNOWN = ("simple", "form", "spaceDelimited", "pipeDelimited", "deepObject")
# What the connection or the owner says; a model has no say in it.
_OURS = re.compile(
    r"accept(-encoding)?|authorization|connection|content-(type|length|encoding)|cookie|expect|host"
    r"|idempotency-key|proxy-.*|te|trailer|transfer-encoding|upgrade|via|x-forwarded-.*|forwarded"
    r"|x-http-method(-override)?|x-method-override",
    re.IGNORECASE,
)


TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


@dataclass(frozen=True, slots=True)
class Parameter:
    """`key` is its name in the payload, `name` the one on the wire. `json`: its value is JSON."""

    key: str
    name: str
    place: Place
    style: str
    explode: bool
    json: bool


@dataclass(frozen=True, slots=True)
class OperationPlan:
    """`body` is the key of the body in the payload, "" when there is none."""

    operation: Operation
    schema: JsonObject
    parameters: tuple[Parameter, ...]
    body: str
    media_type: str


def plan_of(
    document: Document, operation: Operation, keys: frozenset[tuple[str, str]]
) -> OperationPlan:
    """`keys` are the places (`header`, `X-Key`) that the owner's keys go to: not for a payload."""
    return _Planner(document, operation).plan(keys)


class _Planner:
    def __init__(self, document: Document, operation: Operation) -> None:
        self._document = document
        self._operation = operation
        self._schemas = Schemas(document)
        self._properties: dict[str, object] = {}
        self._required: list[str] = []

    def plan(self, keys: frozenset[tuple[str, str]]) -> OperationPlan:
        found = [
            self._parameter(place, name, part)
            for (place, name), part in self._declared().items()
            if (place, name.lower()) not in keys
        ]
        body, media_type = self._body()
        schema: dict[str, object] = {
            "type": "object",
            "properties": self._properties,
            "required": self._required,
            "additionalProperties": False,
        }
        if defs := self._schemas.defs():
            schema["$defs"] = defs
        parameters = tuple(one for one in found if one is not None)
        self._refuse_unfilled(parameters)
        return OperationPlan(self._operation, schema, parameters, body, media_type)

    def _declared(self) -> dict[tuple[str, str], JsonObject]:
        """Those of the operation win over those of the path."""
        own = self._operation.content.get("parameters", [])
        parts = [
            *self._operation.shared,
            *(cast("list[object]", own) if isinstance(own, list) else []),
        ]
        declared = [self._document.resolve(part) for part in parts]
        return {(str(part.get("in")), str(part.get("name"))): part for part in declared}

    def _parameter(self, place: str, name: str, part: JsonObject) -> Parameter | None:
        if place not in _STYLES:
            raise self._refused(f"parameter {name!r} is in {place!r}", "mend the document")
        required = part.get("required") is True or place == "path"
        if place == "header" and _OURS.fullmatch(name):
            if required and name.lower() not in ("accept", "authorization", "content-type"):
                raise self._refused(f"it wants the header {name}", "call it in another way")
            return None
        if place in ("header", "cookie") and not TOKEN.fullmatch(name):
            raise self._refused(f"{name!r:.80} is no name of a {place}", "mend the document")
        style = str(part.get("style", _STYLES[place]))
        if style not in _KNOWN:
            raise self._refused(f"parameter {name!r} has the style {style!r}", "call it otherwise")
        schema, as_json = self._schema_of(part)
        key = self._free(name, f"{place}_{name}")
        self._declare(key, schema, part, required=required)
        explode = part.get("explode", style == "form")
        return Parameter(key, name, cast("Place", place), style, explode is True, as_json)

    def _schema_of(self, part: JsonObject) -> tuple[object, bool]:
        content = part.get("content")
        if isinstance(content, Mapping) and content:
            described = next(iter(cast("JsonObject", content).values()))
            return self._document.resolve(described).get("schema", {}), True
        return part.get("schema", {"type": "string"}), False

    def _body(self) -> tuple[str, str]:
        if "requestBody" not in self._operation.content:
            return "", ""
        body = self._document.resolve(self._operation.content["requestBody"])
        content = body.get("content")
        kinds = cast("JsonObject", content if isinstance(content, Mapping) else {})
        chosen = next(filter(_is_json, kinds), "")
        if not chosen:
            if body.get("required") is True:
                said = ", ".join(kinds) or "nothing known"
                raise self._refused(f"its body is {said}", "only JSON bodies are sent")
            return "", ""
        schema = self._document.resolve(kinds[chosen]).get("schema", {})
        key = self._free("body", "request_body")
        self._declare(key, schema, body, required=body.get("required") is True)
        return key, "application/json" if "*" in chosen else chosen

    def _declare(self, key: str, schema: object, part: JsonObject, *, required: bool) -> None:
        plain = self._schemas.plain(schema)
        members = dict(cast("JsonObject", plain)) if isinstance(plain, Mapping) else {}
        said = part.get("description")
        if isinstance(said, str) and said.strip():
            members["description"] = said.strip()
        self._properties[key] = members
        if required:
            self._required.append(key)

    def _free(self, name: str, other: str) -> str:
        """Two places may use one name."""
        while name in self._properties:
            name, other = other, f"{other}_"
        return name

    def _refuse_unfilled(self, parameters: tuple[Parameter, ...]) -> None:
        path = re.sub("%2e", ".", self._operation.path, flags=re.IGNORECASE)
        hidden = re.search("%2f|%5c", path, re.IGNORECASE)
        if hidden or not re.fullmatch(r"(/(?!\.{1,2}(/|$))[^/?#\\\s]*)+", path):
            raise self._refused(f"its path is {self._operation.path!r:.80}", "mend the document")
        known = {one.name for one in parameters if one.place == "path"}
        for name in re.findall(r"\{([^{}]*)\}", self._operation.path):
            if name not in known:
                raise self._refused(f"{{{name}}} in its path is not declared", "mend the document")

    def _refused(self, why: str, hint: str) -> Exception:
        return self._document.refusal(f"operation {self._operation.id!r}: {why}", hint)


def _is_json(media_type: str) -> bool:
    kind = media_type.partition(";")[0].strip().lower()
    return kind in ("application/json", "*/*", "application/*") or kind.endswith("+json")
