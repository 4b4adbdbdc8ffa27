"""The OpenAPI document, made from the table of operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any, cast
from urllib.parse import quote

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from mentis.values.reply import Delta

from .operation import PREFIX, ApiOperation, OperationTable


@dataclass(frozen=True, slots=True)
class PathParameter:
    """What a name in a path stands for."""

    about: str
    example: str
    kind: str = "string"


DOCUMENT = "urn:mentis:openapi"
_REF = "#/components/schemas/{model}"
# What the names in paths stand for.
PATH_PARAMETERS: Mapping[str, PathParameter] = {
    "persona": PathParameter("The id of a persona.", "ada"),
    "session": PathParameter("The name of a conversation.", "main"),
    "number": PathParameter("The number of a turn in its conversation.", "0", "integer"),
    "index": PathParameter("The number of an entry in the record.", "0", "integer"),
    "revision": PathParameter("The number of a revision.", "0", "integer"),
    "block": PathParameter("The id of a block.", "style"),
    "key": PathParameter("A key, such as of a placeholder, a setting or an act.", "city"),
    "file": PathParameter("memory, soul or relationship.", "memory"),
    "memory": PathParameter("The id of a memory.", "6d11f9a81aa44aca9bf406b56113fe62"),
    "name": PathParameter("A name.", "remember"),
    "rule": PathParameter("The id of a rule.", "S2-H-VERCONF"),
    "person": PathParameter("The id of somebody who has tokens.", "bob"),
    "agent": PathParameter("The name that a program was recorded as.", "claude"),
}
_PROBLEM = {
    "type": "object",
    "description": "What went wrong (RFC 9457), with our code, and what to do next.",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string", "examples": ["urn:mentis:error:bad-input"]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What happened, and where."},
        "code": {"type": "string", "description": "One of docs/reference/errors.md."},
        "hint": {"type": "string", "description": "What to do next."},
        "request_id": {"type": "string"},
        "facts": {"type": "object", "additionalProperties": True},
    },
}
_EVENTS = ("text", "reasoning", "call", "result", "step", "output", "again", "end", "error")
_ABOUT = """Everything the commands of Mentis do, over HTTP.

Send a token (`mentis tokens new NAME --scope read|chat|edit|admin`) as `Authorization: Bearer`.
What changes something that can be read needs its `ETag` as `If-Match`: whoever was slower is
refused. Lists come in pages (`limit`, `cursor`; `next` in the body and as a `Link`). Errors are
problem JSON.
"""


@cache
def openapi_document() -> dict[str, Any]:
    from .table import TABLES

    schemas = _Schemas(TABLES)
    paths: dict[str, dict[str, Any]] = {}
    for operation in (row for table in TABLES for row in table):
        at = paths.setdefault(PREFIX + operation.path, {})
        at[operation.method.lower()] = _operation(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Mentis", "version": version("mentis"), "description": _ABOUT},
        "servers": [{"url": "/"}],
        "tags": [{"name": table.tag, "description": table.about} for table in TABLES],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"ProblemDetails": _PROBLEM, **schemas.components},
            "responses": {
                "Problem": {
                    "description": "It was refused, or failed.",
                    "content": {"application/problem+json": {"schema": _named("ProblemDetails")}},
                }
            },
        },
    }


def answer_schema(operation: ApiOperation) -> dict[str, Any]:
    """A schema of what one operation answers, in the document under the name `DOCUMENT`."""
    path = f"{PREFIX}{operation.path}".replace("~", "~0").replace("/", "~1")
    steps = (path, operation.method.lower(), "responses", str(operation.status), "content")
    return {"$ref": f"{DOCUMENT}#/paths/{'/'.join(map(quote, steps))}/application~1json/schema"}


class _Schemas:
    """Every type that is taken or answered, described once, under names that do not collide."""

    def __init__(self, tables: Iterable[OperationTable]) -> None:
        rows = [row for table in tables for row in table]
        wanted: list[tuple[object, str, Any]] = []
        for row in rows:
            wanted += [] if row.media else [(row.id, "answer", row.answer)]
            wanted += [(row.id, "body", row.body)] if row.body else []
        wanted.append(("delta", "answer", Delta))
        adapters = [
            ((name, what), "validation", TypeAdapter[Any](kind)) for name, what, kind in wanted
        ]
        found, whole = TypeAdapter.json_schemas(
            cast("Any", adapters), ref_template=_REF, schema_generator=GenerateJsonSchema
        )
        self.components: dict[str, Any] = whole.get("$defs", {})
        self._found = cast("dict[tuple[tuple[str, str], str], dict[str, Any]]", found)

    def of(self, operation: str, what: str) -> dict[str, Any]:
        return self._found[((operation, what), "validation")]


def _operation(operation: ApiOperation, schemas: _Schemas) -> dict[str, Any]:
    told: dict[str, Any] = {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "description": f"{operation.text}\n\nScope: `{operation.scope}`.",
        "parameters": [*_path_parameters(operation), *_query_parameters(operation)],
        "responses": {
            str(operation.status): _answer(operation, schemas),
            "default": {"$ref": "#/components/responses/Problem"},
        },
        "x-mentis-scope": operation.scope,
        "x-mentis-guests": operation.guests,
        "x-mentis-commands": list(operation.commands),
    }
    if operation.edits is not None:
        told["parameters"].append(
            {
                "name": "If-Match",
                "in": "header",
                "required": True,
                "description": "The ETag of what is changed, as it was read; `*`: whatever it is.",
                "schema": {"type": "string"},
            }
        )
    if operation.takes:
        body: dict[str, Any] = {operation.takes: {"schema": {"type": "string", "format": "binary"}}}
        told["requestBody"] = {"required": True, "content": body}
    elif operation.body is not None:
        told_body: dict[str, Any] = {"schema": schemas.of(operation.id, "body")}
        if operation.body.example:
            told_body["example"] = dict(operation.body.example)
        needed = bool(operation.body.model_json_schema().get("required"))
        content = {"application/json": told_body}
        told["requestBody"] = {"required": needed, "content": content}
    return told


def _answer(operation: ApiOperation, schemas: _Schemas) -> dict[str, Any]:
    if operation.media:
        kind = "object" if operation.media == "application/json" else "string"
        content: dict[str, Any] = {operation.media: {"schema": {"type": kind}}}
    else:
        content = {"application/json": {"schema": schemas.of(operation.id, "answer")}}
    if operation.live:
        content["text/event-stream"] = {
            "schema": {"type": "string"},
            "x-mentis-events": list(_EVENTS),
        }
    headers: dict[str, Any] = {}
    if (operation.method == "GET" and not operation.media) or operation.edits is not None:
        headers["ETag"] = {"schema": {"type": "string"}, "description": "What it is now."}
    if operation.is_paged:
        headers["Link"] = {"schema": {"type": "string"}, "description": "The next page."}
    told: dict[str, Any] = {"description": operation.summary, "content": content}
    return {**told, "headers": headers} if headers else told


def _path_parameters(operation: ApiOperation) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": PATH_PARAMETERS[name].about,
            "schema": _path_schema(PATH_PARAMETERS[name].kind),
        }
        for name in operation.parameters
    ]


def _path_schema(kind: str) -> dict[str, Any]:
    if kind == "integer":
        return {"type": "integer", "minimum": 0, "maximum": 10**15 - 1}
    return {"type": "string", "minLength": 1}


def _query_parameters(operation: ApiOperation) -> list[dict[str, Any]]:
    schema = operation.query.model_json_schema()
    required = schema.get("required", [])
    return [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            "description": found.get("description", ""),
            "schema": _without_null({k: v for k, v in found.items() if k != "description"}),
        }
        for name, found in schema.get("properties", {}).items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter that is not there is none; there is no null in an address."""
    given = [one for one in schema.get("anyOf", []) if one.get("type") != "null"]
    rest = {k: v for k, v in schema.items() if k not in ("anyOf", "default")}
    if "anyOf" in schema and len(given) == 1:
        return {**rest, **given[0]}
    return schema


def _named(name: str) -> dict[str, str]:
    return {"$ref": _REF.format(model=name)}
