"""Rules that no type can say: what each provider refuses in a payload that is well-formed."""

# ruff: noqa: C901, PLR0912  # a list of rules is as long as the rules are many

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, cast

Payload: TypeAlias = Mapping[str, Any]
_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")


def problems(wire: str, payload: Payload) -> list[str]:
    rules = {
        "openai-chat": _chat,
        "openai-responses": _responses,
        "anthropic": _anthropic,
        "gemini": _gemini,
    }
    return list(rules[wire](payload))


def _name(name: str) -> Iterator[str]:
    if not _NAME.fullmatch(name):
        yield f"tool name {name!r}"


def _sorted(names: list[str]) -> Iterator[str]:
    if len(set(names)) < len(names):
        yield "two tools of one name"
    for name in names:
        yield from _name(name)


def _tool_settings(payload: Payload) -> Iterator[str]:
    settings = {"tool_choice", "toolConfig", "parallel_tool_calls"} & set(payload)
    if payload.get("tools") == [] or (settings and "tools" not in payload):
        yield "tool settings without tools"


def _strict(schema: Payload) -> Iterator[str]:
    """OpenAI's rules: every object closed, everything required."""
    for node in _objects(schema):
        if not isinstance(node.get("properties"), dict):
            continue
        if node.get("additionalProperties") is not False:
            yield "an open object in a strict schema"
        if sorted(node["required"]) != sorted(node["properties"]):
            yield "an optional property in a strict schema"


def _chat(payload: Payload) -> Iterator[str]:
    messages = payload["messages"]
    if not messages:
        yield "no messages"
    waiting: list[str] = []
    seen: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                yield "a result without its call"
            else:
                waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            yield "a call without its result"
        calls: list[Any] | None = message.get("tool_calls")
        if calls == []:
            yield "empty tool_calls"
        waiting = [call["id"] for call in calls or []]
        for call in calls or []:
            if not _ID.fullmatch(call["id"]) or call["id"] in seen:
                yield f"call id {call['id']!r}"
            seen.add(call["id"])
            yield from _name(call["function"]["name"])
            if not isinstance(json.loads(call["function"]["arguments"]), dict):
                yield "arguments are no object"
        if message["content"] in ("", []) or (message["content"] is None and not calls):
            yield "empty content"
    if waiting:
        yield "a call without its result"
    yield from _sorted([tool["function"]["name"] for tool in payload.get("tools", [])])
    yield from _tool_settings(payload)
    for tool in payload.get("tools", []):
        if tool["function"].get("strict"):
            yield from _strict(tool["function"]["parameters"])
    if _marks(messages, "prompt_cache_breakpoint") > 3:
        yield "more than 3 cache marks"


def _responses(payload: Payload) -> Iterator[str]:
    items = payload["input"]
    if not items:
        yield "no input"
    calls: dict[str, int] = {}
    for number, item in enumerate(items):
        following: Payload = items[number + 1] if number + 1 < len(items) else {}
        match item.get("type"):
            case "reasoning":
                if following.get("type") not in ("message", "function_call", "reasoning"):
                    yield "reasoning without its item"
                if following.get("role") in ("user", "system", "developer"):
                    yield "reasoning without its item"
                if "summary" not in item or not item.get("encrypted_content"):
                    yield "reasoning that cannot be read back"
            case "function_call":
                if not _ID.fullmatch(item["call_id"]) or item["call_id"] in calls:
                    yield f"call id {item['call_id']!r}"
                calls[item["call_id"]] = 0
                yield from _name(item["name"])
            case "function_call_output":
                if item["call_id"] not in calls:
                    yield "a result without its call"
                calls[item["call_id"]] = calls.get(item["call_id"], 0) + 1
            case _:
                if item["content"] in ("", []):
                    yield "empty content"
    if any(count != 1 for count in calls.values()):
        yield "a call without exactly one result"
    yield from _tool_settings(payload)
    for tool in payload.get("tools", []):
        if "strict" not in tool:
            yield "strict is not said"
        elif tool["strict"]:
            yield from _strict(tool["parameters"])
    yield from _sorted([tool["name"] for tool in payload.get("tools", [])])
    if payload["max_output_tokens"] < 16:
        yield "max_output_tokens below 16"
    if "stop" in payload:
        yield "stop is unknown here"


def _anthropic(payload: Payload) -> Iterator[str]:
    for name in ("temperature", "top_p", "top_k"):
        if name in payload:
            yield f"{name} is gone"
    messages = payload["messages"]
    if not messages:
        yield "no messages"
    waiting: list[str] = []
    for number, message in enumerate(messages):
        blocks = message["content"]
        yield from _anthropic_place(messages, number)
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if waiting and sorted(results) != sorted(waiting):
            yield "calls and results do not match"
        if not waiting and results:
            yield "a result without its call"
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if len(set(waiting)) < len(waiting):
            yield "one id twice in one turn"
        if not blocks:
            yield "empty content"
        for block in blocks:
            yield from _anthropic_block(block, message["role"])
    if waiting:
        yield "calls and results do not match"
    yield from _anthropic_marks(payload)
    yield from _tool_settings(payload)
    strict = [tool["input_schema"] for tool in payload.get("tools", []) if tool.get("strict")]
    if len(strict) > 20:
        yield "more than 20 strict tools"
    for schema in strict:
        if any("properties" in one and one.get("additionalProperties") for one in _objects(schema)):
            yield "an open object in a strict schema"
    yield from _sorted([tool["name"] for tool in payload.get("tools", [])])
    for tool in payload.get("tools", []):
        schema = tool["input_schema"]
        if schema.get("type") != "object" or {"anyOf", "oneOf", "allOf"} & set(schema):
            yield "a root that is no plain object"


def _anthropic_place(messages: list[Payload], number: int) -> Iterator[str]:
    role = messages[number]["role"]
    if role == "system":
        before = messages[number - 1]["role"] if number else ""
        after = messages[number + 1]["role"] if number + 1 < len(messages) else "assistant"
        if before != "user" or after != "assistant":
            yield "a system message in the wrong place"
    if role == "assistant" and number == len(messages) - 1:
        yield "prefill"


def _anthropic_block(block: Payload, role: str) -> Iterator[str]:
    match block["type"]:
        case "text":
            if not block["text"].strip():
                yield "empty text"
        case "tool_use":
            if not _ID.fullmatch(block["id"]) or not isinstance(block["input"], dict):
                yield "a call that is none"
            yield from _name(block["name"])
        case "thinking":
            if not block["signature"]:
                yield "thinking without a signature"
            if "cache_control" in block:
                yield "a mark on thinking"
        case "document":
            if role == "assistant":
                yield "a document of the assistant"
        case _:
            pass


def _anthropic_marks(payload: Payload) -> Iterator[str]:
    order = [payload.get("tools", []), payload.get("system", []), payload["messages"]]
    ttls = [ttl for part in order for ttl in _ttls(part)]
    if len(ttls) > 4:
        yield "more than 4 cache marks"
    if ttls != sorted(ttls, key=["1h", "5m"].index):
        yield "5m before 1h"


def _ttls(value: object) -> Iterator[str]:
    for members in _objects(value):
        if "cache_control" in members:
            yield members["cache_control"].get("ttl", "5m")


def _marks(value: object, name: str) -> int:
    return sum(name in members for members in _objects(value))


def _objects(value: object) -> Iterator[Payload]:
    """Every object in it, in its order."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        yield members
        for part in members.values():
            yield from _objects(part)
    elif isinstance(value, list):
        for part in cast("list[object]", value):
            yield from _objects(part)


def _gemini(payload: Payload) -> Iterator[str]:
    contents = payload["contents"]
    if not contents:
        yield "no contents"
    if contents and contents[-1]["role"] == "model":
        yield "the last turn is the model's"
    merged: list[tuple[str, list[Payload]]] = []
    for content in contents:
        if not content["parts"]:
            yield "no parts"
        if merged and merged[-1][0] == content["role"]:
            merged[-1][1].extend(content["parts"])
        else:
            merged.append((content["role"], list(content["parts"])))
    waiting: list[Payload] = []
    for _, parts in merged:
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        if [a["name"] for a in answers] != [c["name"] for c in waiting]:
            yield "calls and results do not match"
        if [a.get("id") for a in answers] != [c.get("id") for c in waiting]:
            yield "ids of calls and results do not match"
        if any(not isinstance(answer["response"], dict) for answer in answers):
            yield "a response that is no object"
        calls = [part for part in parts if "functionCall" in part]
        if calls and "thoughtSignature" not in calls[0]:
            yield "an unsigned call"
        waiting = [call["functionCall"] for call in calls]
    if waiting:
        yield "calls and results do not match"
    yield from _tool_settings(payload)
    declared = [d for tool in payload.get("tools", []) for d in tool["functionDeclarations"]]
    yield from _sorted([tool["name"] for tool in declared])
    for tool in declared:
        if not tool["description"] or "parameters" in tool:
            yield "a declaration without description, or in the old form"
    if "cachedContent" in payload and {"systemInstruction", "tools", "toolConfig"} & set(payload):
        yield "cachedContent beside what it holds"
