"""`POST /v1/messages` and its count of tokens: requests read, answers written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from mentis.errors import BadInput
from mentis.values.action import Action
from mentis.values.json import JsonObject
from mentis.values.part import Part
from mentis.values.reply import Usage
from mentis.values.tool import ToolDeclaration
from mentis.values.turn import Turn
from mentis.web.problems import WebProblem
from mentis.web.streams import sse

from .fields import (
    as_list,
    as_object,
    call_part,
    declaration,
    image_of,
    media_of,
    merge_turns,
    options_of,
    result_part,
    result_words,
    text_in,
    text_part,
    words,
)
from .requests import AnswerHead, ClientRequest, Finish, ServedAnswer

_FINISH: Mapping[Finish, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "calls": "tool_use",
    "filter": "refusal",
}
_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
# Blocks of an earlier answer that only their provider can read.
_PASSED_OVER = ("thinking", "redacted_thinking", "server_tool_use", "web_search_tool_result")


# Requests


def read_messages(body: JsonObject) -> ClientRequest:
    """Betas and fields that are not known are passed over."""
    told, turns = _messages(as_list(body.get("messages"), "messages"))
    tools = _tools(body.get("tools") or [])
    thinking = body.get("thinking")
    thinks = isinstance(thinking, dict) and cast("JsonObject", thinking).get("type") != "disabled"
    return ClientRequest(
        model=text_in(body, "model"),
        turns=turns,
        instructions="\n\n".join(filter(None, (words(body.get("system"), "system"), told))),
        tools=tools,
        options=options_of(
            {
                "temperature": body.get("temperature"),
                "top_p": body.get("top_p"),
                "top_k": body.get("top_k"),
                "stop": body.get("stop_sequences"),
                "max_tokens": body.get("max_tokens"),
                **(_choice(body.get("tool_choice")) if tools else {}),
            }
        ),
        output=_output(body.get("output_config") or body.get("output_format")),
        stream=body.get("stream") is True,
        reasoning_wanted=thinks,
    )


def _messages(found: list[object]) -> tuple[str, tuple[Turn, ...]]:
    """Agent programs put instructions among the messages, too."""
    told: list[str] = []
    turns: list[Turn] = []
    for number, one in enumerate(found):
        where = f"messages[{number}]"
        message = as_object(one, where)
        role, content = text_in(message, "role", f"{where}."), message.get("content")
        if role == "system":
            told.append(words(content, where))
        elif role in ("user", "assistant"):
            whole = isinstance(content, str)
            text = text_part(words(content, where)) if whole else ()
            parts = text or _parts(as_list([] if whole else content, where), where)
            turns.append(Turn("assistant" if role == "assistant" else "user", parts))
        else:
            raise BadInput(f"{where}: there is no role {role!r}", hint="user or assistant")
    return "\n\n".join(text for text in told if text), merge_turns(turns)


def _parts(blocks: list[object], where: str) -> tuple[Part, ...]:
    parts: list[Part] = []
    for one in blocks:
        block = as_object(one, where)
        match block.get("type"):
            case "text":
                parts += text_part(text_in(block, "text", f"{where}."))
            case "image" | "document":
                parts += _media(block, where)
            case "tool_use":
                name = text_in(block, "name", f"{where}.")
                parts.append(call_part(str(block.get("id") or ""), name, block.get("input")))
            case "tool_result":
                failed = block.get("is_error") is True
                call = str(block.get("tool_use_id") or "")
                said = result_words(block.get("content"), where)
                parts.append(result_part(call, said, failed=failed))
            case kind if kind in _PASSED_OVER:
                pass
            case other:
                raise BadInput(f"{where}: blocks of type {other!r} are not taken", hint="use text")
    return tuple(parts)


def _media(block: JsonObject, where: str) -> tuple[Part, ...]:
    source = as_object(block.get("source"), f"{where}.source")
    match source.get("type"):
        case "base64":
            mime = str(source.get("media_type") or "")
            return (media_of(text_in(source, "data", f"{where}.source."), mime, where),)
        case "url":
            return (image_of(text_in(source, "url", f"{where}.source."), where),)
        case "text":
            return text_part(text_in(source, "data", f"{where}.source."))
        case other:
            raise BadInput(f"{where}: a source of type {other!r} is not taken", hint="use base64")


def _tools(found: object) -> tuple[ToolDeclaration, ...]:
    """Those with a schema; what the provider executes itself is not ours."""
    listed = [as_object(one, "tools") for one in as_list(found, "tools")]
    return tuple(
        declaration(
            text_in(tool, "name", "tools."), tool.get("description"), tool.get("input_schema")
        )
        for tool in listed
        if "input_schema" in tool
    )


def _choice(found: object) -> dict[str, object]:
    if not isinstance(found, dict):
        return {}
    choice = cast("JsonObject", found)
    name = choice.get("name") if choice.get("type") == "tool" else None
    alone = choice.get("disable_parallel_tool_use")
    return {
        "tool_choice": name or _CHOICES.get(str(choice.get("type")), ""),
        "parallel_calls": False if alone is True else None,
    }


def _output(found: object) -> JsonObject | None:
    if not isinstance(found, dict):
        return None
    form = cast("JsonObject", found)
    inner = form.get("format", form)
    schema = cast("JsonObject", inner).get("schema") if isinstance(inner, dict) else None
    return as_object(schema, "output_config.format.schema") if schema is not None else None


# Answers


def write_messages(answer: ServedAnswer, request: ClientRequest) -> JsonObject:
    content: list[JsonObject] = []
    if answer.reasoning and request.reasoning_wanted:
        content.append({"type": "thinking", "thinking": answer.reasoning, "signature": ""})
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    content += [_tool_use(call, dict(call.payload)) for call in answer.calls]
    head = _message(answer.head, content, messages_usage(answer.usage))
    return {**head, "stop_reason": _FINISH[answer.finish]}


class MessageEvents:
    """Writes one answer as events: one `message_start`, and blocks that never mix."""

    def __init__(self, head: AnswerHead, request: ClientRequest) -> None:
        self._head = head
        self._thinks = request.reasoning_wanted
        self._index = -1
        self._open = ""

    def begin(self) -> bytes:
        message = _message(self._head, [], messages_usage(Usage()))
        return _event("message_start", {"message": message}) + _event("ping", {})

    def reasoning(self, text: str) -> bytes:
        if not self._thinks:
            return b""
        block = {"type": "thinking", "thinking": "", "signature": ""}
        return self._turn_to("thinking", block) + self._delta(
            {"type": "thinking_delta", "thinking": text}
        )

    def text(self, text: str) -> bytes:
        block = {"type": "text", "text": ""}
        return self._turn_to("text", block) + self._delta({"type": "text_delta", "text": text})

    def end(self, answer: ServedAnswer) -> bytes:
        written = b""
        for call in answer.calls:
            written += self._turn_to(f"call {call.call_id}", _tool_use(call, {}))
            text = json.dumps(dict(call.payload), ensure_ascii=False)
            written += self._delta({"type": "input_json_delta", "partial_json": text})
        written += self._turn_to("", {})
        delta = {"stop_reason": _FINISH[answer.finish], "stop_sequence": None}
        usage = messages_usage(answer.usage)
        written += _event("message_delta", {"delta": delta, "usage": usage})
        return written + _event("message_stop", {})

    def fail(self, problem: WebProblem) -> bytes:
        return sse(messages_error(problem), "error")

    def _turn_to(self, kind: str, block: JsonObject) -> bytes:
        if self._open == kind:
            return b""
        closed = _event("content_block_stop", {"index": self._index}) if self._open else b""
        self._open = kind
        if not kind:
            return closed
        self._index += 1
        begun = {"index": self._index, "content_block": block}
        return closed + _event("content_block_start", begun)

    def _delta(self, delta: JsonObject) -> bytes:
        return _event("content_block_delta", {"index": self._index, "delta": delta})


def _event(kind: str, facts: JsonObject) -> bytes:
    return sse({"type": kind, **facts}, kind)


def _message(head: AnswerHead, content: list[JsonObject], usage: JsonObject) -> JsonObject:
    return {
        "id": f"msg_{head.id}",
        "type": "message",
        "role": "assistant",
        "model": head.model,
        "content": [*content],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }


def _tool_use(call: Action, payload: JsonObject) -> JsonObject:
    return {"type": "tool_use", "id": call.call_id, "name": call.type, "input": payload}


def messages_usage(usage: Usage) -> JsonObject:
    """Here `input_tokens` are those that no cache was read or written for."""
    cached = usage.cache_read + usage.cache_write
    return {
        "input_tokens": max(0, usage.input - cached),
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    }


# Errors


def messages_error(problem: WebProblem) -> JsonObject:
    kind = _TYPES.get(problem.status)
    kind = kind or ("api_error" if problem.status >= 500 else "invalid_request_error")
    message = f"{problem.message} ({problem.hint})" if problem.hint else problem.message
    error = {"type": kind, "message": message}
    return {"type": "error", "error": error, "request_id": problem.request_id or None}


def messages_problem(problem: WebProblem) -> tuple[str, bytes]:
    return "application/json", json.dumps(messages_error(problem), ensure_ascii=False).encode()
