"""The cache plan, its marks in each format, and what breaks a prefix."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mentis.render.compare import compare, first_difference, read_before
from mentis.render.cuts import cuts_of, digests_at, strip_marks
from mentis.render.gemini_cache import cache_request, with_cached_content
from mentis.render.wires import RENDERERS, render_for
from mentis.values.part import ToolCallPart, ToolResultPart
from mentis.values.rendering import Rendering
from mentis.values.request import PromptRequest, RuntimeContext
from mentis.values.route import Route
from mentis.values.source_map import FORM
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.tool import ToolDeclaration
from mentis.values.turn import Turn

from .conftest import LOOK_UP, NATIVE, ROUTES, requests_for, said

MARKS = (b"cache_control", b"prompt_cache")


def told(wire: str, turns: tuple[Turn, ...], text: str, **changes: object) -> Rendering:
    request = PromptRequest(
        system_instruction=(Span("Who you are."), Span(" Today.", stability=Stability.SESSION)),
        tool_declarations=(LOOK_UP,),
        conversation_history=turns,
        current_text=text,
        runtime_ctx=RuntimeContext(spans=(Span(f"{text}?", stability=Stability.TURN),)),
    )
    changed = replace(request, **changes)  # pyright: ignore[reportArgumentType]  # test data
    return render_for(wire, changed, ROUTES_CACHED[wire])


@pytest.mark.parametrize("wire", list(RENDERERS))
def test_without_caching_there_is_no_mark_and_no_plan(wire: str) -> None:
    off = replace(ROUTES[wire], caching=False)
    rendering = render_for(wire, requests_for(wire)["chat"], off)
    assert not any(mark in rendering.body() for mark in MARKS)
    assert rendering.cache_plan.boundaries == ()


@pytest.mark.parametrize("wire", list(RENDERERS))
def test_where_nothing_is_planned_the_one_cut_stands_behind_all_that_is_read(wire: str) -> None:
    off = replace(ROUTES[wire], caching=False)
    for name, request in requests_for(wire).items():
        rendering = render_for(wire, request, off)
        read = [one for one in rendering.source_map() if one.span.source != FORM]
        (cut,) = cuts_of(rendering)
        assert cut.text.replace("\n", "") == "".join(one.span.text for one in read).replace(
            "\n", ""
        ), name
        assert cut.written == any(one.form == "json" for one in read)
        assert read[-1].pointer.startswith(cut.pointer)
        assert cut.end >= read[-1].end
        assert rendering.body()[cut.end : cut.end + 1] in (b"]", b",", b"}"), name
        assert cut.digest == digests_at(rendering, [cut.end])[cut.end]


def test_a_server_of_unknown_make_gets_no_marks() -> None:
    route = replace(ROUTES["openai-chat"], model="some-model")
    body = render_for("openai-chat", requests_for("openai-chat")["chat"], route).body()
    assert not any(mark in body for mark in MARKS)


@pytest.mark.parametrize("wire", NATIVE)
def test_boundaries_grow_and_follow_the_order_of_matching(wire: str) -> None:
    rendering = render_for(wire, requests_for(wire)["chat"], ROUTES[wire])
    plan = rendering.cache_plan
    assert [b.region for b in plan.boundaries] == ["tools", "stable", "session", "history"]
    cuts = cuts_of(rendering)
    assert all(one.end <= other.end for one, other in pairwise(cuts))


# What opens a live session holds no conversation, so no turn extends another.
GROWING = [wire for wire in RENDERERS if wire != "live"]
ROUTES_CACHED = {**ROUTES, "text": Route("r", "scripted", "some-model", max_tokens=256)}


@pytest.mark.parametrize("wire", GROWING)
@settings(max_examples=15)
@given(texts=st.lists(st.text(min_size=1).filter(str.strip), min_size=2, max_size=5))
def test_consecutive_turns_extend_the_same_prefix(wire: str, texts: list[str]) -> None:
    clean = [text.encode("utf-8", "replace").decode() for text in texts]
    turns: tuple[Turn, ...] = ()
    before: Rendering | None = None
    for number, text in enumerate(clean):
        rendering = told(wire, turns, text)
        if before is not None:
            divergence = compare(before, rendering)
            assert divergence is not None
            assert divergence.lost == (), divergence
            assert divergence.kept == len(before.cache_plan.boundaries) > 0
            cached = [cut for cut in cuts_of(before) if cut.region != "turn"][-1]
            old, new = strip_marks(before).body(), strip_marks(rendering).body()
            assert old[: cached.end] == new[: cached.end], "byte by byte"
            assert digests_at(rendering, [cached.end])[cached.end] == cached.digest
        before = rendering
        call = ToolCallPart(f"c{number}", "look_up", {"word": text})
        result = ToolResultPart(f"c{number}", "look_up", text)
        turns = (*turns, said("user", text), said("assistant", call, result, "So it is."))


@pytest.mark.parametrize(
    ("changes", "source", "lost"),
    [
        ({"system_instruction": (Span("Somebody else.", block="identity"),)}, "identity", 3),
        ({"tool_declarations": (ToolDeclaration("look_up", "New."),)}, "", 4),
    ],
)
@pytest.mark.parametrize("wire", NATIVE)
def test_what_breaks_the_prefix_is_named(
    wire: str, changes: dict[str, object], source: str, lost: int
) -> None:
    turns = (said("user", "Hi"), said("assistant", "Hello"))
    before, after = told(wire, turns, "A"), told(wire, turns, "A", **changes)
    divergence = compare(before, after)
    assert divergence is not None
    assert divergence.span is not None
    assert divergence.span.block == source
    assert len(divergence.lost) == lost
    assert all(cut.text for cut in divergence.lost)
    old, new = strip_marks(before).body(), strip_marks(after).body()
    assert old[: divergence.byte] == new[: divergence.byte]
    assert old[divergence.byte] != new[divergence.byte]


@pytest.mark.parametrize("wire", list(RENDERERS))
def test_equal_renderings_do_not_diverge(wire: str) -> None:
    request = requests_for(wire)["chat"]
    first, second = (render_for(wire, request, ROUTES[wire]) for _ in range(2))
    assert compare(first, second) is None


@given(st.binary(), st.binary())
def test_the_first_difference_is_the_end_of_what_is_common(old: bytes, new: bytes) -> None:
    place = first_difference(old, new)
    if place is None:
        assert old == new
        return
    assert old[:place] == new[:place]
    assert old[place : place + 1] != new[place : place + 1]


def test_a_mark_never_stands_on_a_thought_or_inside_a_result() -> None:
    request = requests_for("anthropic")["chat"]
    short = replace(request, conversation_history=request.conversation_history[:4])
    payload = json.loads(render_for("anthropic", short, ROUTES["anthropic"]).body())
    result = payload["messages"][3]["content"][0]
    assert result["type"] == "tool_result"
    assert result["cache_control"] == {"type": "ephemeral"}
    assert isinstance(result["content"], str)


@pytest.mark.parametrize(
    ("wire", "why"), [("anthropic", "mark"), ("gemini", "summary"), ("openai-chat", "tool")]
)
def test_what_may_break_a_prefix_between_turns_is_named(wire: str, why: str) -> None:
    """The exceptions: what a person or the session itself changed, never a turn going on."""
    turns = (said("user", "Hi"), said("assistant", "Hello"))
    changes: dict[str, dict[str, object]] = {
        "mark": {},  # a mark that moves is no change
        "summary": {"context_summary": (Span("Anew.", stability=Stability.SESSION),)},
        "tool": {"tool_declarations": (LOOK_UP, ToolDeclaration("new", "New."))},
    }
    apart = compare(told(wire, turns, "A"), told(wire, turns, "B", **changes[why]))
    assert apart is not None
    kept = {"mark": 4, "summary": 3, "tool": 1}
    assert apart.kept == kept[why], apart


@pytest.mark.parametrize("wire", NATIVE)
def test_an_earlier_body_alone_tells_what_was_lost(wire: str) -> None:
    turns = (said("user", "Hi"), said("assistant", "Hello"))
    before = told(wire, turns, "A")
    now = told(wire, (*turns, said("user", "A"), said("assistant", "B")), "C")
    read = read_before(json.loads(before.body()), now)
    same = compare(read, now)
    assert same is not None
    assert (same.kept, same.lost) == (4, ())
    other = told(wire, turns, "C", tool_declarations=(ToolDeclaration("look_up", "New."),))
    broken = compare(read_before(json.loads(before.body()), other), other)
    assert broken is not None
    assert len(broken.lost) == 4
    assert [cut.text for cut in broken.lost] == [cut.text for cut in cuts_of(before)[:4]]


def test_a_gemini_cache_holds_what_lasts_and_nothing_of_this_turn() -> None:
    route = replace(ROUTES["gemini"], cache_seconds=600)
    rendering = render_for("gemini", requests_for("gemini")["chat"], route)
    asked = cache_request(rendering, route)
    assert asked is not None
    assert asked.wire == "gemini-cache"
    assert list(asked.payload) == ["model", "tools", "systemInstruction", "ttl"]
    assert (asked.payload["model"], asked.payload["ttl"]) == ("models/gemini-3-pro", "600s")
    fleeting = PromptRequest(system_instruction=(Span("Now.", stability=Stability.TURN),))
    assert cache_request(render_for("gemini", fleeting, route), route) is None
    assert (
        cache_request(render_for("gemini", PromptRequest(current_text="x"), route), route) is None
    )


def test_an_explicit_gemini_cache_takes_system_text_and_tools_out_of_the_body() -> None:
    rendering = render_for("gemini", requests_for("gemini")["chat"], ROUTES["gemini"])
    cached = with_cached_content(rendering, "cachedContents/1")
    payload = json.loads(cached.body())
    assert payload["cachedContent"] == "cachedContents/1"
    assert not {"tools", "systemInstruction"} & set(payload)
    assert all(place.pointer.startswith("/contents") for place in cached.source_map())


@pytest.mark.parametrize("wire", NATIVE)
def test_warm_bodies_are_the_same_bytes_as_cold_ones(wire: str) -> None:
    request = requests_for(wire)["chat"]
    first = render_for(wire, request, ROUTES[wire])
    warm = render_for(wire, replace(request, current_text="Later."), ROUTES[wire])
    again = requests_for(wire)["chat"]  # other objects, equal content
    cold = render_for(wire, replace(again, current_text="Later."), ROUTES[wire])
    assert warm.body() == cold.body()
    assert (
        warm.body() == json.dumps(warm.payload, ensure_ascii=False, separators=(",", ":")).encode()
    )
    assert first.body() != warm.body()
