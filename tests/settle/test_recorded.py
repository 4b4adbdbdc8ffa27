"""Whole recorded-style answers of each format: how they are cut never matters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

import httpx2
import pytest

from mentis.codec.forms import from_json, to_json
from mentis.settle.actions import to_actions
from mentis.settle.readers import READERS, read_all, reader_for
from mentis.values.action import Action
from mentis.values.part import ProviderState, ReasoningPart, TextPart, ToolCallPart
from mentis.values.reply import CallDelta, ReasoningDelta, Reply, TextDelta, Usage
from mentis.values.tool import ToolDeclaration

from .recordings import FOLDER, recordings

Recorded = Callable[[str], bytes]
STREAMED = ("openai-chat", "openai-responses", "anthropic", "gemini")
STREAMS = sorted(name.removesuffix(".sse") for name in recordings() if name.endswith(".sse"))
TOOLS = (
    ToolDeclaration(
        "get_weather", "", {"type": "object", "properties": {"days": {"type": "integer"}}}
    ),
    ToolDeclaration("list_files", ""),
)
WEATHER = {"city": "Köln", "days": 3}
FILES = {"path": "/tmp/a b", "deep": True}  # noqa: S108  # only a text
THOUGHT = "Zwei Dinge sind gefragt."
TEXT = "Ich schaue nach der Größe: 😀."


def events_of(pieces: list[bytes]) -> Iterator[str]:
    """What httpx2 makes of bytes that arrive in these pieces."""
    response = httpx2.Response(
        200,
        headers={"content-type": "text/event-stream"},
        content=iter(pieces),
        request=httpx2.Request("POST", "http://127.0.0.1"),
    )
    for event in httpx2.EventSource(response):
        if event.data and event.data != "[DONE]":
            yield event.data


def read(wire: str, body: bytes, *cuts: int) -> Reply:
    edges = [0, *cuts, len(body)]
    pieces = [body[start:end] for start, end in pairwise(edges)]
    return read_all(reader_for(wire), events_of(pieces))


def without_raw(reply: Reply) -> Reply:
    return replace(reply, raw=())


def test_the_recordings_are_what_their_script_writes() -> None:
    kept = {file.name: file.read_bytes() for file in FOLDER.iterdir() if file.suffix != ".md"}
    assert kept == {name: text.encode() for name, text in recordings().items()}


@pytest.mark.parametrize("stream", STREAMS)
def test_a_stream_cut_at_any_byte_is_read_the_same(stream: str, recorded: Recorded) -> None:
    wire, body = stream.partition(".")[0], recorded(f"{stream}.sse")
    whole = read(wire, body)
    seen = {tuple(events_of([body[:cut], body[cut:]])) for cut in range(1, len(body))}
    assert [read_all(reader_for(wire), events) for events in seen] == [whole]
    assert read(wire, body, *range(1, len(body))) == whole


@pytest.mark.parametrize("wire", STREAMED)
def test_both_calls_of_the_answer_are_read(wire: str, recorded: Recorded) -> None:
    actions = read(wire, recorded(f"{wire}.sse")).actions
    assert [action.payload for action in actions] == [WEATHER, FILES]


# For each quirk: the text, the calls, why it stopped, what could not be used, what was done.
QUIRKS: dict[str, tuple[str, list[tuple[str, object]], str, list[str], list[str]]] = {
    "openai-chat.q42": (
        "",
        [("get_weather", {"city": "Köln"}), ("list_files", {})],
        "tool_use",
        [],
        ["made-call-id", "made-call-id"],
    ),
    "openai-chat.q43": ("", [("list_files", {"path": "x"})], "tool_use", [], []),
    "openai-chat.q44": ("", [], "cut_off", ["unfinished-call"], []),
    "openai-chat.q46": (
        "",
        [("get_weather", WEATHER), ("list_files", FILES)],
        "tool_use",
        [],
        ["parallel-call"],
    ),
    "openai-chat.q48": ("Ich", [], "error", ["provider-error"], []),
    "openai-responses.q47": (TEXT, [("get_weather", WEATHER)], "tool_use", [], []),
    "openai-responses.q48": ("Ich schaue", [], "error", ["provider-error"], []),
    "anthropic.q45": ("First.", [], "end", ["second-message"], []),
    "anthropic.q48": ("Ich", [], "error", ["provider-error"], []),
    "anthropic.q49": ("Da.", [], "end", [], []),
    "anthropic.server-tool": ("Nichts.", [], "end", [], []),
    "gemini.q30": ("Gut.", [], "end", [], []),
    "gemini.q32": ("", [("get_weather", WEATHER)], "tool_use", [], ["made-call-id", "number-form"]),
    "gemini.q35": ("Gut.", [], "other", ["unknown-stop"], []),
    "gemini.q48": ("Ich", [], "error", ["provider-error"], []),
}


@pytest.mark.parametrize("stream", QUIRKS)
def test_a_quirk_is_read_for_what_it_is(stream: str, recorded: Recorded) -> None:
    wire = stream.partition(".")[0]
    events = events_of([recorded(f"{stream}.sse")])
    reply = read_all(reader_for(wire, tools=TOOLS), events)
    assert (
        reply.text,
        [(action.type, action.payload) for action in reply.actions],
        reply.stop,
        [error.code for error in reply.errors],
        [note.code for note in reply.notes],
    ) == QUIRKS[stream]


def test_every_recorded_quirk_is_expected_to_be_something() -> None:
    assert {*QUIRKS, *STREAMED} == set(STREAMS)


def test_the_quirks_keep_what_goes_back_and_what_was_counted(recorded: Recorded) -> None:
    used = read("anthropic", recorded("anthropic.q49.sse")).usage
    assert used == Usage(input=48, output=9, cache_read=8)
    searched = read("anthropic", recorded("anthropic.server-tool.sse")).parts[0]
    assert isinstance(searched, ReasoningPart)
    assert searched.state is not None
    assert searched.state.data["input"] == {"query": "Köln"}
    signed = read("gemini", recorded("gemini.q30.sse")).parts[-1]
    assert isinstance(signed, TextPart)
    assert signed.state is not None
    assert signed.state.data == {"thoughtSignature": "EnQKcgEIbmQ="}


@pytest.mark.parametrize("wire", STREAMED)
def test_a_whole_body_and_its_stream_give_one_reply(wire: str, recorded: Recorded) -> None:
    streamed = read(wire, recorded(f"{wire}.sse"))
    whole = read_all(reader_for(wire), [recorded(f"{wire}.json").decode()])
    assert without_raw(whole) == without_raw(streamed)


def test_an_array_of_answers_is_read_like_the_stream_of_them(recorded: Recorded) -> None:
    array = recorded("gemini-array.json").decode()
    streamed = without_raw(read("gemini", recorded("gemini.sse")))
    assert without_raw(read_all(reader_for("gemini"), [array])) == streamed
    items = array.split(",\r\n")  # as the server flushes them
    one_by_one = [items[0], *[f",\r\n{item}" for item in items[1:-1]], f",\r\n{items[-1]}"]
    assert without_raw(read_all(reader_for("gemini"), one_by_one)) == streamed


@pytest.mark.parametrize("wire", STREAMED)
def test_a_stream_that_stops_dead_anywhere_gives_what_came_and_no_half_call(
    wire: str, recorded: Recorded
) -> None:
    events = list(events_of([recorded(f"{wire}.sse")]))
    whole = read_all(reader_for(wire), events)
    for length in range(len(events)):
        reply = read_all(reader_for(wire), events[:length])
        assert whole.text.startswith(reply.text)
        assert all(action in whole.actions for action in reply.actions)
        to_json(reply)


@pytest.mark.parametrize("wire", STREAMED)
def test_what_is_told_on_the_way_adds_up_to_the_reply(wire: str, recorded: Recorded) -> None:
    reader = reader_for(wire)
    deltas = [
        delta for event in events_of([recorded(f"{wire}.sse")]) for delta in reader.feed(event)
    ]
    reply = reader.finish()
    assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == reply.text
    assert "".join(d.text for d in deltas if isinstance(d, ReasoningDelta)) == reply.reasoning
    names = [d.name for d in deltas if isinstance(d, CallDelta) and d.name]
    assert names == [action.type for action in reply.actions]


@pytest.mark.parametrize("wire", STREAMED)
def test_a_reply_survives_its_json_form(wire: str, recorded: Recorded) -> None:
    reply = read(wire, recorded(f"{wire}.sse"))
    assert from_json(Reply, to_json(reply)) == reply


def test_the_chat_answer_keeps_text_ids_and_usage(recorded: Recorded) -> None:
    reply = read("openai-chat", recorded("openai-chat.sse"))
    assert reply.text == f"{TEXT} Einen Moment."
    assert reply.stop == "tool_use"
    assert reply.usage == Usage(1812, 74, 1024, 512, 16)
    assert reply.actions == (
        Action("get_weather", WEATHER, "native", "call_A1"),
        Action("list_files", FILES, "native", "call_B2"),
    )
    assert (reply.errors, reply.notes) == ((), ())


def test_the_responses_answer_keeps_what_has_to_be_sent_back(recorded: Recorded) -> None:
    reply = read("openai-responses", recorded("openai-responses.sse"))

    def state(**data: object) -> ProviderState:
        return ProviderState("openai-responses", "gpt-5.6-2026-09-01", data)

    summary = [
        {"type": "summary_text", "text": THOUGHT},
        {"type": "summary_text", "text": "Beide sind Aufrufe."},
    ]
    assert reply.parts == (
        ReasoningPart(
            f"{THOUGHT}\n\nBeide sind Aufrufe.",
            state(
                type="reasoning", id="rs_1", summary=summary, encrypted_content="gAAAAB-geheim=="
            ),
        ),
        TextPart(TEXT, state(type="message", id="msg_2", phase="commentary")),
        ToolCallPart("call_A1", "get_weather", WEATHER, state(type="function_call", id="fc_3")),
        ToolCallPart("call_B2", "list_files", FILES, state(type="function_call", id="fc_4")),
    )
    assert (reply.text, reply.stop) == (TEXT, "tool_use")
    assert reply.usage == Usage(1812, 90, 1024, 512, 32)


def test_the_messages_answer_keeps_signed_and_redacted_thinking_in_order(
    recorded: Recorded,
) -> None:
    reply = read("anthropic", recorded("anthropic.sse"))

    def state(**data: object) -> ProviderState:
        return ProviderState("anthropic", "claude-sonnet-5-5", data)

    signature = "EqQBCgIYAhIM1gbcDa9GJwZA2b3h=="
    assert reply.parts == (
        ReasoningPart(THOUGHT, state(type="thinking", signature=signature)),
        ReasoningPart("", state(type="redacted_thinking", data="EmwKAhgBEgy3va3pzix=")),
        TextPart(TEXT),
        ToolCallPart("toolu_A1", "get_weather", WEATHER),
        ToolCallPart("toolu_B2", "list_files", FILES),
    )
    assert reply.usage == Usage(276 + 512 + 1024, 89, 1024, 512, 21)


def test_the_gemini_answer_keeps_each_signature_on_its_part(recorded: Recorded) -> None:
    reply = read("gemini", recorded("gemini.sse"))

    def state(**data: object) -> ProviderState:
        return ProviderState("gemini", "gemini-3-flash", data)

    signed = state(thoughtSignature="CpwBAdHtim9kZXI=", id="fn-A1")
    assert reply.parts == (
        ReasoningPart(THOUGHT),
        TextPart(TEXT),
        ToolCallPart("fn-A1", "get_weather", WEATHER, signed),
        ToolCallPart("fn-B2", "list_files", FILES, state(id="fn-B2")),
        TextPart("", state(thoughtSignature="EnQKcgEIbmQ=")),
    )
    assert (reply.text, reply.stop) == (TEXT, "tool_use")
    assert reply.usage == Usage(1812, 68 + 21, 1024, 0, 21)


@pytest.mark.parametrize("wire", STREAMED)
def test_names_come_back_as_our_own_and_state_is_tagged_with_the_model_asked_for(
    wire: str, recorded: Recorded
) -> None:
    reader = reader_for(wire, {"get_weather": "weather in town"}, model="alias")
    reply = read_all(reader, events_of([recorded(f"{wire}.sse")]))
    assert [action.type for action in reply.actions] == ["weather in town", "list_files"]
    states = [getattr(part, "state", None) for part in reply.parts]
    assert {state.model for state in states if state} <= {"alias"}


def test_the_compatibility_form_has_types_and_payloads(recorded: Recorded) -> None:
    assert to_actions(read("anthropic", recorded("anthropic.sse"))) == {
        "actions": [
            {"type": "get_weather", "payload": WEATHER},
            {"type": "list_files", "payload": FILES},
        ]
    }


def test_every_format_but_the_live_one_has_a_reader() -> None:
    assert set(READERS) == {*STREAMED, "text"}
