"""What goes over the wire in the Chat Completions format."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from mentis.errors import RenderError
from mentis.render.openai_chat import render
from mentis.values.part import (
    MediaPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from mentis.values.request import PromptRequest, ReplyTo, RuntimeContext
from mentis.values.route import Route
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust
from mentis.values.turn import Turn

LOCAL = Route("default", "scripted", "small", max_tokens=64)
SERVER = Route("default", "openai", "some-model", url="http://127.0.0.1/v1", max_tokens=64)
NOW = Span("It is noon.", block="time", trust=Trust.RUNTIME, stability=Stability.TURN)


def user(text: str) -> Turn:
    return Turn("user", (TextPart(text),))


def assistant(text: str) -> Turn:
    return Turn("assistant", (TextPart(text),), Trust.SELF)


def request_with(**changes: object) -> PromptRequest:
    given: dict[str, object] = {
        "system_instruction": (Span("You are Ada.", block="identity"),),
        "current_text": "Hello!",
    }
    return PromptRequest(**{**given, **changes})  # pyright: ignore[reportArgumentType]  # test data


def test_the_whole_payload_stands_in_a_fixed_order() -> None:
    request = request_with(
        context_summary=(Span("You spoke yesterday."),),
        conversation_history=(user("Hi"), assistant("Hello")),
        runtime_ctx=RuntimeContext(spans=(NOW,)),
    )
    route = Route("default", "embedded", "small", max_tokens=64, temperature=0.5, seed=7)
    assert json.loads(render(request, route).body()) == snapshot(
        {
            "model": "small",
            "messages": [
                {"role": "system", "content": "You are Ada.\n\nYou spoke yesterday."},
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": "Hello"},
                {"role": "system", "content": "It is noon."},
                {"role": "user", "content": "Hello!"},
            ],
            "max_tokens": 64,
            "temperature": 0.5,
            "seed": 7,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    )
    assert list(render(request, route).payload) == [
        "model",
        "messages",
        "max_tokens",
        "temperature",
        "seed",
        "stream",
        "stream_options",
    ]


def test_facts_of_the_turn_ride_in_the_user_message_where_a_second_system_message_may_fail() -> (
    None
):
    request = request_with(runtime_ctx=RuntimeContext(spans=(NOW,)))
    messages = render(request, SERVER).payload["messages"]
    assert messages == snapshot(
        [
            {"role": "system", "content": "You are Ada."},
            {"role": "user", "content": "<system>\nIt is noon.\n</system>\n\nHello!"},
        ]
    )


def test_the_next_turn_extends_the_same_prefix_whatever_the_clock_says() -> None:
    first = request_with(runtime_ctx=RuntimeContext(spans=(NOW,)))
    later = Span("It is evening.", block="time", stability=Stability.TURN)
    second = request_with(
        conversation_history=(user("Hello!"), assistant("Hi.")),
        current_text="And now?",
        runtime_ctx=RuntimeContext(spans=(later,)),
    )
    for route in (SERVER, LOCAL):
        bodies = [render(request, route).body() for request in (first, second)]
        lasting = bodies[0].index(b'"},{')
        assert bodies[0][: lasting + 4] == bodies[1][: lasting + 4]
        assert b"It is noon." not in bodies[0][:lasting]


def test_neighbours_of_one_role_become_one_message() -> None:
    request = request_with(conversation_history=(user("One"), user("Two")))
    contents = [m["content"] for m in json.loads(render(request, LOCAL).body())["messages"]]
    assert contents == ["You are Ada.", "One\n\nTwo\n\nHello!"]


def test_tool_calls_and_their_results_keep_their_ids() -> None:
    call = ToolCallPart("call-1", "look_up", {"word": "Größe"})
    turns = (
        user("What is it?"),
        Turn("assistant", (TextPart("Let me see."), call), Trust.SELF),
        Turn("user", (ToolResultPart("call-1", "look_up", "a size"),)),
    )
    messages = render(request_with(conversation_history=turns), LOCAL).payload["messages"]
    assert messages == snapshot(
        [
            {"role": "system", "content": "You are Ada."},
            {"role": "user", "content": "What is it?"},
            {
                "role": "assistant",
                "content": "Let me see.",
                "tool_calls": [
                    {
                        "id": "call-1",
                        "type": "function",
                        "function": {"name": "look_up", "arguments": '{"word": "Größe"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "call-1", "content": "a size"},
            {"role": "user", "content": "Hello!"},
        ]
    )


def test_tools_are_sorted_by_name_so_that_registration_order_changes_no_byte() -> None:
    tools = (ToolDeclaration("b", "second"), ToolDeclaration("a", "first"))
    forward = render(request_with(tool_declarations=tools), LOCAL)
    backward = render(request_with(tool_declarations=tools[::-1]), LOCAL)
    assert forward.body() == backward.body()
    assert b'"name":"a","description":"first"' in forward.body()


def test_a_tool_name_the_wire_cannot_carry_gets_another_and_the_way_back_is_kept() -> None:
    tools = (ToolDeclaration("look up", "has a space"),)
    rendering = render(request_with(tool_declarations=tools), LOCAL)
    assert dict(rendering.name_map) == snapshot({"look_up_a973a2": "look up"})
    assert b'"name":"look_up_a973a2"' in rendering.body()


def test_the_message_that_is_answered_is_shown_as_a_quotation() -> None:
    request = request_with(reply_to=ReplyTo("Shall we?\nTomorrow?", author="Ada"))
    content = json.loads(render(request, LOCAL).body())["messages"][-1]["content"]
    assert content == "> Ada: Shall we?\n> Tomorrow?\n\nHello!"


def test_reasoning_is_left_out_with_a_note() -> None:
    turns = (Turn("assistant", (ReasoningPart("Hm."),)), user("Hi"))
    rendering = render(request_with(conversation_history=turns), LOCAL)
    assert [loss.code for loss in rendering.losses] == ["reasoning"]
    assert b"Hm." not in rendering.body()


def test_an_attachment_whose_bytes_nobody_read_is_refused() -> None:
    image = MediaPart("image", "image/png", path="cat.png", name="cat.png")
    with pytest.raises(RenderError, match=r"given by its path and was not read: 'cat\.png'"):
        render(request_with(attachments=(image,)), LOCAL)


def test_a_model_without_sampling_gets_none_and_the_loss_is_noted() -> None:
    route = Route("default", "openai", "gpt-5.6", url="https://h/v1", temperature=0.2, seed=1)
    rendering = render(request_with(), route)
    assert "temperature" not in rendering.payload
    assert rendering.payload["max_completion_tokens"] == 512
    assert [loss.pointer for loss in rendering.losses] == ["/temperature", "/seed"]


def test_a_request_without_system_text_has_no_system_message() -> None:
    messages = render(request_with(system_instruction=()), LOCAL).payload["messages"]
    assert messages == [{"role": "user", "content": "Hello!"}]


def test_a_request_with_nothing_to_say_has_no_user_message() -> None:
    messages = render(request_with(current_text=""), LOCAL).payload["messages"]
    assert messages == [{"role": "system", "content": "You are Ada."}]


@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1))
def test_every_byte_of_every_text_is_traced_to_a_span(texts: list[str]) -> None:
    spans = tuple(Span(text, block=f"b{number}") for number, text in enumerate(texts))
    rendering = render(request_with(system_instruction=spans, current_text=texts[0]), LOCAL)
    body = rendering.body()
    for piece in rendering.source_map():
        quoted = b'"' + body[piece.start : piece.end] + b'"'
        assert json.loads(quoted) == piece.span.text
    assert [p.span for p in rendering.source_map()][: len(spans)] == list(spans)
