"""Requests and their answers, whatever wrote them down: HAR, cassettes, lines of JSON.

The recorder's own readers take the answers apart. What asked no model, and what failed, is counted.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

import orjson

from mentis.facts.ability import Wire
from mentis.recorder.packing import unpack
from mentis.recorder.reading import (
    long_writes_in,
    read_answer,
    tells_cache,
    with_listed_input,
)
from mentis.recorder.wires import BACKENDS, model_at, wire_at
from mentis.render.compare import is_body
from mentis.values.json import JsonObject, json_object
from mentis.values.reply import Usage
from mentis.values.words import quantity

from .calls import LogBody, LoggedCall, LogPlace
from .lines import MOST_LINE, read_odd
from .timestamps import seconds_of

_REQUESTS = ("request", "req")
_RESPONSES = ("response", "resp", "response_body", "responseBody", "output", "completion", "result")
_URLS = ("url", "uri", "path", "endpoint")
_BODIES = ("body", "parsed_body", "postData", "json", "payload", "data", "content")
_FLAT = ("request_body", "requestBody", "body", "payload", "kwargs")
_ENVELOPE = ("url", "uri", "method", "headers", *_BODIES[:3])
_TIMES = (
    "startedDateTime",
    "timestamp",
    "time",
    "recorded_at",
    "created_at",
    "start_time",
    "startTime",
    "ts",
    "date",
)
_SESSIONS = ("session_id", "sessionId", "conversation_id", "thread_id")
_TALKS = ("messages", "input", "contents", "prompt")
_PROGRAMS = {"claude-cli": "claude-code", "codex": "codex"}
_WIRES: tuple[Wire, ...] = ("anthropic", "openai-chat", "openai-responses", "gemini", "ollama")
_CHARACTERS = 4
_FAILED = 400


@dataclass(frozen=True, slots=True)
class LoggedExchange:
    """One request and its answer. `status` is 0 where it is not told."""

    payload: JsonObject
    url: str = ""
    headers: Mapping[str, str] | None = None
    answer: str = ""
    status: int = 0
    time: float = 0.0
    size: int = 0


def is_exchange(told: dict[str, object]) -> bool:
    return read_exchange(told) is not None


@dataclass(slots=True)
class ExchangeReader:
    """Reads the exchanges of one file."""

    file: str
    others: int = 0
    failed: int = 0
    estimated: int = 0

    def take(self, number: int, told: dict[str, object]) -> Iterator[LoggedCall]:
        exchange = read_exchange(told)
        wire = None if exchange is None else wire_of_exchange(exchange)
        if exchange is None or wire is None:
            self.others += 1
            return
        if exchange.status >= _FAILED:
            self.failed += 1
            return
        yield self._call(number, exchange, wire)

    def end(self) -> Iterator[LoggedCall]:
        return iter(())

    def notes(self) -> Iterator[str]:
        if self.others:
            yield f"{quantity(self.others, 'item')} that asked no model"
        if self.failed:
            yield f"{quantity(self.failed, 'call')} failed, and count for nothing"
        if self.estimated:
            told = quantity(self.estimated, "answer")
            yield f"{told} did not say what was used: counted by length"

    def _call(self, number: int, exchange: LoggedExchange, wire: Wire) -> LoggedCall:
        payload, headers = with_listed_input(exchange.payload, wire), exchange.headers or {}
        model = str(payload.get("model") or model_at(_path(exchange.url)))
        reply = read_answer(exchange.answer, wire, {}, model) if exchange.answer else None
        usage = reply.usage if reply else None
        if usage is None:
            self.estimated += 1
            written = len(reply.text) if reply else 0
            usage = Usage(exchange.size // _CHARACTERS, written // _CHARACTERS)
            known = False
        else:
            known = tells_cache(exchange.answer, wire)
        split = urlsplit(exchange.url)
        origin = f"{split.scheme}://{split.netloc}" if split.netloc else ""
        return LoggedCall(
            _program(headers, split.netloc),
            LogPlace(self.file, number),
            "",
            model,
            BACKENDS[wire],
            usage,
            time=exchange.time,
            long_writes=long_writes_in(exchange.answer),
            tells_cache=known,
            body=LogBody(wire, payload, headers, origin, max(exchange.size, 4 * usage.input)),
            diagnosis=reply.diagnosis if reply else None,
        )


def wire_of_exchange(exchange: LoggedExchange) -> Wire | None:
    """By the address, or else by how the answer and the request look."""
    wire = wire_at(_path(exchange.url)) if exchange.url else None
    if wire is None:
        wire = _wire_of_answer(exchange.answer[:4096]) or _wire_of_request(exchange.payload)
    if wire is None:
        return None
    return wire if is_body(with_listed_input(exchange.payload, wire), wire) else None


def _wire_of_answer(answer: str) -> Wire | None:
    marks: tuple[tuple[Wire, tuple[str, ...]], ...] = (
        ("openai-chat", ('"choices"', '"chat.completion')),
        ("openai-responses", ('"object":"response"', '"object": "response"', "response.created")),
        ("gemini", ('"candidates"', '"usageMetadata"')),
        ("anthropic", ("message_start", '"stop_reason"')),
        ("ollama", ('"done":', '"eval_count"')),
    )
    return next((w for w, told in marks if any(mark in answer for mark in told)), None)


def _wire_of_request(payload: JsonObject) -> Wire | None:
    if "contents" in payload:
        return "gemini"
    if "input" in payload:
        return "openai-responses"
    if "messages" not in payload:
        return None
    model = str(payload.get("model", ""))
    return "anthropic" if "system" in payload or "claude" in model else "openai-chat"


def read_exchange(told: JsonObject) -> LoggedExchange | None:
    """None where nothing in it is a question to a model."""
    request = json_object(_first(told, _REQUESTS))
    url, headers = "", dict[str, str]()
    body: object = None
    if any(name in request for name in _ENVELOPE):
        url = str(_first(request, _URLS) or "")
        headers = headers_of(request.get("headers"))
        body = _first(request, _BODIES)
    elif request:
        body = request
    else:
        body = _first(told, _FLAT) or told
    url = url or str(_first(told, _URLS) or "")
    payload, size = _payload(body, headers)
    if payload is None or not any(name in payload for name in _TALKS):
        return None
    for name in _SESSIONS:
        if isinstance(named := told.get(name), str) and named:
            headers.setdefault("session-id", named)
    answer, status, answered = _answer(told)
    time = next((found for name in _TIMES if (found := seconds_of(told.get(name)))), 0.0)
    time = time or seconds_of(answered.get("date"))
    return LoggedExchange(payload, url, headers, answer, status, time, size)


def _answer(told: JsonObject) -> tuple[str, int, Mapping[str, str]]:
    """The answer as a text, its status and its headers."""
    found = _first(told, _RESPONSES) or ""
    response, status, headers = json_object(found), 0, dict[str, str]()
    content = response.get("content")
    parted = isinstance(content, dict) and not response.get("role")
    code = response.get("status", response.get("status_code"))
    code = json_object(code).get("code", code)
    if isinstance(code, int):
        status = code
    if "body" in response or "parsed_body" in response or parted:
        headers = headers_of(response.get("headers"))
        found = _first(response, ("body", "parsed_body", "content"))
    plain = _text(found, headers)
    if isinstance(plain, str):
        return plain, status, headers
    return dumped(plain), status, headers


def _payload(body: object, headers: Mapping[str, str]) -> tuple[JsonObject | None, int]:
    plain = _text(body, headers)
    if isinstance(plain, str):
        try:
            read: object = orjson.loads(plain)
        except ValueError:
            read = read_odd(plain.encode("utf-8", "replace"))
        size = len(plain)
    else:
        read, size = plain, 0
    return (cast("JsonObject", read) if isinstance(read, dict) else None), size


def _text(body: object, headers: Mapping[str, str]) -> object:
    """A text, or what is JSON already. HAR and cassettes wrap it in an object of their own."""
    told = json_object(body)
    for name in ("base64_string", "string", "text"):
        if name in told and not any(talk in told for talk in _TALKS) and "role" not in told:
            packed = name == "base64_string" or str(told.get("encoding", "")).lower() == "base64"
            body = _unpacked(told[name]) if packed else told[name]
            break
    if isinstance(body, bytes):
        plain = unpack(body, headers.get("content-encoding", ""), MOST_LINE)
        return (body if plain is None else plain).decode("utf-8", "replace")
    return body


def _unpacked(told: object) -> object:
    try:
        return base64.b64decode(str(told))
    except (binascii.Error, ValueError):
        return ""


def dumped(value: object) -> str:
    if not value:
        return ""
    try:
        return orjson.dumps(value, default=str).decode()
    except TypeError:
        return ""


def headers_of(told: object) -> dict[str, str]:
    """Of an object, or of a list of pairs or of names and values; the first value of each."""
    if isinstance(told, Mapping):
        pairs: Iterable[tuple[object, object]] = cast("JsonObject", told).items()
    elif isinstance(told, list):
        items = [json_object(one) for one in cast("list[object]", told)]
        pairs = [(one.get("name"), one.get("value")) for one in items]
    else:
        return {}
    found: dict[str, str] = {}
    for name, value in pairs:
        listed = cast("list[object]", value) if isinstance(value, list) else [value]
        first = listed[0] if listed else None
        if isinstance(name, str) and isinstance(first, str):
            found.setdefault(name.lower(), first)
    return found


def _first(told: JsonObject, names: tuple[str, ...]) -> object:
    return next((told[name] for name in names if told.get(name)), None)


def _path(url: str) -> str:
    try:
        return urlsplit(url).path
    except ValueError:
        return ""


def _program(headers: Mapping[str, str], host: str) -> str:
    agent = headers.get("user-agent", "")
    for mark, name in _PROGRAMS.items():
        if agent.startswith(mark):
            return name
    return host or "requests"
