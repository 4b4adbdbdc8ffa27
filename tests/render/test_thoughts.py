"""Thoughts that a provider wants back, read from its answer and told again in the next request."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mentis.render.wires import render_for
from mentis.settle.readers import read_all, reader_for
from mentis.values.part import Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from mentis.values.rendering import Rendering
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.trust import Trust
from mentis.values.turn import Turn

from .conftest import LOOK_UP, WORDS

UNKNOWN = Route("r", "openai", "some-model", url="https://h/v1")
CALL = {"index": 0, "id": "c1", "function": {"name": "look_up", "arguments": '{"word": "a"}'}}


def answered(route: Route, *deltas: dict[str, Any], finish: str = "tool_calls") -> tuple[Part, ...]:
    """The parts of a chat answer, as the next request is given them."""
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    reader = reader_for("openai-chat", tools=[LOOK_UP], model=route.model)
    return read_all(reader, map(json.dumps, chunks)).parts


def told_again(route: Route, parts: tuple[Part, ...]) -> Rendering:
    """The request after it, with the results of its calls."""
    calls = [part for part in parts if isinstance(part, ToolCallPart)]
    history = [Turn("assistant", parts, Trust.SELF)]
    if calls:
        results = [ToolResultPart(call.id, call.name, "b") for call in calls]
        history.append(Turn("user", tuple(results)))
    request = PromptRequest(
        tool_declarations=(LOOK_UP,),
        conversation_history=tuple(history),
        current_text="" if calls else "And?",
        words=WORDS,
    )
    return render_for("openai-chat", request, route)


def message(rendering: Rendering) -> dict[str, Any]:
    sent = json.loads(rendering.body())["messages"]
    return next(one for one in sent if one["role"] == "assistant")


def lost(rendering: Rendering) -> list[str]:
    return [loss.code for loss in rendering.losses if loss.code != "assistant-first"]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
@pytest.mark.parametrize("model", ["deepseek-v4-pro", "moonshotai/kimi-k2.5", "some-model"])
def test_a_thought_goes_back_beside_its_call_under_the_name_it_came_by(
    field: str, model: str
) -> None:
    route = Route("r", "openai", model, url="https://h/v1")
    parts = answered(route, {field: "Hm, "}, {field: "yes."}, {"tool_calls": [CALL]})
    rendering = told_again(route, parts)
    sent = message(rendering)
    assert sent[field] == "Hm, yes."
    assert sent["tool_calls"][0]["id"] == "c1"
    assert lost(rendering) == []


def test_a_thought_that_led_to_no_call_goes_back_only_where_it_always_does() -> None:
    always = Route("r", "openai", "DeepSeek-V4-Flash", url="https://h/v1")
    said = ({"reasoning_content": "Hm."}, {"content": "Yes."})
    kept = told_again(always, answered(always, *said, finish="stop"))
    assert message(kept)["reasoning_content"] == "Hm."
    left = told_again(UNKNOWN, answered(UNKNOWN, *said, finish="stop"))
    assert message(left) == {"role": "assistant", "content": "Yes."}
    assert lost(left) == ["reasoning"]


def test_the_thought_of_another_model_does_not_go_back() -> None:
    parts = answered(UNKNOWN, {"reasoning_content": "Hm."}, {"tool_calls": [CALL]})
    other = told_again(Route("r", "openai", "other-model", url="https://h/v1"), parts)
    assert "reasoning_content" not in message(other)
    assert lost(other) == ["foreign-state"]


def test_a_call_without_a_thought_carries_an_empty_one_where_one_is_demanded() -> None:
    demanding = Route("r", "openai", "kimi-k2.6", url="https://h/v1")
    foreign = answered(UNKNOWN, {"reasoning_content": "Hm."}, {"tool_calls": [CALL]})
    for parts in (foreign, (ToolCallPart("c1", "look_up", {"word": "a"}),)):
        rendering = told_again(demanding, parts)
        assert message(rendering)["reasoning_content"] == ""
        assert "reasoning" in lost(rendering)
    said = told_again(demanding, (TextPart("Yes."),))
    assert (message(said)["reasoning_content"], lost(said)) == ("", [])


def test_a_route_can_say_that_no_thought_goes_back() -> None:
    silent = Route("r", "openai", "some-model", facts={"reasoning_back": "never"})
    parts = answered(silent, {"reasoning_content": "Hm."}, {"tool_calls": [CALL]})
    rendering = told_again(silent, parts)
    assert "reasoning_content" not in message(rendering)
    assert lost(rendering) == ["reasoning"]


def test_details_go_back_alone_where_a_server_sent_both() -> None:
    detail = {"type": "reasoning.text", "text": "Hm.", "signature": "s", "index": 0}
    both = {"reasoning": "Hm.", "reasoning_details": [detail]}
    sent = message(told_again(UNKNOWN, answered(UNKNOWN, both, {"tool_calls": [CALL]})))
    assert sent["reasoning_details"] == [detail]
    assert "reasoning" not in sent


def test_the_source_map_knows_a_thought_that_goes_back() -> None:
    parts = answered(UNKNOWN, {"reasoning_content": "Hm."}, {"tool_calls": [CALL]})
    rendering = told_again(UNKNOWN, parts)
    assert any(one.pointer.endswith("/reasoning_content") for one in rendering.source_map())


def test_a_thought_nobody_signed_or_named_stays_out() -> None:
    rendering = told_again(UNKNOWN, (ReasoningPart("Hm."), TextPart("Yes.")))
    assert message(rendering) == {"role": "assistant", "content": "Yes."}
    assert lost(rendering) == ["reasoning"]


@pytest.mark.parametrize(
    ("model", "asked"), [("gpt-5.6", True), ("o3", True), ("gpt-4o", False), ("gpt-5-chat", False)]
)
def test_thoughts_that_are_not_stored_are_asked_for_in_encrypted_form(
    model: str, *, asked: bool
) -> None:
    route = Route("r", "openai-responses", model)
    sent = json.loads(
        render_for("openai-responses", PromptRequest(current_text="Hi"), route).body()
    )
    assert sent["store"] is False
    assert sent.get("include") == (["reasoning.encrypted_content"] if asked else None)


def told_to_gemini(*parts: dict[str, Any], model: str = "gemini-3-pro") -> Rendering:
    """An answer of Gemini, read and told again."""
    body = {"candidates": [{"content": {"parts": list(parts)}, "finishReason": "STOP"}]}
    reader = reader_for("gemini", model="gemini-3-pro")
    answer = read_all(reader, [json.dumps(body)]).parts
    history = (Turn("user", (TextPart("Go."),)), Turn("assistant", answer, Trust.SELF))
    request = PromptRequest(conversation_history=history, current_text="And?", words=WORDS)
    return render_for("gemini", request, Route("r", "gemini", model))


def model_parts(rendering: Rendering) -> list[dict[str, Any]]:
    contents = json.loads(rendering.body())["contents"]
    return [part for one in contents if one["role"] == "model" for part in one["parts"]]


OWN: list[dict[str, Any]] = [
    {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "s1"},
    {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
    {"toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["a"]}}},
    {"toolResponse": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "response": {"a": 1}}},
    {"text": "One."},
]


def test_what_gemini_ran_itself_goes_back_as_it_came() -> None:
    rendering = told_to_gemini(*OWN)
    assert model_parts(rendering) == OWN
    assert rendering.losses == ()


def test_what_gemini_ran_itself_is_named_as_lost_on_another_model() -> None:
    rendering = told_to_gemini(*OWN, model="gemini-3-flash")
    assert model_parts(rendering) == [{"text": "One."}]
    assert {loss.code for loss in rendering.losses} == {"foreign-state"}


def test_a_part_of_gemini_that_nobody_knows_is_named_as_lost() -> None:
    rendering = told_to_gemini({"hologram": {"a": 1}, "thoughtSignature": "s"}, {"text": "One."})
    assert model_parts(rendering) == [{"text": "One."}]
    assert lost(rendering) == ["reasoning"]


def test_a_picture_that_gemini_signed_goes_back_with_its_signature() -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "aGk="}, "thoughtSignature": "s"}
    rendering = told_to_gemini(picture)
    assert model_parts(rendering) == [picture]
    assert rendering.losses == ()
    other = told_to_gemini(picture, model="gemini-3-flash")
    assert "inlineData" not in model_parts(other)[0]
    assert [loss.code for loss in other.losses] == ["foreign-state", "media-not-sent"]
