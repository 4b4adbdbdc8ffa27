"""A provider on the loopback address that keeps every body and answers with bytes written here, in
the words of each protocol, whole or streamed as it is asked.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from tests.surfaces.proxy.conftest import Received, Upstream, upstream_server

Json = dict[str, Any]
ANSWER = "Four it is."
_WHOLE = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
    b"connection: close\r\n\r\n%s"
)
_STREAM = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n"
    b"connection: close\r\n\r\n"
)
_LINES = b"HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\nconnection: close\r\n\r\n"
_UPGRADE = b"HTTP/1.1 426 Upgrade Required\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_ABSENT = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


@dataclass(frozen=True)
class Arrival:
    """One request as the provider got it."""

    method: str
    path: str
    body: bytes

    @property
    def json(self) -> Json:
        return json.loads(self.body) if self.body else {}


@contextmanager
def stub_provider() -> Generator[Upstream]:
    with upstream_server() as upstream:
        upstream.answer = answer
        yield upstream


def arrivals(upstream: Upstream) -> list[Arrival]:
    """Everything that came, in its order."""
    return [_arrival(one) for one in upstream.received]


def _arrival(request: Received) -> Arrival:
    method, path, _ = request.line.split(" ", 2)
    return Arrival(method, path, request.body)


def answer(request: Received, out: BinaryIO) -> None:
    arrived = _arrival(request)
    path = arrived.path.partition("?")[0]
    if arrived.method == "GET" and path.endswith("/responses"):
        out.write(_UPGRADE)  # a WebSocket was tried
    elif arrived.method == "GET" and path.endswith("/models"):
        _whole(out, {"object": "list", "data": [{"id": "gpt-5", "object": "model"}]})
    elif path.endswith("/responses"):
        _responses(arrived.json, out)
    elif path.endswith("/chat/completions"):
        _chat(arrived.json, out)
    elif path.endswith("/messages"):
        _messages(arrived.json, out)
    elif path.endswith("/api/chat"):
        _ollama(arrived.json, out)
    else:
        out.write(_ABSENT)


def _whole(out: BinaryIO, told: Json) -> None:
    body = json.dumps(told).encode()
    out.write(_WHOLE % (len(body), body))


def _events(out: BinaryIO, events: Iterable[Json], *, named: bool = False) -> None:
    out.write(_STREAM)
    for event in events:
        name = f"event: {event['type']}\n" if named else ""
        out.write(f"{name}data: {json.dumps(event)}\n\n".encode())


def _chat(asked: Json, out: BinaryIO) -> None:
    head = {"id": "chatcmpl-1", "created": 1_790_000_000, "model": asked["model"]}
    usage = {"prompt_tokens": 20, "completion_tokens": 4, "total_tokens": 24}
    if not asked.get("stream"):
        message = {"role": "assistant", "content": ANSWER}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        _whole(out, {**head, "object": "chat.completion", "choices": [choice], "usage": usage})
        return
    head["object"] = "chat.completion.chunk"
    pieces = [{"role": "assistant", "content": ""}, *({"content": one} for one in _words())]
    chunks: list[Json] = [
        {**head, "choices": [{"index": 0, "delta": one, "finish_reason": None}]} for one in pieces
    ]
    chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    chunks.append({**head, "choices": [], "usage": usage})
    _events(out, chunks)
    out.write(b"data: [DONE]\n\n")


def _responses(asked: Json, out: BinaryIO) -> None:
    part: Json = {"type": "output_text", "text": ANSWER, "annotations": []}
    item: Json = {
        "id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
        "content": [part],
    }  # fmt: skip
    used = {
        "input_tokens": 20, "output_tokens": 4, "total_tokens": 24,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }  # fmt: skip
    done: Json = {
        "id": "resp_1", "object": "response", "created_at": 1_790_000_000, "status": "completed",
        "model": asked["model"], "output": [item], "usage": used, "error": None,
        "incomplete_details": None, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        "metadata": {}, "instructions": None, "temperature": 1.0, "top_p": 1.0,
    }  # fmt: skip
    if not asked.get("stream"):
        _whole(out, done)
        return
    begun: Json = {**done, "status": "in_progress", "output": [], "usage": None}
    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    events: list[Json] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        {
            "type": "response.output_item.added", "output_index": 0,
            "item": {**item, "status": "in_progress", "content": []},
        },
        {"type": "response.content_part.added", **at, "part": {**part, "text": ""}},
        *({"type": "response.output_text.delta", **at, "delta": one} for one in _words()),
        {"type": "response.output_text.done", **at, "text": ANSWER},
        {"type": "response.content_part.done", **at, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": done},
    ]  # fmt: skip
    _events(out, ({**one, "sequence_number": n} for n, one in enumerate(events)), named=True)


def _messages(asked: Json, out: BinaryIO) -> None:
    told = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": asked["model"],
        "content": [{"type": "text", "text": ANSWER}], "stop_reason": "end_turn",
        "stop_sequence": None, "usage": {"input_tokens": 20, "output_tokens": 4},
    }  # fmt: skip
    if not asked.get("stream"):
        _whole(out, told)
        return
    begun: Json = {**told, "content": [], "stop_reason": None}
    text = {"type": "text_delta"}
    events: list[Json] = [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {**text, "text": one}}
            for one in _words()
        ),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 4},
        },
        {"type": "message_stop"},
    ]  # fmt: skip
    _events(out, events, named=True)


def _ollama(asked: Json, out: BinaryIO) -> None:
    head = {"model": asked["model"], "created_at": "2026-11-16T00:00:00Z"}
    ended = {"done": True, "done_reason": "stop", "prompt_eval_count": 20, "eval_count": 4}
    if asked.get("stream") is False:
        _whole(out, {**head, "message": {"role": "assistant", "content": ANSWER}, **ended})
        return
    out.write(_LINES)
    for one in _words():
        line = {**head, "message": {"role": "assistant", "content": one}, "done": False}
        out.write(json.dumps(line).encode() + b"\n")
    last = {**head, "message": {"role": "assistant", "content": ""}, **ended}
    out.write(json.dumps(last).encode() + b"\n")


def _words() -> list[str]:
    first, *rest = ANSWER.split(" ")
    return [first, *(f" {one}" for one in rest)]
