"""Answers in Ollama's own format, told as events of Chat Completions: one reader reads both.

One object a line while it streams, or one object: docs.ollama.com/api/chat and /api/generate.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from mentis.values.json import JsonObject, json_object

_ENDS = {"length": "length", "stop": "stop"}


def chat_events(lines: Iterable[str]) -> Iterator[str]:
    """What is no such object is handed on as it is: the reader says what is wrong with it."""
    called = 0
    for line in lines:
        found = _object(line)
        if found is None or "error" in found:
            yield line
            continue
        delta, calls = _delta(found, called)
        called += calls
        yield _dump(_event(found, delta, called=bool(called)))


def _event(found: JsonObject, delta: JsonObject, *, called: bool) -> JsonObject:
    choice: dict[str, object] = {"delta": delta}
    event: dict[str, object] = {"model": found.get("model"), "choices": [choice]}
    if found.get("done") is True:
        reason = str(found.get("done_reason") or "stop")
        choice["finish_reason"] = "tool_calls" if called else _ENDS.get(reason, reason)
        counts = {"prompt_tokens": "prompt_eval_count", "completion_tokens": "eval_count"}
        usage = {name: found[key] for name, key in counts.items() if key in found}
        event |= {"usage": usage} if usage else {}
    return event


def _delta(found: JsonObject, called: int) -> tuple[JsonObject, int]:
    """What one object says, and how many tools it calls: `called` were before it."""
    message = json_object(found.get("message"))
    told = {"content": message.get("content", found.get("response"))}
    if thought := message.get("thinking", found.get("thinking")):
        told["reasoning"] = thought
    listed = message.get("tool_calls")
    calls = cast("list[object]", listed) if isinstance(listed, list) else []
    if calls:
        told["tool_calls"] = [_call(one, called + place) for place, one in enumerate(calls)]
    return told, len(calls)


def _call(value: object, number: int) -> JsonObject:
    """Arguments are an object here; an id there may be, or none."""
    call = json_object(value)
    function = json_object(call.get("function"))
    given = function.get("arguments")
    text = _dump(cast("JsonObject", given)) if isinstance(given, Mapping) else given
    return {
        "index": number,
        "id": call.get("id") or f"call_{number}",
        "function": {"name": function.get("name"), "arguments": text},
    }


def _object(line: str) -> JsonObject | None:
    try:
        found: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("JsonObject", found) if isinstance(found, Mapping) else None


def _dump(value: JsonObject) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
