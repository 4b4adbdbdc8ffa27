"""Every option of a call is sent in the words of each format, or is a loss with its name."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from mentis.errors import OptionError
from mentis.render.wires import render_for
from mentis.values.options import OPTION_NAMES, CallOptions
from mentis.values.rendering import Rendering
from mentis.values.request import PromptRequest, ToolChoice
from mentis.values.route import Route

from .conftest import LOOK_UP, NATIVE, ROUTES, WORDS, requests_for
from .oracle import validate

EVERY = CallOptions(
    temperature=0.5,
    top_p=0.9,
    top_k=40,
    min_p=0.05,
    frequency_penalty=0.1,
    presence_penalty=0.2,
    repetition_penalty=1.1,
    stop=("END",),
    seed=7,
    max_tokens=4096,
    reasoning_effort="high",
    reasoning_budget=2048,
    reasoning_summary="auto",
    tool_choice="none",
    parallel_calls=False,
    service_tier="auto",
    cache_diagnostics=True,
    compared_reply="reply_1",
    betas=("a-beta",),
    safety={"HARM_CATEGORY_HARASSMENT": "BLOCK_NONE"},
    server_tools=({"type": "web_search"},),
    headers={"x-title": "Mentis"},
    body={"metadata": {"who": "ada"}},
)
# A server of which nothing is known: whatever the format has a word for is sent.
UNKNOWN = Route("r", "openai", "some-model", url="https://h/v1", max_tokens=256)
ASKED = PromptRequest(tool_declarations=(LOOK_UP,), current_text="Go.", words=WORDS)


def rendered(route: Route, options: CallOptions, request: PromptRequest = ASKED) -> Rendering:
    from mentis.facts.abilities import wire_of

    return render_for(wire_of(route), request, route.calling(options))


def payload_of(route: Route, options: CallOptions, request: PromptRequest = ASKED) -> Any:  # noqa: ANN401  # JSON
    return json.loads(rendered(route, options, request).body())


def lost(rendering: Rendering) -> set[str]:
    codes = ("option", "sampling")
    return {loss.pointer.removeprefix("/") for loss in rendering.losses if loss.code in codes}


@pytest.mark.parametrize("wire", list(ROUTES))
def test_a_route_without_options_is_rendered_as_before(wire: str) -> None:
    request = requests_for(wire)["chat"]
    bare = render_for(wire, request, ROUTES[wire])
    assert render_for(wire, request, ROUTES[wire].calling(CallOptions())).body() == bare.body()


@pytest.mark.parametrize(
    "name", [name for name in OPTION_NAMES if name not in ("headers", "compared_reply")]
)
@pytest.mark.parametrize("wire", list(ROUTES))
def test_each_option_alone_changes_the_payload_or_is_lost_by_name(wire: str, name: str) -> None:
    """Betas change headers: of them it is only known that they are no loss where there is one."""
    only = CallOptions(**{name: getattr(EVERY, name)}, compared_reply=EVERY.compared_reply)
    route = ROUTES[wire].calling(only)
    before = render_for(wire, ASKED, ROUTES[wire])
    after = render_for(wire, ASKED, route)
    changed = before.body() != after.body()
    named = len(after.losses) > len(before.losses)
    in_text = wire in ("text", "live") and name == "max_tokens"  # a text has no length of its own
    assert changed or named or in_text or (name == "betas" and wire in NATIVE)


def test_a_server_of_which_nothing_is_known_is_sent_all_that_the_format_has() -> None:
    made = rendered(UNKNOWN, replace(EVERY, server_tools=()))
    payload = json.loads(made.body())
    assert {name: payload[name] for name in list(payload) if name not in ("tools", "messages")} == {
        "model": "some-model",
        "max_tokens": 4096,
        "temperature": 0.5,
        "seed": 7,
        "top_p": 0.9,
        "top_k": 40,
        "min_p": 0.05,
        "frequency_penalty": 0.1,
        "presence_penalty": 0.2,
        "repetition_penalty": 1.1,
        "stop": ["END"],
        "reasoning_effort": "high",
        "service_tier": "auto",
        "tool_choice": "none",
        "parallel_tool_calls": False,
        "stream": True,
        "stream_options": {"include_usage": True},
        "metadata": {"who": "ada"},
    }
    unknown = {"reasoning_budget", "reasoning_summary", "safety", "betas", "cache_diagnostics"}
    assert lost(made) == unknown


def test_a_reasoning_model_of_openai_gets_its_effort_and_names_the_rest_as_lost() -> None:
    made = rendered(ROUTES["openai-responses"], replace(EVERY, body={}))
    payload = json.loads(made.body())
    validate("openai-responses", payload)
    assert payload["reasoning"] == {"effort": "high", "summary": "auto"}
    assert payload["tools"][-1] == {"type": "web_search"}
    assert payload["service_tier"] == "auto"
    assert payload["prompt_cache_options"] == {"comparison_response_id": "reply_1"}
    assert lost(made) == {
        *("temperature", "seed", "top_p", "top_k", "min_p", "stop", "safety"),
        *("frequency_penalty", "presence_penalty", "repetition_penalty", "reasoning_budget"),
    }


def test_anthropic_gets_thinking_effort_and_one_call_at_a_time() -> None:
    search = {"type": "web_search_20250305", "name": "web_search"}
    options = replace(EVERY, body={}, server_tools=(search,), tool_choice="")
    made = rendered(ROUTES["anthropic"], options)
    payload = json.loads(made.body())
    validate("anthropic", payload)
    assert payload["thinking"] == {
        "type": "enabled",
        "budget_tokens": 2048,
        "display": "summarized",
    }
    assert payload["output_config"] == {"effort": "high"}
    assert payload["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert payload["stop_sequences"] == ["END"]
    assert payload["diagnostics"] == {"previous_message_id": "reply_1"}
    assert payload["tools"][-1] == search
    assert "temperature" not in payload
    assert "temperature" in lost(made)


@pytest.mark.parametrize(
    ("options", "thinking"),
    [
        (CallOptions(reasoning_effort="none"), {"type": "disabled"}),
        (CallOptions(reasoning_budget=0), {"type": "disabled"}),
        (CallOptions(reasoning_summary="none"), {"type": "adaptive", "display": "omitted"}),
        (CallOptions(reasoning_budget=100), None),
        (CallOptions(reasoning_budget=2000, max_tokens=2000), None),
    ],
)
def test_anthropic_thinks_as_far_as_the_options_allow(
    options: CallOptions, thinking: object
) -> None:
    made = rendered(ROUTES["anthropic"], options)
    assert json.loads(made.body()).get("thinking") == thinking
    assert (thinking is None) == ("reasoning_budget" in lost(made))


def test_gemini_gets_its_own_names_a_level_and_safety_settings() -> None:
    options = replace(EVERY, body={}, server_tools=({"googleSearch": {}},), reasoning_budget=None)
    payload = payload_of(ROUTES["gemini"], options)
    validate("gemini", payload)
    assert payload["generationConfig"] == {
        "maxOutputTokens": 4096,
        "temperature": 0.5,
        "seed": 7,
        "topP": 0.9,
        "topK": 40,
        "frequencyPenalty": 0.1,
        "presencePenalty": 0.2,
        "stopSequences": ["END"],
        "thinkingConfig": {"thinkingLevel": "HIGH", "includeThoughts": True},
    }
    assert payload["safetySettings"] == [
        {"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}
    ]
    assert payload["tools"][-1] == {"googleSearch": {}}
    assert payload["serviceTier"] == "auto"


def test_an_older_gemini_takes_a_budget_and_no_level() -> None:
    route = replace(ROUTES["gemini"], model="gemini-2.5-flash")
    made = rendered(route, CallOptions(reasoning_effort="low", reasoning_budget=512))
    config = json.loads(made.body())["generationConfig"]["thinkingConfig"]
    assert config == {"thinkingBudget": 512}
    assert lost(made) == {"reasoning_effort"}


def test_the_embedded_model_knows_one_penalty_by_another_name() -> None:
    route = Route("r", "embedded", "smollm2-135m")
    made = rendered(route, CallOptions(repetition_penalty=1.2, headers={"x-title": "x"}))
    assert json.loads(made.body())["repeat_penalty"] == 1.2
    assert lost(made) == {"headers"}


@pytest.mark.parametrize("wire", NATIVE)
def test_a_choice_of_the_request_goes_before_that_of_the_options(wire: str) -> None:
    asked = replace(ASKED, tool_choice=ToolChoice("none"))
    options = CallOptions(tool_choice="required")
    bare = render_for(wire, asked, ROUTES[wire])
    assert render_for(wire, asked, ROUTES[wire].calling(options)).body() == bare.body()


@pytest.mark.parametrize("wire", NATIVE)
def test_a_tool_that_is_not_declared_this_time_is_not_forced(wire: str) -> None:
    made = render_for(wire, ASKED, ROUTES[wire].calling(CallOptions(tool_choice="other")))
    assert made.body() == render_for(wire, ASKED, ROUTES[wire]).body()
    assert [loss.code for loss in made.losses] == ["tool-choice"]


def test_nobody_forces_a_tool_on_a_model_that_thinks_by_a_budget() -> None:
    options = CallOptions(tool_choice="look_up", reasoning_budget=2048, max_tokens=4096)
    made = rendered(ROUTES["anthropic"], options)
    assert "tool_choice" not in json.loads(made.body())
    assert "tool-choice" in [loss.code for loss in made.losses]


@pytest.mark.parametrize("wire", NATIVE)
def test_an_extra_body_takes_the_place_of_nothing_that_is_there(wire: str) -> None:
    key = next(iter(render_for(wire, ASKED, ROUTES[wire]).payload))
    with pytest.raises(OptionError, match="of its own"):
        render_for(wire, ASKED, ROUTES[wire].calling(CallOptions(body={key: "x"})))


def test_an_extra_body_adds_to_an_object_that_is_there() -> None:
    body = {"generationConfig": {"mediaResolution": "MEDIA_RESOLUTION_LOW"}}
    config = payload_of(ROUTES["gemini"], CallOptions(body=body))["generationConfig"]
    assert config == {"maxOutputTokens": 256, "mediaResolution": "MEDIA_RESOLUTION_LOW"}


@pytest.mark.parametrize("wire", NATIVE)
def test_the_source_map_holds_with_tools_of_the_provider(wire: str) -> None:
    tool: dict[str, object] = {"type": "web_search", "name": "web_search"}
    if wire == "gemini":
        tool = {"googleSearch": {}}
    request = requests_for(wire)["chat"]
    made = render_for(wire, request, ROUTES[wire].calling(CallOptions(server_tools=(tool,))))
    body = made.body()
    plain = render_for(wire, request, ROUTES[wire]).source_map()
    spans = {piece.span for piece in made.source_map()}
    assert {piece.span for piece in plain} <= spans
    assert all(0 <= piece.start < piece.end <= len(body) for piece in made.source_map())


def test_options_of_a_call_go_before_those_of_the_route() -> None:
    route = UNKNOWN.calling(CallOptions(top_p=0.1, stop=("A",), headers={"x-a": "1", "x-b": "1"}))
    options = route.calling(CallOptions(top_p=0.2, headers={"x-b": "2"}, seed=3)).options
    assert options == CallOptions(top_p=0.2, stop=("A",), headers={"x-a": "1", "x-b": "2"})
