"""The call that gives a final answer is read as the answer, on every wire."""

from __future__ import annotations

import json

import pytest

from mentis.settle.readers import Reader, reader_for
from mentis.values.part import TextPart, ToolCallPart
from mentis.values.reply import AgainDelta, CallDelta, Delta, TextDelta
from mentis.values.tool import ToolDeclaration

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "wind": {"type": "integer"}},
    "required": ["city"],
}
TOOLS = (ToolDeclaration("look_up", ""), ToolDeclaration("final_answer", "", SCHEMA))
ANSWER = '{"city":"Berlin"}'


def reading(wire: str = "openai-chat") -> Reader:
    return reader_for(wire, tools=TOOLS, output="final_answer")


def chat(*calls: tuple[str, str], text: str = "") -> list[str]:
    listed = [
        {"index": n, "id": f"c{n}", "function": {"name": name, "arguments": given}}
        for n, (name, given) in enumerate(calls)
    ]
    delta = {"content": text, "tool_calls": listed}
    return [json.dumps({"choices": [{"delta": delta, "finish_reason": "tool_calls"}]})]


def fed(reader: Reader, events: list[str]) -> list[Delta]:
    deltas = [delta for event in events for delta in reader.feed(event)]
    return [*deltas, *reader.rest()]


EVENTS = {
    "openai-chat": chat(("final_answer", ANSWER)),
    "openai-responses": [
        json.dumps(
            {
                "type": "response.completed",
                "response": {
                    "status": "completed",
                    "output": [
                        {
                            "type": "function_call",
                            "call_id": "c0",
                            "name": "final_answer",
                            "arguments": ANSWER,
                        }
                    ],
                },
            }
        )
    ],
    "anthropic": [
        json.dumps(
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "tool_use", "id": "c0", "name": "final_answer"},
            }
        ),
        json.dumps(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": ANSWER},
            }
        ),
        json.dumps({"type": "content_block_stop", "index": 0}),
        json.dumps({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
        json.dumps({"type": "message_stop"}),
    ],
    "gemini": [
        json.dumps(
            {
                "candidates": [
                    {
                        "content": {
                            "parts": [
                                {
                                    "functionCall": {
                                        "name": "final_answer",
                                        "args": {"city": "Berlin"},
                                    }
                                }
                            ]
                        },
                        "finishReason": "STOP",
                    }
                ]
            }
        )
    ],
    "text": ['{"actions":[{"type":"final_answer","payload":{"city":"Berlin"}}]}'],
}


@pytest.mark.parametrize("wire", EVENTS)
def test_its_arguments_are_the_words_and_it_is_neither_call_nor_action(wire: str) -> None:
    reader = reading(wire)
    deltas = fed(reader, EVENTS[wire])
    reply = reader.finish()
    assert json.loads(reply.text) == {"city": "Berlin"}
    assert (reply.actions, reply.errors, reply.stop) == ((), (), "end")
    assert reply.parts == (TextPart(reply.text),)
    told = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    assert json.loads(told) == {"city": "Berlin"}
    assert not [delta for delta in deltas if isinstance(delta, CallDelta)]


def test_words_before_it_give_way() -> None:
    reader = reading()
    deltas = fed(reader, chat(("final_answer", ANSWER), text="Here you are."))
    assert deltas == [
        TextDelta("Here you are."),
        AgainDelta((), keeps=False),
        TextDelta(ANSWER),
    ]
    reply = reader.finish()
    assert reply.text == ANSWER
    assert [(note.code, note.raw) for note in reply.notes] == [("words-beside", "Here you are.")]


def test_other_calls_beside_it_stay_calls() -> None:
    reader = reading()
    deltas = fed(reader, chat(("look_up", "{}"), ("final_answer", ANSWER)))
    reply = reader.finish()
    assert [action.type for action in reply.actions] == ["look_up"]
    assert reply.stop == "tool_use"
    assert [type(part) for part in reply.parts] == [TextPart, ToolCallPart]
    assert CallDelta(0, "look_up", "{}") in deltas


def test_of_two_answers_the_first_counts_and_that_is_noted() -> None:
    reader = reading()
    fed(reader, chat(("final_answer", ANSWER), ("final_answer", '{"city":"Paris"}')))
    reply = reader.finish()
    assert reply.text == ANSWER
    assert [note.code for note in reply.notes] == ["answers"]


def test_arguments_that_are_no_json_are_the_text_all_the_same() -> None:
    reader = reading()
    fed(reader, chat(("final_answer", '{"city":')))
    reply = reader.finish()
    assert (reply.text, reply.errors) == ('{"city":', ())


def test_a_null_for_what_is_optional_is_left_out() -> None:
    reader = reading()
    fed(reader, chat(("final_answer", '{"city":"Berlin","wind":null}')))
    assert json.loads(reader.finish().text) == {"city": "Berlin"}


def test_an_answer_in_words_stays_what_it_is() -> None:
    reader = reading()
    event = {"choices": [{"delta": {"content": "Berlin."}, "finish_reason": "stop"}]}
    assert fed(reader, [json.dumps(event)]) == [TextDelta("Berlin.")]
    assert reader.finish().text == "Berlin."


def test_words_that_are_held_to_a_form_are_told_while_they_come() -> None:
    reader = reader_for("openai-chat", tools=TOOLS, output="")
    event = {"choices": [{"delta": {"content": '{"text": "It'}}]}
    assert reader.feed(json.dumps(event)) == (TextDelta('{"text": "It'),)
