"""A model without native tools is held to the ones it was told of, by the form of its answer."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from mentis.render.wires import render_for
from mentis.settle.readers import read_all, reader_for
from mentis.values.options import CallOptions
from mentis.values.request import PromptRequest, ToolChoice
from mentis.values.route import Route
from mentis.values.tool import ToolDeclaration

LOOK = ToolDeclaration(
    "look at it",
    "Looks.",
    {
        "type": "object",
        "properties": {
            "n": {"type": "integer", "maxItems": 3},
            "word": {"type": "string", "pattern": "x", "maxLength": 100_000, "minLength": 1},
            "pattern": {"type": "string", "enum": ["a", "b"]},
        },
        "required": ["n"],
        "additionalProperties": False,
    },
)
TREE = ToolDeclaration(
    "tree",
    "Grows.",
    {
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/node"}},
        "required": ["root"],
        "$defs": {
            "node": {
                "type": "object",
                "properties": {"next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
                "required": ["next"],
            }
        },
    },
)
EMBEDDED = Route("r", "embedded", "m")


def payload(*tools: ToolDeclaration, route: Route = EMBEDDED) -> dict[str, Any]:
    request = PromptRequest(tool_declarations=tools, current_text="Hi")
    return json.loads(render_for("openai-chat", request, route).body())


def schema(*tools: ToolDeclaration) -> dict[str, Any]:
    form = payload(*tools)["response_format"]
    assert (form["type"], form["json_schema"]["name"]) == ("json_schema", "answer")
    return form["json_schema"]["schema"]


def holds(form: object, answer: object) -> bool:
    validator: Any = jsonschema.Draft202012Validator
    return validator(form).is_valid(answer)


def fits(answer: object, *tools: ToolDeclaration) -> bool:
    return holds(schema(*tools), answer)


def calling(name: str, given: object) -> dict[str, object]:
    return {"actions": [{"type": name, "payload": given}]}


def test_words_or_calls_of_the_tools_fit_and_nothing_else() -> None:
    assert fits({"text": "Hello"}, LOOK)
    assert fits(calling("look at it", {"n": 1}), LOOK)
    others: list[object] = [
        {},
        {"text": 1},
        {"text": "x", "actions": []},
        {"actions": []},
        calling("look at it", {"n": "1"}),
        calling("look at it", {"n": 1, "pattern": "c"}),
        calling("look at it", {}),
        calling("other", {}),
        {"actions": [{"type": "look at it", "payload": {"n": 1}}] * 5},
    ]
    for other in others:
        assert not fits(other, LOOK), other


@pytest.mark.parametrize(
    ("choice", "words", "look", "tree"),
    [
        (ToolChoice("none"), True, False, False),
        (ToolChoice("required"), False, True, True),
        (ToolChoice("one", "tree"), False, False, True),
    ],
)
def test_a_tool_can_be_forced_or_forbidden(
    choice: ToolChoice, words: bool, look: bool, tree: bool
) -> None:
    request = PromptRequest(tool_declarations=(LOOK, TREE), current_text="Hi", tool_choice=choice)
    rendering = render_for("openai-chat", request, EMBEDDED)
    form: Any = json.loads(rendering.body())["response_format"]["json_schema"]["schema"]
    assert (
        holds(form, {"text": "Hello"}),
        holds(form, calling("look at it", {"n": 1})),
        holds(form, calling("tree", {"root": {"next": None}})),
    ) == (words, look, tree)
    assert "tool-choice" not in [loss.code for loss in rendering.losses]


def test_references_lead_to_the_schema_they_came_with() -> None:
    grown = {"root": {"next": {"next": None}}}
    assert fits(calling("tree", grown), LOOK, TREE)
    assert not fits(calling("tree", {"root": {"next": 1}}), LOOK, TREE)


def test_what_a_grammar_cannot_say_is_a_loss_and_still_told() -> None:
    rendering = render_for(
        "openai-chat", PromptRequest(tool_declarations=(LOOK,), current_text="Hi"), EMBEDDED
    )
    lost = [loss.message for loss in rendering.losses if loss.code == "unbound"]
    assert lost == [
        "look at it: the model is not held to pattern 'x'",
        "look at it: the model is not held to maxLength 100000",
    ]
    told = json.dumps(rendering.payload["messages"])
    assert "100000" in told
    assert fits(calling("look at it", {"n": 1, "word": "y" * 2000}), LOOK)


def test_what_fits_is_what_the_reader_makes_an_action_of() -> None:
    answer = calling("look at it", {"n": 1})
    assert fits(answer, LOOK)
    reader = reader_for("text", tools=[LOOK], calls="bound")
    (action,) = read_all(reader, [json.dumps(answer)]).actions
    assert (action.type, action.payload, action.origin) == ("look at it", {"n": 1}, "json")


@pytest.mark.parametrize(
    ("route", "bound"),
    [
        (EMBEDDED, True),
        (Route("r", "openai", "m"), False),
        (Route("r", "openai", "m", facts={"native_tools": False}), False),
        (Route("r", "openai", "m", facts={"native_tools": False, "bound_answers": True}), True),
    ],
)
def test_only_where_there_are_no_native_tools_and_the_server_can(route: Route, bound: bool) -> None:
    assert ("response_format" in payload(LOOK, route=route)) is bound
    assert "response_format" not in payload(route=route)


def test_an_answer_that_is_held_to_a_form_is_not_cut_by_a_stop_word() -> None:
    route = replace(EMBEDDED, options=CallOptions(stop=("\n\n",)))
    request = PromptRequest(tool_declarations=(LOOK,), current_text="Hi")
    bound = render_for("openai-chat", request, route)
    assert "stop" not in bound.payload
    assert [loss.pointer for loss in bound.losses if loss.code == "option"] == ["/stop"]
    free = render_for("openai-chat", PromptRequest(current_text="Hi"), route)
    assert free.payload["stop"] == ["\n\n"]
