"""`POST /v1/responses`: requests read, answers written, whole and as events."""

from __future__ import annotations

import json
from collections.abc import Iterator
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
from .openai_chat import image_or_file, openai_error, output_schema, tool_choice
from .requests import AnswerHead, ClientRequest, ServedAnswer

_FREEFORM: JsonObject = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
}
# Items of an earlier answer that are of no use to another model, or tell of tools of a provider.
_PASSED_OVER = ("reasoning", "item_reference", "web_search_call", "file_search_call")


# Requests


def read_responses(body: JsonObject) -> ClientRequest:
    given = body.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    told, turns = _items(as_list(items, "input"))
    tools, custom = _tools(body.get("tools") or [])
    own = words(body.get("instructions"), "instructions")
    reasoning = maybe_object(body.get("reasoning"))
    return ClientRequest(
        model=text_in(body, "model"),
        turns=turns,
        instructions="\n\n".join(filter(None, (own, told))),
        tools=tools,
        custom=custom,
        options=options_of(
            {
                "temperature": body.get("temperature"),
                "top_p": body.get("top_p"),
                "max_tokens": body.get("max_output_tokens"),
                "reasoning_effort": reasoning.get("effort"),
                "reasoning_summary": reasoning.get("summary"),
                "parallel_calls": body.get("parallel_tool_calls") if tools else None,
                "tool_choice": tool_choice(body.get("tool_choice")) if tools else None,
            }
        ),
        output=output_schema(maybe_object(body.get("text")).get("format")),
        stream=body.get("stream") is True,
        session=_conversation(body.get("conversation")),
        previous=str(body.get("previous_response_id") or ""),
    )


def _conversation(found: object) -> str:
    name = found if isinstance(found, str) else maybe_object(found).get("id")
    return str(name or "").lower()


def _items(found: list[object]) -> tuple[str, tuple[Turn, ...]]:
    told: list[str] = []
    turns: list[Turn] = []
    for number, one in enumerate(found):
        where = f"input[{number}]"
        item = as_object(one, where)
        kind = item.get("type") or "message"
        match kind:
            case "message" if item.get("role") in ("system", "developer"):
                told.append(words(item.get("content"), where))
            case "message":
                role = "assistant" if item.get("role") == "assistant" else "user"
                turns.append(Turn(role, _parts(item.get("content"), where)))
            case "function_call" | "custom_tool_call":
                turns.append(Turn("assistant", (_call(item, where),)))
            case "function_call_output" | "custom_tool_call_output":
                turns.append(Turn("user", _output(item, where)))
            case _ if kind in _PASSED_OVER:
                pass
            case _:
                raise BadInput(
                    f"{where}: items of type {kind!r} are not taken", hint="leave it out"
                )
    return "\n\n".join(text for text in told if text), merge_turns(turns)


def _call(item: JsonObject, where: str) -> Part:
    name, space = text_in(item, "name", f"{where}."), item.get("namespace")
    given = item.get("arguments") if item.get("type") == "function_call" else None
    given = {"input": item.get("input")} if given is None else given
    return call_part(_call_id(item), f"{space}/{name}" if space else name, given)


def _output(item: JsonObject, where: str) -> tuple[Part, ...]:
    return (result_part(_call_id(item), result_words(item.get("output"), where)),)


def _call_id(item: JsonObject) -> str:
    return str(item.get("call_id") or item.get("id") or "")


def _parts(content: object, where: str) -> tuple[Part, ...]:
    if not isinstance(content, list):
        return text_part(words(content, where))
    parts: list[Part] = []
    for one in cast("list[object]", content):
        part = as_object(one, where)
        match part.get("type"):
            case "input_text" | "output_text" | "text":
                parts += text_part(text_in(part, "text", f"{where}."))
            case "refusal":
                parts += text_part(text_in(part, "refusal", f"{where}."))
            case "input_image":
                parts.append(image_of(as_text(part.get("image_url"), f"{where}.image_url"), where))
            case "input_file":
                parts.append(image_or_file(text_in(part, "file_data", f"{where}."), where))
            case "input_audio":
                audio = as_object(part.get("input_audio"), where)
                parts.append(media_of(text_in(audio, "data", f"{where}."), "audio/wav", where))
            case other:
                raise BadInput(f"{where}: parts of type {other!r} are not taken", hint="use text")
    return tuple(parts)


def _tools(found: object) -> tuple[tuple[ToolDeclaration, ...], frozenset[str]]:
    """Functions and tools that take one text; what a provider executes itself is not ours."""
    tools: list[ToolDeclaration] = []
    custom: set[str] = set()
    for tool, space in _each(as_list(found, "tools")):
        name = f"{space}/{tool.get('name')}" if space else str(tool.get("name") or "")
        if tool.get("type") == "function":
            tools.append(declaration(name, tool.get("description"), tool.get("parameters")))
        elif tool.get("type") == "custom":
            custom.add(name)
            tools.append(declaration(name, tool.get("description"), _FREEFORM))
    return tuple(tools), frozenset(custom)


def _each(found: list[object], space: str = "") -> Iterator[tuple[JsonObject, str]]:
    for one in found:
        tool = as_object(one, "tools")
        if tool.get("type") == "namespace":
            inner = as_list(tool.get("tools") or [], "tools")
            yield from _each(inner, str(tool.get("name") or ""))
        else:
            yield tool, space


# Answers


def write_responses(answer: ServedAnswer, request: ClientRequest) -> JsonObject:
    items = [*_output_items(answer, request)]
    return _response(answer.head, request, _status(answer), items, answer=answer)


class ResponseEvents:
    """Writes one answer as events, each with its number."""

    def __init__(self, head: AnswerHead, request: ClientRequest) -> None:
        self._head = head
        self._request = request
        self._number = -1
        self._items: list[JsonObject] = []
        self._open = ""  # the kind of item that is being written
        self._said = ""

    def begin(self) -> bytes:
        begun = _response(self._head, self._request, "in_progress", [])
        created = self._event("response.created", {"response": begun})
        return created + self._event("response.in_progress", {"response": begun})

    def reasoning(self, text: str) -> bytes:
        written = self._turn_to("reasoning")
        self._said += text
        facts = {**self._place(), "summary_index": 0, "delta": text}
        return written + self._event("response.reasoning_summary_text.delta", facts)

    def text(self, text: str) -> bytes:
        written = self._turn_to("message")
        self._said += text
        facts = {**self._place(), "content_index": 0, "delta": text, "logprobs": list[object]()}
        return written + self._event("response.output_text.delta", facts)

    def end(self, answer: ServedAnswer) -> bytes:
        written = self._turn_to("")
        for call in answer.calls:
            written += self._call(call)
        status = _status(answer)
        done = _response(self._head, self._request, status, self._items, answer=answer)
        return written + self._event(f"response.{status}", {"response": done})

    def fail(self, problem: WebProblem) -> bytes:
        failed = _response(self._head, self._request, "failed", self._items)
        told = cast("JsonObject", openai_error(problem)["error"])
        failed = {**failed, "error": {"code": told["code"], "message": told["message"]}}
        return self._event("response.failed", {"response": failed})

    def _turn_to(self, kind: str) -> bytes:
        """Close what is open, and open an item of that kind; "" opens none."""
        if self._open == kind:
            return b""
        written = self._close() if self._open else b""
        self._open = kind
        if not kind:
            return written
        self._said = ""
        item = (
            _reasoning_item(self._item_id, "") if kind == "reasoning" else _message(self._item_id)
        )
        item = {**item, "status": "in_progress"}
        index = {"output_index": len(self._items)}
        written += self._event("response.output_item.added", {**index, "item": item})
        if kind == "reasoning":
            part = {**self._place(), "summary_index": 0, "part": _summary("")}
            return written + self._event("response.reasoning_summary_part.added", part)
        part = {**self._place(), "content_index": 0, "part": _text("")}
        return written + self._event("response.content_part.added", part)

    def _close(self) -> bytes:
        place, said = self._place(), self._said
        if self._open == "reasoning":
            item, inner = _reasoning_item(self._item_id, said), {**place, "summary_index": 0}
            names = ("response.reasoning_summary_text.done", "response.reasoning_summary_part.done")
            part: JsonObject = _summary(said)
            extra: JsonObject = {}
        else:
            item, inner = _message(self._item_id, said), {**place, "content_index": 0}
            names = ("response.output_text.done", "response.content_part.done")
            part, extra = _text(said), {"logprobs": list[object]()}
        written = self._event(names[0], {**inner, "text": said, **extra})
        written += self._event(names[1], {**inner, "part": part})
        index = {"output_index": len(self._items)}
        written += self._event("response.output_item.done", {**index, "item": item})
        self._items.append(item)
        return written

    def _call(self, call: Action) -> bytes:
        item = _call_item(call, self._request, self._item_id)
        index = {"output_index": len(self._items)}
        custom = item["type"] == "custom_tool_call"
        name, field = (
            ("custom_tool_call_input", "input")
            if custom
            else ("function_call_arguments", "arguments")
        )
        begun = {**item, field: "", "status": "in_progress"}
        written = self._event("response.output_item.added", {**index, "item": begun})
        place = self._place()
        written += self._event(f"response.{name}.delta", {**place, "delta": item[field]})
        done = {**place, field: item[field], **({} if custom else {"name": item["name"]})}
        written += self._event(f"response.{name}.done", done)
        written += self._event("response.output_item.done", {**index, "item": item})
        self._items.append(item)
        return written

    @property
    def _item_id(self) -> str:
        return f"item_{len(self._items)}_{self._head.id[-12:]}"

    def _place(self) -> dict[str, object]:
        return {"item_id": self._item_id, "output_index": len(self._items)}

    def _event(self, kind: str, facts: JsonObject) -> bytes:
        self._number += 1
        return sse({"type": kind, "sequence_number": self._number, **facts}, kind)


def _status(answer: ServedAnswer) -> str:
    return "incomplete" if answer.finish in ("length", "filter") else "completed"


def _output_items(answer: ServedAnswer, request: ClientRequest) -> Iterator[JsonObject]:
    end, number = answer.head.id[-12:], 0
    if answer.reasoning and request.reasoning_wanted:
        yield _reasoning_item(f"item_{number}_{end}", answer.reasoning)
        number += 1
    if answer.text:
        yield _message(f"item_{number}_{end}", answer.text)
        number += 1
    for place, call in enumerate(answer.calls, number):
        yield _call_item(call, request, f"item_{place}_{end}")


def _response(
    head: AnswerHead,
    request: ClientRequest,
    status: str,
    items: list[JsonObject],
    *,
    answer: ServedAnswer | None = None,
) -> JsonObject:
    reason = "content_filter" if answer and answer.finish == "filter" else "max_output_tokens"
    return {
        "id": head.id,
        "object": "response",
        "created_at": head.created,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": {"reason": reason} if status == "incomplete" else None,
        "instructions": None,  # the client has them
        "max_output_tokens": request.options.max_tokens,
        "metadata": {},
        "model": head.model,
        "output": [*items],
        "parallel_tool_calls": request.options.parallel_calls is not False,
        "previous_response_id": request.previous or None,
        "reasoning": {"effort": request.options.reasoning_effort, "summary": None},
        "store": True,
        "temperature": request.options.temperature,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": request.options.top_p,
        "truncation": "disabled",
        "usage": None if answer is None else _usage(answer.usage),
    }


def _message(item_id: str, text: str | None = None) -> JsonObject:
    content = [] if text is None else [_text(text)]
    return {
        "id": item_id,
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": content,
    }


def _text(text: str) -> JsonObject:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _summary(text: str) -> JsonObject:
    return {"type": "summary_text", "text": text}


def _reasoning_item(item_id: str, text: str) -> JsonObject:
    summary = [_summary(text)] if text else []
    return {"id": item_id, "type": "reasoning", "summary": summary, "status": "completed"}


def _call_item(call: Action, request: ClientRequest, item_id: str) -> JsonObject:
    space, _, plain = call.type.rpartition("/")
    named = {"namespace": space, "name": plain} if space else {"name": call.type}
    head = {"id": item_id, "call_id": call.call_id, **named, "status": "completed"}
    if call.type in request.custom:
        return {"type": "custom_tool_call", **head, "input": str(call.payload.get("input", ""))}
    arguments = json.dumps(dict(call.payload), ensure_ascii=False)
    return {"type": "function_call", **head, "arguments": arguments}


def _usage(usage: Usage) -> JsonObject:
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
        },
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    }
