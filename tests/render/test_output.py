"""The form of an answer on every wire: as the schema of its words, or as a tool that gives it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from mentis.render.wires import render_for
from mentis.values.options import CallOptions
from mentis.values.output import OutputSchema
from mentis.values.part import TextPart
from mentis.values.rendering import Rendering
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.turn import Turn

from .conftest import IDENTITY, LOOK_UP, NATIVE, ROUTES, WORDS
from .oracle import validate
from .rules import problems

WEATHER = OutputSchema(
    "Weather",
    {
        "type": "object",
        "title": "Weather",
        "description": "How it is outside.",
        "properties": {"city": {"type": "string"}, "wind": {"type": "integer"}},
        "required": ["city"],
    },
)
CLOSED = {
    "type": "object",
    "title": "Weather",
    "description": "How it is outside.",
    "properties": {"city": {"type": "string"}, "wind": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}
NULLABLE = {
    **CLOSED,
    "properties": {"city": {"type": "string"}, "wind": {"type": ["integer", "null"]}},
    "required": ["city", "wind"],
}
# Models that take no schema for their words, each behind its wire.
PLAIN = {
    "openai-chat": replace(ROUTES["openai-chat"], model="some-model"),
    "openai-responses": replace(ROUTES["openai-responses"], model="gpt-4"),
    "anthropic": replace(ROUTES["anthropic"], model="claude-3-haiku"),
    "gemini": replace(ROUTES["gemini"], model="gemini-2.0-flash"),
}


def asked(*, tools: bool = False, **changes: Any) -> PromptRequest:  # noqa: ANN401  # test data
    request = PromptRequest(
        system_instruction=(IDENTITY,),
        tool_declarations=(LOOK_UP,) if tools else (),
        current_text="How is the weather?",
        words=WORDS,
        output=WEATHER,
    )
    return replace(request, **changes)


def sent(made: Rendering) -> dict[str, Any]:
    return json.loads(made.body())


def checked(wire: str, request: PromptRequest, route: Route) -> tuple[Rendering, dict[str, Any]]:
    made = render_for(wire, request, route)
    payload = sent(made)
    validate(wire, payload)
    assert not problems(wire, payload)
    return made, payload


NATIVE_FORMS = {
    "openai-chat": (
        ("response_format",),
        {
            "type": "json_schema",
            "json_schema": {"name": "Weather", "schema": NULLABLE, "strict": True},
        },
    ),
    "openai-responses": (
        ("text", "format"),
        {"type": "json_schema", "name": "Weather", "schema": NULLABLE, "strict": True},
    ),
    "anthropic": (("output_config", "format"), {"type": "json_schema", "schema": CLOSED}),
    "gemini": (("generationConfig", "responseJsonSchema"), dict(WEATHER.schema)),
}


@pytest.mark.parametrize("tools", [False, True], ids=["alone", "with-tools"])
@pytest.mark.parametrize("wire", NATIVE)
def test_a_model_that_takes_one_is_sent_the_schema_of_its_words(wire: str, tools: bool) -> None:
    made, payload = checked(wire, asked(tools=tools), ROUTES[wire])
    place, form = NATIVE_FORMS[wire]
    found: Any = payload
    for key in place:
        found = found[key]
    assert found == form
    assert made.output_tool == ""
    assert not {"tool_choice", "toolConfig"} & set(payload)
    if wire == "gemini":
        assert payload["generationConfig"]["responseMimeType"] == "application/json"


@pytest.mark.parametrize("wire", NATIVE)
def test_without_a_form_no_byte_is_different(wire: str) -> None:
    request = asked(tools=True, output=None)
    assert "Weather" not in render_for(wire, request, ROUTES[wire]).body().decode()


def declared(payload: dict[str, Any]) -> list[str]:
    listed = payload["tools"]
    listed = listed[0].get("functionDeclarations", listed)
    return [tool.get("function", tool)["name"] for tool in listed]


CHOICES: dict[str, tuple[object, object]] = {
    "openai-chat": ("required", {"type": "function", "function": {"name": "final_answer"}}),
    "openai-responses": ("required", {"type": "function", "name": "final_answer"}),
    "anthropic": ({"type": "any"}, {"type": "tool", "name": "final_answer"}),
    "gemini": (
        {"functionCallingConfig": {"mode": "ANY"}},
        {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["final_answer"]}},
    ),
}


@pytest.mark.parametrize("wire", NATIVE)
def test_elsewhere_a_tool_gives_the_answer_and_any_other_may_come_before_it(wire: str) -> None:
    made, payload = checked(wire, asked(tools=True), PLAIN[wire])
    assert declared(payload) == ["final_answer", "look_up"]
    assert payload.get("tool_choice", payload.get("toolConfig")) == CHOICES[wire][0]
    assert made.output_tool == "final_answer"


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "anthropic"])
def test_where_there_is_no_other_tool_that_one_is_forced(wire: str) -> None:
    _, payload = checked(wire, asked(), PLAIN[wire])
    assert declared(payload) == ["final_answer"]
    assert payload["tool_choice"] == CHOICES[wire][1]


def test_a_model_that_takes_a_schema_only_without_tools_is_sent_it_only_then() -> None:
    _, alone = checked("gemini", asked(), PLAIN["gemini"])
    assert alone["generationConfig"]["responseJsonSchema"] == WEATHER.schema
    _, beside = checked("gemini", asked(tools=True), PLAIN["gemini"])
    assert "responseJsonSchema" not in beside["generationConfig"]


def test_a_tool_of_that_name_keeps_it() -> None:
    own = replace(LOOK_UP, name="final_answer")
    made = render_for("openai-chat", asked(tool_declarations=(own,)), PLAIN["openai-chat"])
    assert declared(sent(made)) == ["final_answer", "final_answer_"]
    assert made.output_tool == "final_answer_"


FREE = OutputSchema(
    "Free",
    {"type": "object", "properties": {"counts": {"type": "object"}}, "required": ["counts"]},
)


def test_what_cannot_be_enforced_is_a_named_loss() -> None:
    chat, payload = checked("openai-chat", asked(output=FREE), ROUTES["openai-chat"])
    assert payload["response_format"]["json_schema"]["strict"] is False
    assert [loss.code for loss in chat.losses] == ["strict"]
    # Anthropic would refuse it: there the tool says it, and is not enforced.
    claude, payload = checked("anthropic", asked(output=FREE), ROUTES["anthropic"])
    assert "output_config" not in payload
    assert declared(payload) == ["final_answer"]
    assert [loss.code for loss in claude.losses] == ["strict"]


def test_the_effort_of_reasoning_stands_beside_the_form() -> None:
    route = replace(ROUTES["anthropic"], options=CallOptions(reasoning_effort="low"))
    _, payload = checked("anthropic", asked(), route)
    assert set(payload["output_config"]) == {"effort", "format"}


EMBEDDED = Route("r", "embedded", "m", max_tokens=64)


def test_an_engine_that_binds_answers_binds_the_words_where_there_is_no_tool() -> None:
    made = render_for("openai-chat", asked(), EMBEDDED)
    answer = sent(made)["response_format"]["json_schema"]
    assert answer == {"name": "Weather", "schema": WEATHER.schema, "strict": True}


def test_an_engine_that_binds_answers_to_calls_is_bound_to_one_that_answers() -> None:
    made = render_for("openai-chat", asked(tools=True), EMBEDDED)
    schema = sent(made)["response_format"]["json_schema"]["schema"]
    (form,) = schema["anyOf"]  # calls alone: no bare words
    calls = form["properties"]["actions"]["items"]["anyOf"]
    names = [call["properties"]["type"]["const"] for call in calls]
    assert names == ["final_answer", "look_up"]
    assert made.output_tool == "final_answer"


def test_a_recursive_form_keeps_its_references_when_it_is_bound() -> None:
    node = {
        "type": "object",
        "properties": {"next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}},
    }
    schema = {**node, "$defs": {"Node": node}}
    made = render_for("openai-chat", asked(output=OutputSchema("Node", schema)), EMBEDDED)
    bound = sent(made)["response_format"]["json_schema"]["schema"]
    assert bound["$ref"] == "#/$defs/answer"
    place = bound["$defs"]["answer"]["properties"]["next"]["anyOf"][0]["$ref"]
    assert place == "#/$defs/answer/$defs/Node"
    assert "Node" in bound["$defs"]["answer"]["$defs"]


def test_a_text_engine_is_told_of_it_as_of_a_tool() -> None:
    made = render_for("text", asked(), ROUTES["text"])
    assert "- final_answer: How it is outside." in str(made.payload["prompt"])
    assert made.output_tool == "final_answer"


def test_a_live_session_names_it_as_lost() -> None:
    made = render_for("live", asked(), ROUTES["live"])
    assert "not part of an opening: form of the answer" in [loss.message for loss in made.losses]


def later(request: PromptRequest) -> PromptRequest:
    return replace(request, continuation=(Turn("user", (TextPart("Go on."),)),))


@pytest.mark.parametrize("option", ["required", "look_up"])
def test_a_tool_that_options_force_is_forced_in_the_first_step_only(option: str) -> None:
    route = replace(ROUTES["openai-chat"], options=CallOptions(tool_choice=option))
    first = asked(tools=True, output=None)
    assert sent(render_for("openai-chat", first, route))["tool_choice"] != "auto"
    assert "tool_choice" not in sent(render_for("openai-chat", later(first), route))


def test_no_tools_stay_no_tools_in_every_step() -> None:
    route = replace(ROUTES["openai-chat"], options=CallOptions(tool_choice="none"))
    request = later(asked(tools=True, output=None))
    assert sent(render_for("openai-chat", request, route))["tool_choice"] == "none"


def test_where_a_tool_gives_the_answer_no_tools_means_no_other() -> None:
    route = replace(PLAIN["openai-chat"], options=CallOptions(tool_choice="none"))
    payload = sent(render_for("openai-chat", asked(tools=True), route))
    assert payload["tool_choice"] == CHOICES["openai-chat"][1]


def test_a_forced_tool_comes_first_and_the_answer_in_a_later_step() -> None:
    route = replace(PLAIN["openai-chat"], options=CallOptions(tool_choice="look_up"))
    first = sent(render_for("openai-chat", asked(tools=True), route))
    assert first["tool_choice"] == {"type": "function", "function": {"name": "look_up"}}
    second = sent(render_for("openai-chat", later(asked(tools=True)), route))
    assert second["tool_choice"] == "required"
