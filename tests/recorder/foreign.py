"""Calls of a foreign agent, as the proxy would copy them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from mentis.recorder.call_copy import BodyCopy, CallCopy
from mentis.recorder.targets import CallTarget

BEGAN = datetime(2026, 11, 16, 12, 0, 0, tzinfo=UTC)
ANTHROPIC = CallTarget("anthropic", "https://api.anthropic.com:443")
OPENAI = CallTarget("openai", "https://api.openai.com:443")
MODEL = "claude-sonnet-5"
_ANSWER = "event: {type}\ndata: {data}\n\n"


def call_copy(
    target: CallTarget,
    path: str,
    request: bytes,
    answer: bytes,
    *,
    headers: Sequence[tuple[bytes, bytes]] = (),
    answer_headers: Sequence[tuple[bytes, bytes]] = ((b"content-type", b"text/event-stream"),),
    status: int = 200,
    after: float = 0.0,
    limit: int = 1_000_000,
) -> CallCopy:
    bodies = BodyCopy(limit), BodyCopy(limit)
    bodies[0].take(request)
    bodies[1].take(answer)
    time = BEGAN + timedelta(seconds=after)
    copy = CallCopy(target, "POST", path, tuple(headers), time, 10.0, *bodies)
    copy.status, copy.answer_headers = status, tuple(answer_headers)
    copy.first_byte, copy.ended = 10.25, 11.5
    return copy


def message_stream(
    usage: Mapping[str, Any],
    text: str = "Hello",
    *,
    tool: str = "",
    given: Mapping[str, Any] | None = None,
) -> bytes:
    """What Anthropic streams; `given` is what a tool is asked with."""
    block: dict[str, Any] = {"type": "text", "text": ""}
    delta = {"type": "text_delta", "text": text}
    if tool:
        block = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(given or {})}
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
    }
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "usage": dict(usage)}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use" if tool else "end_turn"},
            "usage": {"output_tokens": 7},
        },
        {"type": "message_stop"},
    ]
    written = (_ANSWER.format(type=one["type"], data=json.dumps(one)) for one in events)
    return "".join(written).encode()


def anthropic_call(
    payload: Mapping[str, Any],
    *,
    fresh: int = 0,
    read: int = 0,
    written: int = 0,
    after: float = 0.0,
    headers: Sequence[tuple[bytes, bytes]] = (),
    text: str = "Hello",
    tool: str = "",
    given: Mapping[str, Any] | None = None,
) -> CallCopy:
    usage = {
        "input_tokens": fresh,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "output_tokens": 1,
    }
    body = json.dumps({"model": MODEL, "max_tokens": 100, **payload}).encode()
    said = message_stream(usage, text, tool=tool, given=given)
    return call_copy(ANTHROPIC, "/v1/messages?beta=true", body, said, headers=headers, after=after)


def user(text: str, **more: object) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text, **more}]}


def model(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}
