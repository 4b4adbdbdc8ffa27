"""Turns as they really come: out of order, incomplete, doubled, from somebody else."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mentis.errors import RenderError
from mentis.render.memo import forget
from mentis.render.wires import RENDERERS, render_for
from mentis.values.part import (
    MediaPart,
    Part,
    ProviderState,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from mentis.values.rendering import Rendering
from mentis.values.request import PromptRequest, ReplyTo, RuntimeContext
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.tool import ToolDeclaration
from mentis.values.turn import Turn

from .conftest import NATIVE, NOON, PDF, PNG, ROUTES, WORDS, said
from .oracle import validate
from .rules import problems

ANY_TEXT = st.text(max_size=12) | st.sampled_from(["", " ", "\ud800", "<system>", '"\\\n', "Größe"])
NAMES = st.sampled_from(["look_up", "look up", "look-up", "", "9lives", "é" * 70])
IDS = st.sampled_from(["", "a", "b", "call 1", "x" * 90])
STATES = st.none() | st.builds(
    ProviderState,
    st.sampled_from([*NATIVE, "other"]),
    st.sampled_from(["gpt-5.6", "claude-opus-5", "gemini-3-pro"]),
    st.sampled_from(
        [
            {"signature": "s"},
            {"type": "redacted_thinking", "data": "d"},
            {"id": "rs", "encrypted_content": "e"},
            {"thoughtSignature": "dGVzdA=="},
            {"phase": "commentary"},
            {},
        ]
    ),
)
ARGUMENTS = st.dictionaries(ANY_TEXT, ANY_TEXT | st.integers() | st.none(), max_size=2)
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(TextPart, ANY_TEXT, STATES),
    st.builds(ToolCallPart, IDS, NAMES, ARGUMENTS, STATES),
    st.builds(ToolResultPart, IDS, NAMES, ANY_TEXT, st.booleans()),
    st.builds(ReasoningPart, ANY_TEXT, STATES),
    st.sampled_from(
        [
            MediaPart("image", "image/png", PNG),
            MediaPart("document", "application/pdf", PDF, name="a]b\n"),
            MediaPart("document", "text/plain", extracted="text"),
            MediaPart("audio", "audio/wav", b"?"),
        ]
    ),
)
TURNS = st.builds(
    Turn, st.sampled_from(["user", "assistant"]), st.lists(PARTS, max_size=4).map(tuple)
)
TOOLS = st.lists(NAMES.filter(bool), unique=True, max_size=3).map(
    lambda names: tuple(ToolDeclaration(name, f"does {name}") for name in names)
)
REQUESTS = st.builds(
    PromptRequest,
    system_instruction=st.sampled_from([(), (Span("S"),)]),
    tool_declarations=TOOLS,
    conversation_history=st.lists(TURNS, max_size=5).map(tuple),
    current_text=ANY_TEXT,
    runtime_ctx=st.sampled_from([RuntimeContext(), RuntimeContext(spans=(NOON,))]),
    reply_to=st.none() | st.builds(ReplyTo, ANY_TEXT, ANY_TEXT),
)


def rendered(wire: str, *turns: Turn, text: str = "And now?") -> Rendering:
    request = PromptRequest(conversation_history=turns, current_text=text, words=WORDS)
    return render_for(wire, request, ROUTES[wire])


def payload_of(rendering: Rendering) -> dict[str, Any]:
    return json.loads(rendering.body())


def codes(rendering: Rendering) -> list[str]:
    return [loss.code for loss in rendering.losses]


@pytest.mark.parametrize("wire", NATIVE)
@settings(max_examples=30)
@given(request=REQUESTS)
@example(PromptRequest())
def test_whatever_the_history_the_payload_is_one_the_provider_takes(
    wire: str, request: PromptRequest
) -> None:
    rendering = render_for(wire, request, ROUTES[wire])
    payload = payload_of(rendering)
    if wire == "openai-chat" and not payload["messages"]:
        return  # nothing was asked: an empty request stays empty
    validate(wire, payload)
    assert problems(wire, payload) == []


@pytest.mark.parametrize("wire", sorted(RENDERERS))
@settings(max_examples=25)
@given(request=REQUESTS)
@example(
    PromptRequest(conversation_history=tuple(said(who, "x") for who in ("user", "user", "user")))
)
def test_a_conversation_that_grew_is_told_as_one_that_was_never_told_before(
    wire: str, request: PromptRequest
) -> None:
    turns, route = request.conversation_history, ROUTES[wire]
    for count in range(len(turns)):
        earlier = replace(request, conversation_history=turns[:count])
        render_for(wire, earlier, route).source_map()
    grown = render_for(wire, request, route)
    pieces, body = grown.source_map(), grown.body()
    forget()
    fresh = render_for(wire, request, route)
    assert (fresh.body(), fresh.losses, fresh.source_map()) == (body, grown.losses, pieces)


MINE = ProviderState("gemini", "gemini-3-pro", {"thoughtSignature": "bWluZQ=="})
OTHER = ProviderState("gemini", "gemini-of-old", {"thoughtSignature": "b2xk"})
STEPS = st.lists(st.lists(st.sampled_from([MINE, OTHER, None]), min_size=1, max_size=3), max_size=4)
STAND_IN = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="


@given(steps=STEPS)
@example([[None, MINE]])
@example([[MINE], [OTHER, MINE]])
def test_the_first_call_of_every_step_is_signed_however_signed_and_unsigned_calls_are_mixed(
    steps: list[list[ProviderState | None]],
) -> None:
    turns = [said("user", "Hi")]
    for number, states in enumerate(steps):
        names = [f"{number}-{place}" for place in range(len(states))]
        calls = (ToolCallPart(n, "look_up", {}, s) for n, s in zip(names, states, strict=True))
        turns.append(said("assistant", *calls))
        turns.append(said("user", *(ToolResultPart(name, "look_up", "x") for name in names)))
    rendering = rendered("gemini", *turns)
    payload = payload_of(rendering)
    assert problems("gemini", payload) == []
    parts = [part for content in payload["contents"] for part in content["parts"]]
    sent = [part.get("thoughtSignature") for part in parts if "functionCall" in part]
    own = ["bWluZQ==" if state is MINE else None for states in steps for state in states]
    assert [None if one == STAND_IN else one for one in sent] == own
    assert sent.count(STAND_IN) == codes(rendering).count("unsigned-call")


@pytest.mark.parametrize("wire", NATIVE)
def test_a_call_without_its_result_is_answered_truthfully(wire: str) -> None:
    call = ToolCallPart("a", "look_up", {})
    rendering = rendered(wire, said("user", "Hi"), said("assistant", call))
    assert "missing-result" in codes(rendering)
    assert b"[no result of this call was recorded]" in rendering.body()
    assert problems(wire, payload_of(rendering)) == []


@pytest.mark.parametrize("wire", NATIVE)
def test_partial_results_keep_the_order_of_the_calls(wire: str) -> None:
    calls = [ToolCallPart(name, "look_up", {}) for name in "abc"]
    results = [ToolResultPart(name, "look_up", f"result {name}") for name in "ca"]
    rendering = rendered(
        wire, said("user", "Hi"), said("assistant", *calls), said("user", *results)
    )
    body = rendering.body()
    places = [body.index(text) for text in (b"result a", b"[no result", b"result c")]
    assert places == sorted(places)
    assert problems(wire, payload_of(rendering)) == []


@pytest.mark.parametrize("wire", NATIVE)
def test_a_result_without_its_call_is_told_as_text(wire: str) -> None:
    rendering = rendered(wire, said("user", ToolResultPart("gone", "look_up", "a size")))
    assert codes(rendering) == ["orphan-result"]
    assert b"[result of look_up, whose call is not in this conversation]" in rendering.body()
    assert problems(wire, payload_of(rendering)) == []


@pytest.mark.parametrize("wire", NATIVE)
def test_a_second_result_for_one_call_is_left_out_with_a_note(wire: str) -> None:
    rendering = rendered(
        wire,
        said("assistant", ToolCallPart("a", "look_up", {})),
        said("user", *(ToolResultPart("a", "look_up", text) for text in ("first", "second"))),
    )
    assert "duplicate-result" in codes(rendering)
    assert b"first" in rendering.body()
    assert b"second" not in rendering.body()


@pytest.mark.parametrize("wire", NATIVE)
def test_one_id_used_twice_becomes_two_ids_that_keep_their_results(wire: str) -> None:
    turns = [
        said("assistant", ToolCallPart("a", "look_up", {"n": 1})),
        said("user", ToolResultPart("a", "look_up", "one")),
        said("assistant", ToolCallPart("a", "look_up", {"n": 2})),
        said("user", ToolResultPart("a", "look_up", "two")),
    ]
    rendering = rendered(wire, *turns)
    assert "duplicate-id" in codes(rendering)
    assert list(rendering.id_map.values()) == ["a"]
    assert problems(wire, payload_of(rendering)) == []
    assert rendering.body().index(b"one") < rendering.body().index(b"two")


@pytest.mark.parametrize("wire", NATIVE)
def test_an_empty_id_is_made_and_stays_the_same_in_the_next_turn(wire: str) -> None:
    turns = (
        said("user", "Hi"),
        said("assistant", ToolCallPart("", "look_up", {})),
        said("user", ToolResultPart("", "look_up", "a size")),
    )
    first, second = rendered(wire, *turns), rendered(wire, *turns, said("assistant", "So."))
    assert list(first.id_map) == list(second.id_map)
    assert problems(wire, payload_of(first)) == []


@pytest.mark.parametrize("wire", NATIVE)
def test_names_that_look_alike_after_the_change_stay_apart(wire: str) -> None:
    names = ("look up", "look/up", "look_up", "Größe", "9" * 80, "🙂")
    tools = tuple(ToolDeclaration(name, "d") for name in names)
    request = PromptRequest(tool_declarations=tools, current_text="Hi")
    rendering = render_for(wire, request, ROUTES[wire])
    assert problems(wire, payload_of(rendering)) == []
    assert set(rendering.name_map.values()) == set(names) - {"look_up"}


def test_two_tools_of_one_name_are_refused() -> None:
    tools = (ToolDeclaration("a", "one"), ToolDeclaration("a", "two"))
    with pytest.raises(RenderError, match="two tools are called 'a'"):
        render_for("gemini", PromptRequest(tool_declarations=tools), ROUTES["gemini"])


@pytest.mark.parametrize("wire", NATIVE)
def test_reasoning_of_another_model_is_dropped_with_a_note(wire: str) -> None:
    state = ProviderState("anthropic", "claude-of-old", {"signature": "s"})
    rendering = rendered(wire, said("assistant", ReasoningPart("Hm.", state), "So."))
    assert "foreign-state" in codes(rendering)
    assert b"Hm." not in rendering.body()


@pytest.mark.parametrize("wire", NATIVE)
def test_arguments_that_json_cannot_say_are_refused(wire: str) -> None:
    deep: dict[str, object] = {}
    for _ in range(10_000):
        deep = {"a": deep}
    for arguments in ({"n": float("nan")}, deep):
        with pytest.raises(RenderError, match="arguments of an earlier call of 'look_up'"):
            rendered(wire, said("assistant", ToolCallPart("a", "look_up", arguments)))


@pytest.mark.parametrize("wire", list(RENDERERS))
def test_a_model_without_native_tools_gets_a_catalogue_never_nothing(wire: str) -> None:
    route = ROUTES[wire]
    unable = type(route)(route.name, route.backend, route.model, facts={"native_tools": False})
    request = PromptRequest(
        tool_declarations=(ToolDeclaration("look_up", "Look a word up."),),
        conversation_history=(
            said("assistant", ToolCallPart("a", "look_up", {"word": "x"})),
            said("user", ToolResultPart("a", "look_up", "a letter")),
        ),
        current_text="So?",
        words=WORDS,
    )
    body = render_for(wire, request, unable).body().decode()
    assert "look_up: Look a word up." in body
    assert '"tools"' not in body
    if wire != "live":
        assert "[result of look_up]" in body


@pytest.mark.parametrize("wire", NATIVE)
def test_a_model_that_cannot_see_is_told_so(wire: str) -> None:
    route = ROUTES[wire]
    blind = type(route)(route.name, route.backend, route.model, facts={"vision": False})
    image = MediaPart("image", "image/png", PNG, name="cat.png")
    request = PromptRequest(current_text="Hm?", attachments=(image,), words=WORDS)
    rendering = render_for(wire, request, blind)
    assert b"[image cat.png was attached but not sent: this model cannot see" in rendering.body()
    assert codes(rendering) == ["media-not-sent"]


def test_an_attachment_that_lies_about_its_type_is_sent_as_what_it_is() -> None:
    lie = MediaPart("image", "image/gif", PNG, name="cat.gif")
    request = PromptRequest(current_text="Hm?", attachments=(lie,))
    rendering = render_for("anthropic", request, ROUTES["anthropic"])
    assert codes(rendering) == ["media-type"]
    assert b'"media_type":"image/png"' in rendering.body()


def test_an_address_that_is_no_web_address_is_refused() -> None:
    image = MediaPart("image", "image/png", url="file:///etc/passwd")
    with pytest.raises(RenderError, match="begins with 'file'"):
        render_for("gemini", PromptRequest(attachments=(image,)), ROUTES["gemini"])


@pytest.mark.parametrize("wire", NATIVE)
def test_facts_of_the_turn_never_stand_before_a_cache_boundary(wire: str) -> None:
    secret = Span("Clock says 12:01.", stability=Stability.TURN)
    request = PromptRequest(
        system_instruction=(Span("S"),),
        conversation_history=(said("user", "Hi"), said("assistant", "Hello")),
        current_text="And now?",
        runtime_ctx=RuntimeContext(spans=(secret,), timestamp="2026-01-01T12:01:00Z"),
    )
    rendering = render_for(wire, request, ROUTES[wire])
    clock = next(p for p in rendering.source_map() if p.span is secret)
    lasting = [p for p in rendering.source_map() if p.span.stability is not Stability.TURN]
    tail = [p for p in lasting if p.start > clock.start and p.span.source != "layout"]
    assert tail == []
    assert b"2026-01-01T12:01" not in rendering.body()
