"""A payload as one HTTP request: path, query, headers, cookies and body, as the plan says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import quote

from mentis.errors import BadInput
from mentis.values.json import JsonObject

from .plan import OperationPlan, Parameter

_BETWEEN = {"spaceDelimited": " ", "pipeDelimited": "|"}
_SENDABLE = re.compile(r"[\x20-\x7e]*")


@dataclass(slots=True)
class OutgoingRequest:
    """What goes out. `path` begins with a slash, and is encoded."""

    path: str
    query: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    headers: dict[str, str] = field(default_factory=dict[str, str])
    cookies: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None


def request_for(plan: OperationPlan, payload: JsonObject) -> OutgoingRequest:
    """BadInput when a value cannot be sent where it belongs."""
    sent = OutgoingRequest(plan.operation.path)
    for one in plan.parameters:
        if one.key in payload:
            _put(sent, one, payload[one.key])
    if plan.body and plan.body in payload:
        sent.body = _json(payload[plan.body]).encode()
        sent.headers["Content-Type"] = plan.media_type
    return sent


def _put(sent: OutgoingRequest, one: Parameter, value: object) -> None:
    match one.place:
        case "path":
            sent.path = sent.path.replace(f"{{{one.name}}}", _segment(one, _simple(one, value)))
        case "query":
            sent.query += _pairs(one, value)
        case "header":
            sent.headers[one.name] = _line(one, _simple(one, value))
        case "cookie":
            sent.cookies[one.name] = quote(_simple(one, value), safe="")


def _segment(one: Parameter, text: str) -> str:
    """One piece of a path, and no way to another one."""
    if text in ("", ".", ".."):
        raise BadInput(
            f"{one.key}: {text!r} cannot stand in the path",
            hint="give the name or id that is meant",
        )
    return quote(text, safe="")


def _line(one: Parameter, text: str) -> str:
    if not _SENDABLE.fullmatch(text):
        raise BadInput(f"{one.key}: a header takes plain ASCII in one line", hint="encode it")
    return text


def _simple(one: Parameter, value: object) -> str:
    if one.json:
        return _json(value)
    if isinstance(value, Mapping):
        members = cast("JsonObject", value).items()
        if one.explode:
            return ",".join(f"{name}={_text(member)}" for name, member in members)
        return ",".join(f"{name},{_text(member)}" for name, member in members)
    if isinstance(value, list):
        return ",".join(_text(item) for item in cast("list[object]", value))
    return _text(value)


def _pairs(one: Parameter, value: object) -> Iterator[tuple[str, str]]:
    if one.json or not isinstance(value, (Mapping, list)):
        yield one.name, _simple(one, value)
        return
    yield from _spread(one, cast("JsonObject | list[object]", value))


def _spread(one: Parameter, value: JsonObject | list[object]) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        if one.explode:
            yield from ((one.name, _text(item)) for item in value)
        else:
            yield one.name, _BETWEEN.get(one.style, ",").join(map(_text, value))
    elif one.style == "deepObject":
        yield from ((f"{one.name}[{name}]", _text(member)) for name, member in value.items())
    elif one.explode:
        yield from ((name, _text(member)) for name, member in value.items())
    else:
        yield one.name, _simple(one, value)


def _text(value: object) -> str:
    match value:
        case str():
            return value
        case None:
            return ""
        case _:
            return _json(value)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
