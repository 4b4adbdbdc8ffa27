"""Whoever reads an answer that is over may join its words first: nothing is read otherwise."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.call.recorded_events import events_of
from mentis.facts.ability import Wire
from mentis.settle.joining import joined_pieces, joined_stream
from mentis.settle.readers import read_all, reader_for
from mentis.values.reply import Reply
from mentis.values.tool import ToolDeclaration

LOOK = ToolDeclaration("look", "")
Event = dict[str, object]


def chat(number: int, words: str) -> Event:
    choice: Event = {"index": 0, "delta": {"content": words}, "finish_reason": None}
    return {"id": "c", "model": "m", "choices": [choice], "obfuscation": "x" * (number % 5)}


def responses(number: int, words: str) -> Event:
    told: Event = {"type": "response.output_text.delta", "item_id": "i", "output_index": 0}
    return {**told, "content_index": 0, "delta": words, "sequence_number": number}


def anthropic(number: int, words: str) -> Event:
    delta = {"type": "text_delta", "text": words}
    return {"type": "content_block_delta", "index": number // 100, "delta": delta}


MAKERS = {"openai-chat": chat, "openai-responses": responses, "anthropic": anthropic}
BEGINS: dict[str, list[Event]] = {
    "openai-chat": [chat(0, "")],
    "openai-responses": [{"type": "response.created", "response": {"id": "r", "model": "m"}}],
    "anthropic": [
        {"type": "message_start", "message": {"id": "a", "model": "m", "usage": {}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    ],
}
WIRES: list[Wire] = ["openai-chat", "openai-responses", "anthropic"]


def read(events: Sequence[str], wire: Wire) -> tuple[str, object, object, object]:
    reply: Reply = read_all(reader_for(wire, tools=[LOOK]), events)
    return reply.text, reply.actions, reply.usage, reply.stop


@pytest.mark.parametrize("wire", WIRES)
@given(
    words=st.lists(st.text() | st.sampled_from(['{"name": "look", "arguments": {}}', '"', "\\"])),
    spaced=st.booleans(),
    ascii_only=st.booleans(),
)
def test_an_answer_whose_words_are_joined_reads_the_same(
    wire: Wire, words: list[str], spaced: bool, ascii_only: bool
) -> None:
    told = [*BEGINS[wire], *(MAKERS[wire](number, word) for number, word in enumerate(words))]
    apart = (", ", ": ") if spaced else (",", ":")
    events = [json.dumps(one, separators=apart, ensure_ascii=ascii_only) for one in told]
    assert read([*joined_pieces(events, wire)], wire) == read(events, wire)


@pytest.mark.parametrize("wire", WIRES)
def test_many_words_become_one_event(wire: Wire) -> None:
    events = [json.dumps(MAKERS[wire](number % 5, "and so on ")) for number in range(50)]
    assert len([*joined_pieces(events, wire)]) == 1


def test_what_says_more_than_words_is_left_where_it_stands() -> None:
    word, call = json.dumps(chat(0, "a")), json.dumps({"choices": [{"delta": {"tool_calls": []}}]})
    null = word.replace('"a"', "null")
    two = json.dumps({"choices": [{"delta": {"content": "a"}}, {"delta": {"content": "b"}}]})
    events = [word, word, call, word, null, two, two, word, "[DONE]"]
    joined = word.replace('"a"', '"aa"')
    assert [*joined_pieces(events, "openai-chat")] == [
        joined,
        *(call, word, null, two, two, word, "[DONE]"),
    ]


def test_a_format_whose_pieces_are_not_known_is_left_as_it_is() -> None:
    assert [*joined_pieces(["a", "a"], "gemini")] == ["a", "a"]


def stream(events: Sequence[str], wire: Wire) -> str:
    named = "event: content_block_delta\n" if wire == "anthropic" else ""
    return "".join(f"{named}data: {event}\n\n" for event in events)


@pytest.mark.parametrize("wire", WIRES)
@given(
    words=st.lists(st.text() | st.sampled_from(['{"name": "look"}', '"', "\\", "\n\n", "\0"])),
    ascii_only=st.booleans(),
    numbered=st.booleans(),
)
def test_a_stream_whose_words_are_joined_reads_the_same(
    wire: Wire, words: list[str], ascii_only: bool, numbered: bool
) -> None:
    numbers = range(len(words)) if numbered else [0] * len(words)
    told = [*BEGINS[wire], *(MAKERS[wire](*one) for one in zip(numbers, words, strict=True))]
    whole = stream([json.dumps(one, ensure_ascii=ascii_only) for one in told], wire)
    joined = [*events_of(joined_stream(whole, wire), wire)]
    assert read(joined, wire) == read([*events_of(whole, wire)], wire)
    assert read([*joined_pieces(joined, wire)], wire) == read(joined, wire)


@pytest.mark.parametrize("wire", WIRES)
def test_a_stream_of_many_words_is_as_short_as_they_are(wire: Wire) -> None:
    said = [*BEGINS[wire], *(MAKERS[wire](0, f"word {number} ") for number in range(500))]
    whole = stream([json.dumps(one) for one in said], wire)
    assert len(joined_stream(whole, wire)) < len(whole) // 8


def test_a_stream_is_left_as_it_is_behind_what_is_no_word() -> None:
    word = json.dumps(chat(0, "a"))
    call = json.dumps({"choices": [{"delta": {"tool_calls": []}}]})
    whole = stream([word, word, word, call, "[DONE]"], "openai-chat")
    joined = stream([word.replace('"a"', '"aa"'), word, call, "[DONE]"], "openai-chat")
    assert joined_stream(whole, "openai-chat") == joined
    cut = whole[: whole.index("[DONE]") - 30]
    assert joined_stream(cut, "openai-chat").endswith(cut[-40:])
    assert joined_stream(whole, "gemini") == whole
