"""Writes the page of the HTTP API from its table of operations: curl and Python for each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from shlex import quote
from typing import Any
from urllib.parse import urlencode

from mentis.surfaces.api.openapi import PATH_PARAMETERS, openapi_document
from mentis.surfaces.api.operation import PREFIX, ApiOperation, Given
from mentis.surfaces.api.table import NO_OPERATION, OPERATIONS, TABLES

_HEAD = f"""# HTTP API

Everything the commands do, under `{PREFIX}/` on `mentis serve`. `{PREFIX}/openapi.json` is the same
as an OpenAPI 3.1 document. [The guide](../guides/drive-a-home-over-http.md) shows how to begin.

- Send a token (`mentis tokens new NAME --scope read`) as `Authorization: Bearer TOKEN`. Each scope
  may do what those before it may: `read`, `chat`, `edit`, `admin`. Guests reach their own
  conversations, tokens for one persona or session nothing beside it.
- What changes something that can be read needs `If-Match` with the `ETag` it was read with (`*`
  means whatever it is now). Without it: 428. Where somebody was faster: 412, nothing is written.
- Lists come in pages: `limit` (at most 1000), `cursor`, and `next` in the answer, which is also a
  `Link` header. What is added meanwhile moves nothing.
- Turns are streamed to whoever sends `Accept: text/event-stream`: events `text`, `reasoning`,
  `call`, `result`, `step`, `output`, `again`, and last `end` with the whole turn, or `error`.
- Errors are problem JSON (RFC 9457) with the `code` of [an error](errors.md), a `hint`, and the
  `field` that is wrong among the `facts`.
- The answers are what the commands print with `--json`; what is a list there is `items` here,
  where it comes in pages.

In the examples, `$MENTIS` is the address that `mentis serve` printed, `$TOKEN` the token, and
`http` is:

```python
import os

import httpx2

http = httpx2.Client(
    base_url=os.environ["MENTIS"] + "{PREFIX}",
    headers={{"Authorization": f"Bearer {{os.environ['TOKEN']}}"}},
)
```
"""


_FOLLOW = """with http.stream("GET", "/events") as answer:
    for line in answer.iter_lines():
        print(line)"""


def http_page() -> str:
    parts = [_HEAD, _command_table()]
    for table in TABLES:
        parts.append(f"## {table.tag.capitalize()}\n\n{table.about}\n")
        parts += ["\n".join(_section(one)) for one in table]
    return "\n".join(parts)


def _command_table() -> str:
    """Every command with its operations, or the reason why it has none."""
    covered: dict[str, list[str]] = {}
    for one in OPERATIONS:
        for command in one.commands:
            covered.setdefault(command, []).append(f"[`{one.id}`](#{one.id})")
    rows = {name: ", ".join(found) for name, found in covered.items()}
    rows |= {name: f"none: {reason}" for name, reason in NO_OPERATION.items()}
    lines = [f"| `mentis {name}` | {rows[name]} |" for name in sorted(rows)]
    head = "## Commands and operations\n\n| command | operation |\n|---|---|\n"
    return head + "\n".join(lines) + "\n"


def _section(one: ApiOperation) -> Iterator[str]:
    yield f"### `{one.id}`\n"
    yield f"`{one.method} {PREFIX}{one.path}`, scope `{one.scope}`{_also(one)}\n"
    yield f"{one.text}\n"
    rows = [*_path_rows(one), *_field_rows(one.query, "query")]
    rows += _field_rows(one.body, "body") if one.body is not None else []
    if rows:
        yield "| name | in | type | meaning |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
    yield f"Answers: {_answer(one)}.\n"
    yield f"```sh\n{_curl(one)}\n```\n"
    yield f"```python\n{_python(one)}\n```\n"


def _also(one: ApiOperation) -> str:
    more = ["guests too"] if one.guests else []
    more += ["needs `If-Match`"] if one.edits is not None else []
    more += ["can be streamed"] if one.live else []
    return "".join(f"; {word}" for word in more)


def _path_rows(one: ApiOperation) -> Iterator[str]:
    for name in one.parameters:
        told = PATH_PARAMETERS[name]
        yield f"| `{name}` | path | {told.kind} | {told.about} |"


def _field_rows(model: type[Given], place: str) -> Iterator[str]:
    schema = model.model_json_schema()
    required = schema.get("required", [])
    for name, found in schema.get("properties", {}).items():
        kind = _kind(found) + ("" if name in required else ", optional")
        yield f"| `{name}` | {place} | {kind} | {_cell(found.get('description', ''))} |"


def _kind(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_kind(one) for one in schema["anyOf"] if one.get("type") != "null")
    if "enum" in schema:
        return " or ".join(f"`{one}`" for one in schema["enum"])
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2]}`"
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return str(schema.get("const", schema.get("type", "any")))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _answer(one: ApiOperation) -> str:
    if one.media:
        return f"`{one.media}`"
    path = openapi_document()["paths"][PREFIX + one.path][one.method.lower()]
    schema = path["responses"][str(one.status)]["content"]["application/json"]["schema"]
    words = {"null": "nothing (`null`)"}.get(str(schema.get("type")), _kind(schema))
    return f"{one.status}, {words}"


def _path(one: ApiOperation) -> str:
    path = one.path
    for name in one.parameters:
        path = path.replace(f"{{{name}}}", PATH_PARAMETERS[name].example)
    query = urlencode(one.query.example)
    return f"{path}?{query}" if query else path


def _body(one: ApiOperation) -> str:
    return "" if one.body is None else json.dumps(dict(one.body.example), ensure_ascii=False)


def _curl(one: ApiOperation) -> str:
    words = ["curl -s"] if one.method == "GET" else [f"curl -s -X {one.method}"]
    words.append('-H "Authorization: Bearer $TOKEN"')
    if one.edits is not None:
        words.append('-H "If-Match: $ETAG"')
    if one.takes:
        words += [f"-H 'Content-Type: {one.takes}'", "--data-binary @file"]
    elif one.body is not None:
        words += ["-H 'Content-Type: application/json'", f"-d {quote(_body(one))}"]
    words.append(f'"$MENTIS{PREFIX}{_path(one)}"')
    return " \\\n  ".join(words)


def _python(one: ApiOperation) -> str:
    given = [f'"{_path(one)}"']
    if one.takes:
        given.append('content=open("file", "rb").read()')
    elif one.body is not None:
        given.append(f"json={dict(one.body.example)!r}")
    if one.edits is not None:
        given.append('headers={"If-Match": etag}')
    read = ".content" if one.media else ".json()"
    if one.id == "follow_events":
        return _FOLLOW
    call = f"http.{one.method.lower()}({', '.join(given)})"
    if one.method == "DELETE" and one.body is not None:
        call = f'http.request("DELETE", {", ".join(given)})'
    return f"answer = {call}{read}"
