"""Arguments that nobody could read: kept as they were said, and told again where that is taken."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mentis.codec.forms import from_json, to_json, to_object
from mentis.render.wires import render_for
from mentis.settle.readers import read_all, reader_for
from mentis.values.part import Part, ToolCallPart, ToolResultPart
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.trust import Trust
from mentis.values.turn import Turn

from .conftest import LOOK_UP, NATIVE, ROUTES, WORDS
from .rules import problems

RAW = '{"word": "a", '
FOUND = ToolCallPart("c1", "look_up", {}, raw=RAW)


def request(*parts: Part) -> PromptRequest:
    results = [ToolResultPart(p.id, p.name, "?") for p in parts if isinstance(p, ToolCallPart)]
    history = (Turn("assistant", parts, Trust.SELF), Turn("user", (*results,)))
    return PromptRequest(tool_declarations=(LOOK_UP,), conversation_history=history, words=WORDS)


def test_a_call_whose_arguments_cannot_be_read_is_kept_as_it_was_said() -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "look_up", "arguments": RAW}}
    events = [{"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}]
    reply = read_all(reader_for("openai-chat", tools=[LOOK_UP]), map(json.dumps, events))
    assert (reply.actions, reply.parts) == ((), (FOUND,))
    assert [error.code for error in reply.errors] == ["bad-arguments"]


def test_a_call_that_broke_off_or_has_no_name_is_not_kept() -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "look_up", "arguments": RAW}}
    cut = [{"choices": [{"delta": {"tool_calls": [call]}}]}]
    nameless = {"index": 0, "function": {"name": "", "arguments": RAW}}
    whole = [{"choices": [{"delta": {"tool_calls": [nameless]}, "finish_reason": "tool_calls"}]}]
    for events in (cut, whole):
        reply = read_all(reader_for("openai-chat", tools=[LOOK_UP]), map(json.dumps, events))
        assert (reply.actions, reply.parts) == ((), ())


def sent_arguments(wire: str, payload: dict[str, Any]) -> object:
    match wire:
        case "openai-chat":
            calls = [m for m in payload["messages"] if "tool_calls" in m]
            return calls[0]["tool_calls"][0]["function"]["arguments"]
        case "openai-responses":
            return next(i for i in payload["input"] if i["type"] == "function_call")["arguments"]
        case "anthropic":
            blocks = [b for m in payload["messages"] for b in m["content"]]
            return next(b for b in blocks if b["type"] == "tool_use")["input"]
        case _:
            parts = [p for c in payload["contents"] for p in c["parts"]]
            return next(p for p in parts if "functionCall" in p)["functionCall"]["args"]


@pytest.mark.parametrize("wire", NATIVE)
def test_it_goes_back_as_text_where_arguments_are_one_and_else_with_a_loss(wire: str) -> None:
    rendering = render_for(wire, request(FOUND), ROUTES[wire])
    payload = json.loads(rendering.body())
    text = wire.startswith("openai")
    assert sent_arguments(wire, payload) == (RAW if text else {})
    assert ("raw-arguments" in [loss.code for loss in rendering.losses]) is not text
    if not text:
        assert problems(wire, payload) == []


def test_a_server_that_reads_arguments_again_gets_none_it_cannot_read() -> None:
    route = Route("r", "openai", "some-model")
    rendering = render_for("openai-chat", request(FOUND), route)
    assert sent_arguments("openai-chat", json.loads(rendering.body())) == "{}"
    assert "raw-arguments" in [loss.code for loss in rendering.losses]


def test_a_call_that_could_be_read_is_written_as_it_always_was() -> None:
    turn = Turn("assistant", (ToolCallPart("c1", "look_up", {"word": "a"}),))
    assert "raw" not in to_json(turn).decode()
    broken = Turn("assistant", (FOUND,))
    assert from_json(Turn, to_json(broken)) == broken
    assert to_object(broken)["parts"][0]["raw"] == RAW  # pyright: ignore[reportIndexIssue, reportUnknownVariableType]  # JSON
