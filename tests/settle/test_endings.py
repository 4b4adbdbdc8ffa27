"""How an answer is known to be over, also where its server is sparing with reasons."""

from __future__ import annotations

import json

import pytest

from mentis.settle.readers import read_all, reader_for
from mentis.values.reply import Reply
from mentis.values.tool import ToolDeclaration

ACT = ToolDeclaration("act", "Act.")
CALL = {"index": 0, "id": "c1", "function": {"name": "act", "arguments": '{"a": 1}'}}


def chunk(delta: dict[str, object], finish: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return json.dumps({"object": "chat.completion.chunk", "choices": [choice]})


def read(wire: str, *events: str) -> Reply:
    return read_all(reader_for(wire, tools=[ACT], model="m"), events)


@pytest.mark.parametrize("reason", [None, ""])
def test_a_stream_that_says_it_is_done_is_complete_without_a_reason(reason: str | None) -> None:
    reply = read("openai-chat", chunk({"content": "Yes."}, reason), "[DONE]")
    assert (reply.text, reply.stop, reply.errors) == ("Yes.", "end", ())
    assert [note.code for note in reply.notes] == ["no-stop-reason"]
    assert reply.raw == (chunk({"content": "Yes."}, reason),)


def test_the_calls_of_such_a_stream_are_taken() -> None:
    reply = read("openai-chat", chunk({"tool_calls": [CALL]}), "[DONE]")
    assert [action.payload for action in reply.actions] == [{"a": 1}]
    assert (reply.stop, reply.errors) == ("tool_use", ())


def test_a_reason_that_was_given_stands() -> None:
    reply = read("openai-chat", chunk({"content": "Y"}, "length"), "[DONE]")
    assert (reply.stop, reply.notes) == ("length", ())


def test_a_stream_without_its_mark_is_cut_off() -> None:
    assert read("openai-chat", chunk({"content": "Yes."})).stop == "cut_off"


def test_a_stream_in_which_nothing_came_is_no_answer() -> None:
    for wire in ("openai-chat", "openai-responses"):
        assert (read(wire, "[DONE]").stop, read(wire, "[DONE]").errors) == ("cut_off", ())
    assert read("text", "[DONE]").text == ""


@pytest.mark.parametrize("reason", [None, ""])
def test_a_whole_body_is_complete_without_a_reason(reason: str | None) -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    choice = {"index": 0, "message": message, "finish_reason": reason}
    reply = read("openai-chat", json.dumps({"object": "chat.completion", "choices": [choice]}))
    assert [action.type for action in reply.actions] == ["act"]
    assert (reply.stop, [note.code for note in reply.notes]) == ("tool_use", ["no-stop-reason"])


def test_a_responses_stream_that_says_it_is_done_is_complete() -> None:
    said = {"type": "response.output_text.delta", "output_index": 0, "delta": "Yes."}
    reply = read("openai-responses", json.dumps(said), "[DONE]")
    assert (reply.text, reply.stop) == ("Yes.", "end")
