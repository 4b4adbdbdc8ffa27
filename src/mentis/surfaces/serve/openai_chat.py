"""`POST /v1/chat/completions`: requests read, answers written, whole and in pieces."""

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
    as_text,
    call_part,
    declaration,
    image_of,
    maybe_object,
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

FINISH: Mapping[Finish, str] = {
    "stop": "stop",
    "length": "length",
    "calls": "tool_calls",
    "filter": "content_filter",
}
_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "invalid_request_error",
    408: "invalid_request_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
}


# Requests


def read_chat(body: JsonObject) -> ClientRequest:
    instructions, turns = _messages(as_list(body.get("messages"), "messages"))
    tools = tuple(_tools(body.get("tools") or []))
    return ClientRequest(
        model=text_in(body, "model"),
        turns=turns,
        instructions=instructions,
        tools=tools,
        options=options_of(
            {
                "temperature": body.get("temperature"),
                "top_p": body.get("top_p"),
                "frequency_penalty": body.get("frequency_penalty"),
                "presence_penalty": body.get("presence_penalty"),
                "seed": body.get("seed"),
                "stop": _stops(body.get("stop")),
                "max_tokens": body.get("max_completion_tokens") or body.get("max_tokens"),
                "reasoning_effort": body.get("reasoning_effort"),
                "parallel_calls": body.get("parallel_tool_calls") if tools else None,
                "tool_choice": tool_choice(body.get("tool_choice")) if tools else None,
            }
        ),
        output=output_schema(body.get("response_format")),
        stream=body.get("stream") is True,
        usage_wanted=maybe_object(body.get("stream_options")).get("include_usage") is True,
    )


def _messages(found: list[object]) -> tuple[str, tuple[Turn, ...]]:
    told: list[str] = []
    turns: list[Turn] = []
    for number, one in enumerate(found):
        where = f"messages[{number}]"
        message = as_object(one, where)
        role, content = text_in(message, "role", f"{where}."), message.get("content")
        match role:
            case "system" | "developer":
                told.append(words(content, where))
            case "user":
                turns.append(Turn("user", _user_parts(content, where)))
            case "assistant":
                calls = _calls(message.get("tool_calls") or [], where)
                turns.append(Turn("assistant", (*text_part(words(content, where)), *calls)))
            case "tool" | "function":
                call = str(message.get("tool_call_id") or message.get("name") or "")
                turns.append(Turn("user", (result_part(call, result_words(content, where)),)))
            case _:
                raise BadInput(f"{where}: there is no role {role!r}", hint="user, assistant, ...")
    return "\n\n".join(text for text in told if text), merge_turns(turns)


def _user_parts(content: object, where: str) -> tuple[Part, ...]:
    if not isinstance(content, list):
        return text_part(words(content, where))
    parts: list[Part] = []
    for one in cast("list[object]", content):
        part = as_object(one, where)
        match part.get("type"):
            case "text":
                parts += text_part(text_in(part, "text", f"{where}."))
            case "image_url":
                image = part.get("image_url")
                address = image if isinstance(image, str) else maybe_object(image).get("url")
                parts.append(image_of(as_text(address, f"{where}.image_url"), where))
            case "input_audio":
                audio = as_object(part.get("input_audio"), where)
                mime = f"audio/{audio.get('format') or 'wav'}"
                parts.append(media_of(text_in(audio, "data", f"{where}."), mime, where))
            case "file":
                file = as_object(part.get("file"), where)
                parts.append(image_or_file(text_in(file, "file_data", f"{where}."), where))
            case other:
                raise BadInput(f"{where}: parts of type {other!r} are not taken", hint="use text")
    return tuple(parts)


def image_or_file(data: str, where: str) -> Part:
    """A data address, or plain base64."""
    return image_of(data, where) if data.startswith("data:") else media_of(data, "", where)


def _calls(found: object, where: str) -> list[Part]:
    calls: list[Part] = []
    for one in as_list(found, f"{where}.tool_calls"):
        call = as_object(one, where)
        function = as_object(call.get("function") or call.get("custom"), where)
        given = function.get("arguments", function.get("input"))
        name = text_in(function, "name", f"{where}.")
        calls.append(call_part(str(call.get("id") or ""), name, given))
    return calls


def _tools(found: object) -> list[ToolDeclaration]:
    tools: list[ToolDeclaration] = []
    for number, one in enumerate(as_list(found, "tools")):
        tool = as_object(one, f"tools[{number}]")
        if tool.get("type", "function") == "function":  # others are of the provider, and not ours
            told = as_object(tool.get("function"), f"tools[{number}].function")
            name = text_in(told, "name", f"tools[{number}].")
            tools.append(declaration(name, told.get("description"), told.get("parameters")))
    return tools


def _stops(found: object) -> list[str] | None:
    if isinstance(found, str):
        return [found]
    return [str(one) for one in as_list(found, "stop")] if found else None


def tool_choice(found: object) -> str:
    """`auto`, `none`, `required` or the name of a tool; nothing where nothing was chosen."""
    if isinstance(found, str):
        return "required" if found == "any" else found
    chosen = maybe_object(found)
    return str(maybe_object(chosen.get("function")).get("name") or chosen.get("name") or "")


def output_schema(found: object) -> JsonObject | None:
    """The JSON Schema that an answer is to be held to, if one was given."""
    form = maybe_object(found)
    if form.get("type") != "json_schema":
        return None
    inner = as_object(form.get("json_schema") or form, "response_format.json_schema")
    return as_object(inner.get("schema"), "response_format.json_schema.schema")


# Answers


def write_chat(answer: ServedAnswer) -> JsonObject:
    message: dict[str, object] = {"role": "assistant", "content": answer.text or None}
    if answer.text or not answer.calls:
        message["content"] = answer.text
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.calls:
        message["tool_calls"] = [_written(call) for call in answer.calls]
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": FINISH[answer.finish],
    }
    return {
        **_head(answer.head, "chat.completion"),
        "choices": [choice],
        "usage": chat_usage(answer.usage),
    }


class ChatPieces:
    """Writes one answer as chunks."""

    def __init__(self, head: AnswerHead, request: ClientRequest) -> None:
        self._head = head
        self._usage_wanted = request.usage_wanted

    def begin(self) -> bytes:
        return self._chunk({"role": "assistant", "content": ""})

    def reasoning(self, text: str) -> bytes:
        return self._chunk({"reasoning_content": text})

    def text(self, text: str) -> bytes:
        return self._chunk({"content": text})

    def end(self, answer: ServedAnswer) -> bytes:
        written = b""
        if answer.calls:
            calls = [{"index": n, **_written(call)} for n, call in enumerate(answer.calls)]
            written += self._chunk({"tool_calls": calls})
        written += self._chunk({}, FINISH[answer.finish])
        if self._usage_wanted:
            usage = chat_usage(answer.usage)
            written += sse({**self._chunk_head(), "choices": [], "usage": usage})
        return written + sse("[DONE]")

    def fail(self, problem: WebProblem) -> bytes:
        return sse(openai_error(problem)) + sse("[DONE]")

    def _chunk(self, delta: JsonObject, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        usage = {"usage": None} if self._usage_wanted else {}
        return sse({**self._chunk_head(), "choices": [choice], **usage})

    def _chunk_head(self) -> dict[str, object]:
        return _head(self._head, "chat.completion.chunk")


def _head(head: AnswerHead, kind: str) -> dict[str, object]:
    named = {"id": f"chatcmpl-{head.id}", "object": kind, "created": head.created}
    return {**named, "model": head.model}


def _written(call: Action) -> dict[str, object]:
    arguments = json.dumps(dict(call.payload), ensure_ascii=False)
    return {
        "id": call.call_id,
        "type": "function",
        "function": {"name": call.type, "arguments": arguments},
    }


def chat_usage(usage: Usage) -> JsonObject:
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
        },
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


# Errors


def openai_error(problem: WebProblem) -> dict[str, object]:
    """The form of every error on OpenAI's paths."""
    kind = _TYPES.get(problem.status, "server_error" if problem.status >= 500 else "")
    message = f"{problem.message} ({problem.hint})" if problem.hint else problem.message
    return {
        "error": {
            "message": message,
            "type": kind or "invalid_request_error",
            "param": problem.facts.get("param"),
            "code": _code(problem),
        }
    }


def _code(problem: WebProblem) -> str:
    if problem.status == 401:
        return "invalid_api_key"
    return str(problem.facts.get("openai_code") or problem.code)


def openai_problem(problem: WebProblem) -> tuple[str, bytes]:
    return "application/json", json.dumps(openai_error(problem), ensure_ascii=False).encode()
