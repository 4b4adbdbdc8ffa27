"""What is made of Chat Completions events, good and bad."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mentis.codec.forms import to_json
from mentis.settle.openai_chat import ChatReader
from mentis.settle.readers import read_all
from mentis.values.action import Action
from mentis.values.reply import CallDelta, ReasoningDelta, Reply, TextDelta, Usage


def event(
    delta: Mapping[str, object] | None = None, finish: str | None = None, **rest: object
) -> str:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return json.dumps({"choices": [choice], **rest})


def read(*events: str, interrupted: bool = False) -> Reply:
    reader = ChatReader()
    for one in events:
        reader.feed(one)
    return reader.finish(interrupted=interrupted)


def test_text_arrives_in_pieces_and_ends_as_one_reply() -> None:
    reader = ChatReader()
    assert reader.feed(event({"role": "assistant", "content": None})) == ()
    assert reader.feed(event({"content": "Hel"})) == (TextDelta("Hel"),)
    assert reader.feed(event({"content": "lo"}, model="small")) == (TextDelta("lo"),)
    reader.feed(event(finish="stop"))
    reply = reader.finish()
    assert (reply.text, reply.stop, reply.model, reply.errors) == ("Hello", "end", "small", ())


def test_usage_comes_in_a_chunk_without_choices() -> None:
    usage = {
        "prompt_tokens": 20,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 12, "cache_write_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    reply = read(event({"content": "x"}), json.dumps({"choices": [], "usage": usage}))
    assert reply.usage == Usage(20, 5, 12, 3, 2)


def test_a_whole_body_is_read_like_a_stream_of_one() -> None:
    body = {"choices": [{"message": {"content": "All at once."}, "finish_reason": "stop"}]}
    reply = read(json.dumps(body))
    assert (reply.text, reply.stop) == ("All at once.", "end")


def test_reasoning_is_kept_apart_from_the_text() -> None:
    reader = ChatReader()
    assert reader.feed(event({"reasoning_content": "Hm."})) == (ReasoningDelta("Hm."),)
    assert reader.feed(event({"reasoning": " So."})) == (ReasoningDelta(" So."),)
    reply = reader.finish()
    assert (reply.text, reply.reasoning) == ("", "Hm. So.")


def test_tool_calls_are_joined_by_index_and_keep_text_and_ids() -> None:
    def call(index: int, **function: str) -> dict[str, object]:
        return {"tool_calls": [{"index": index, "type": None, "function": function}]}

    first = {
        "tool_calls": [{"index": 0, "id": "c0", "function": {"name": "look", "arguments": ""}}]
    }
    other = {"tool_calls": [{"index": 1, "id": "c1", "function": {"name": "hear"}}]}
    reader = ChatReader()
    reader.feed(event({"content": "Wait."}))
    assert reader.feed(event(first)) == (CallDelta(0, "look"),)
    reader.feed(event(other))
    reader.feed(event(call(0, arguments='{"a"')))
    reader.feed(event(call(0, arguments=": 1}"), "tool_calls"))
    reply = reader.finish()
    assert reply.text == "Wait."
    assert reply.stop == "tool_use"
    assert reply.actions == (
        Action("look", {"a": 1}, "native", "c0"),
        Action("hear", {}, "native", "c1"),
    )


def test_broken_arguments_are_an_error_with_the_raw_text() -> None:
    def arguments(text: str) -> str:
        return event({"tool_calls": [{"function": {"name": "look", "arguments": text}}]})

    for raw in ('{"a": ', "[1]", "null"):
        reply = read(arguments(raw))
        assert reply.actions == ()
        assert [(e.code, e.raw) for e in reply.errors] == [("bad-arguments", raw)]


def test_finishing_twice_gives_the_same_reply() -> None:
    reader = ChatReader()
    reader.feed(event({"tool_calls": [{"function": {"name": "look", "arguments": "{"}}]}))
    assert reader.finish() == reader.finish()
    assert len(reader.finish().errors) == 1


def test_a_character_that_came_in_two_halves_is_joined_and_a_lone_half_is_named() -> None:
    whole = read(event({"content": "a\ud83d"}), event({"content": "\ude00"}, "stop"))
    assert (whole.text, whole.errors) == ("a😀", ())
    half = read(event({"content": "a\ud83d"}, "stop"))
    assert half.text == "a\ufffd"
    assert [error.code for error in half.errors] == ["bad-text"]


def test_numbers_that_json_does_not_have_are_broken_arguments() -> None:
    call = {"function": {"name": "look", "arguments": '{"x": NaN}'}}
    reply = read(event({"tool_calls": [call]}, "tool_calls"))
    assert reply.actions == ()
    assert reply.errors[0].code == "bad-arguments"


def test_a_token_count_that_cannot_be_one_is_not_taken() -> None:
    usage = {"prompt_tokens": 10**19, "completion_tokens": -5}
    assert read(json.dumps({"choices": [], "usage": usage})).usage == Usage()


def test_an_error_object_inside_a_stream_is_an_error() -> None:
    reply = read(event({"content": "Half"}), json.dumps({"error": {"message": "overloaded"}}))
    assert reply.stop == "error"
    assert reply.text == "Half"
    assert reply.errors[0].message == "overloaded"
    assert read('{"error": "plain"}').errors[0].message == "plain"
    assert read('{"error": null}').stop == "error"


def test_a_stream_that_ends_without_a_reason_was_cut_off_or_interrupted() -> None:
    assert read(event({"content": "Half"})).stop == "cut_off"
    assert read(event({"content": "Half"}), interrupted=True).stop == "interrupted"
    assert read(event({"content": "Whole"}, "stop"), interrupted=True).stop == "end"


def test_an_unknown_stop_reason_does_not_crash_and_is_named() -> None:
    reply = read(event(finish="moonrise"))
    assert reply.stop == "other"
    assert "moonrise" in reply.errors[0].message
    assert read(event({"content": "x"}, "")).stop == "cut_off"


def test_events_that_are_not_objects_are_recorded_and_passed_over() -> None:
    reply = read("<html>", "[]", event({"content": "still here"}, "stop"))
    assert reply.text == "still here"
    assert [error.code for error in reply.errors] == ["bad-event", "bad-event"]
    assert reply.raw[0] == "<html>"


def test_missing_and_odd_fields_are_taken_as_absent() -> None:
    odd = ['{"choices": null}', '{"choices": [7]}', '{"choices": [{"delta": 3}], "usage": 4}', "{}"]
    reply = read(*odd)
    assert (reply.text, reply.usage, reply.errors) == ("", None, ())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


anything = st.text(st.characters(codec=None))


@given(
    st.lists(anything | json_values.map(json.dumps) | anything.map(lambda t: event({"content": t})))
)
def test_nothing_a_provider_sends_makes_it_crash_or_cannot_be_recorded(events: list[str]) -> None:
    reply = read(*events)
    assert len(reply.raw) == len(events)
    to_json(reply)


@given(st.text(), st.data())
def test_how_the_text_was_cut_into_pieces_does_not_matter(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    edges = [0, *cuts, len(text)]
    pieces = [text[a:b] for a, b in pairwise(edges)]
    reply = read(*(event({"content": piece}) for piece in pieces), event(finish="stop"))
    assert reply.text == text


@given(st.data())
def test_an_answer_that_nobody_listens_to_is_the_same_reply(data: st.DataObject) -> None:
    deltas = st.sampled_from(
        [
            {"content": "Yes"},
            {"content": ""},
            {"content": None},
            {"content": "a", "role": "assistant"},
            {"reasoning": "hm"},
            {"content": [{"text": "b"}]},
            {},
        ]
    )
    choices = st.fixed_dictionaries(
        {"delta": deltas},
        optional={
            "index": st.sampled_from([0, 1]),
            "finish_reason": st.sampled_from([None, "stop", "length", "odd"]),
        },
    )
    events = st.fixed_dictionaries(
        {"choices": st.lists(choices, max_size=2)},
        optional={
            "model": st.just("m"),
            "usage": st.sampled_from([None, {"prompt_tokens": 1}]),
            "error": st.sampled_from([None, {"message": "no"}]),
        },
    )
    told = [json.dumps(event) for event in data.draw(st.lists(events))]
    told += data.draw(st.sampled_from([[], ["[DONE]"], ["no json"]]))
    assert read_all(ChatReader(), told) == read(*told)
