"""Tools in a foreign call: which the model asked for, and what came back, with a verdict on it.

A note changes nothing: the call went by long ago. It says what a screener would have said.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from mentis.errors import MentisError
from mentis.facts.ability import Wire
from mentis.ports.screener import Screener
from mentis.values.json import JsonObject, json_object

from .prompts import items_at

_MOST = 64  # results of one call that are looked at


@dataclass(frozen=True, slots=True)
class ForeignResult:
    pointer: str
    tool: str
    text: str


def screen_results(
    screener: Screener, payload: JsonObject, wire: Wire, *, since: int
) -> list[JsonObject]:
    """A note on each result in the messages from number `since` on."""
    found = list(results_in(payload, wire, since=since))[-_MOST:]
    return [_note(screener, one) for one in found if one.text]


def _note(screener: Screener, result: ForeignResult) -> JsonObject:
    try:
        said = screener.screen(result.text, source=f"tool {result.tool}")
        verdict, category = said.outcome, said.category
    except MentisError as error:
        verdict, category = "unknown", error.code
    return {
        "pointer": result.pointer,
        "tool": result.tool,
        "screening": verdict,
        **({"category": category} if category else {}),
    }


def results_in(payload: JsonObject, wire: Wire, *, since: int = 0) -> Iterator[ForeignResult]:
    match wire:
        case "openai-chat" | "ollama":
            yield from _chat(payload, since)
        case "openai-responses":
            yield from _responses(payload, since)
        case "anthropic":
            yield from _anthropic(payload, since)
        case "gemini":
            yield from _gemini(payload, since)
        case _:
            return


def _chat(payload: JsonObject, since: int) -> Iterator[ForeignResult]:
    names: dict[object, str] = {}
    for number, message in _objects(payload, "messages"):
        for call in _inside(message, "tool_calls"):
            names[call.get("id")] = str(json_object(call.get("function")).get("name", ""))
        if number >= since and message.get("role") == "tool":
            told = message.get("tool_name") or ""  # Ollama's calls need no ids
            name = names.get(message.get("tool_call_id"), "") or str(told)
            yield ForeignResult(f"/messages/{number}", name, _text(message.get("content")))


def _responses(payload: JsonObject, since: int) -> Iterator[ForeignResult]:
    names: dict[object, str] = {}
    for number, item in _objects(payload, "input"):
        kind = str(item.get("type", ""))
        if kind.endswith("_call"):
            names[item.get("call_id")] = str(item.get("name") or kind)
        if number >= since and kind.endswith("_call_output"):
            name = names.get(item.get("call_id"), "")
            yield ForeignResult(f"/input/{number}", name, _text(item.get("output")))


def _anthropic(payload: JsonObject, since: int) -> Iterator[ForeignResult]:
    names: dict[object, str] = {}
    for number, message in _objects(payload, "messages"):
        for place, block in enumerate(_inside(message, "content")):
            if block.get("type") == "tool_use":
                names[block.get("id")] = str(block.get("name", ""))
            if number >= since and block.get("type") == "tool_result":
                pointer = f"/messages/{number}/content/{place}"
                name = names.get(block.get("tool_use_id"), "")
                yield ForeignResult(pointer, name, _text(block.get("content")))


def _gemini(payload: JsonObject, since: int) -> Iterator[ForeignResult]:
    for number, content in _objects(payload, "contents"):
        for place, part in enumerate(_inside(content, "parts")):
            result = json_object(part.get("functionResponse") or part.get("function_response"))
            if number >= since and result:
                pointer = f"/contents/{number}/parts/{place}"
                yield ForeignResult(
                    pointer, str(result.get("name", "")), _text(result.get("response"))
                )


def _objects(payload: JsonObject, name: str) -> Iterator[tuple[int, JsonObject]]:
    for number, item in enumerate(items_at(payload, name)):
        yield number, json_object(item)


def _inside(holder: JsonObject, name: str) -> list[JsonObject]:
    found = items_at(holder, name)
    return [json_object(one) for one in found]


def _text(value: object) -> str:
    """The words of a result; what is no text is looked at as it is written."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        parts = cast("list[object]", value)
        texts = [json_object(part).get("text") for part in parts]
        return "\n".join(one for one in texts if isinstance(one, str))
    return "" if value is None else json.dumps(value, ensure_ascii=False)
