"""Messages of a prompt and of its answer, in the JSON form of the GenAI conventions.

Nobody asks for them unless the settings of the home allow it; keys are struck out all the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import assert_never

from mentis.net.redact import redact_bytes
from mentis.values.part import (
    MediaPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from mentis.values.reply import Reply
from mentis.values.request import PromptRequest
from mentis.values.span import join_spans
from mentis.values.turn import Turn

from .names import FINISHES, INPUT_MESSAGES, OUTPUT_MESSAGES, SYSTEM_INSTRUCTIONS


def asked_messages(request: PromptRequest) -> dict[str, str]:
    """The attributes that say what the model was told."""
    system, summary = join_spans(request.system_instruction), join_spans(request.context_summary)
    history = (*request.conversation_history, *_current(request), *request.continuation)
    summed_up = [Turn("user", (TextPart(summary),))] if summary else []
    messages = [_message(turn) for turn in (*summed_up, *history)]
    told = {INPUT_MESSAGES: as_json(messages)} if messages else {}
    return {**told, SYSTEM_INSTRUCTIONS: as_json([_text(system)])} if system else told


def answered_messages(reply: Reply) -> dict[str, str]:
    """The attribute that says what it answered."""
    calls = [_call(one.call_id, one.type, one.payload) for one in reply.actions]
    parts = [_text(reply.text)] if reply.text else []
    reason = FINISHES.get(reply.stop, reply.stop)
    answer = {"role": "assistant", "parts": [*parts, *calls], "finish_reason": reason}
    return {OUTPUT_MESSAGES: as_json([answer])}


def as_json(value: object) -> str:
    return without_keys(json.dumps(value, ensure_ascii=False, default=str))


def without_keys(text: str) -> str:
    """Without whatever is shaped like a key."""
    data = text.encode("utf-8", "surrogatepass")
    return redact_bytes(data, ()).decode("utf-8", "replace")


def _current(request: PromptRequest) -> Iterable[Turn]:
    if request.current_text or request.attachments:
        yield Turn("user", (TextPart(request.current_text), *request.attachments))


def _message(turn: Turn) -> dict[str, object]:
    results = turn.role == "user" and any(isinstance(one, ToolResultPart) for one in turn.parts)
    return {"role": "tool" if results else turn.role, "parts": [_part(one) for one in turn.parts]}


def _part(part: Part) -> dict[str, object]:
    match part:
        case TextPart():
            return _text(part.text)
        case ReasoningPart():
            return {"type": "reasoning", "content": part.text}
        case ToolCallPart():
            return _call(part.id, part.name, part.arguments)
        case ToolResultPart():
            return {"type": "tool_call_response", "id": part.call_id, "response": part.text}
        case MediaPart():  # never its bytes
            return {"type": "media", "modality": part.kind, "mime_type": part.mime}
        case _:
            assert_never(part)


def _text(text: str) -> dict[str, object]:
    return {"type": "text", "content": text}


def _call(call: str, name: str, arguments: Mapping[str, object]) -> dict[str, object]:
    return {"type": "tool_call", "id": call, "name": name, "arguments": dict(arguments)}
