"""Whether a tool may, must or must not be used, in the words of each format."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from mentis.errors import RenderError
from mentis.render.wires import RENDERERS, render_for
from mentis.values.request import PromptRequest, ToolChoice

from .conftest import LOOK_UP, NATIVE, ROUTES, SEND, WORDS
from .oracle import validate
from .rules import problems

KEYS = ("tool_choice", "toolConfig", "parallel_tool_calls")
WANTED = {
    "openai-chat": {
        "none": "none",
        "required": "required",
        "one": {"type": "function", "function": {"name": "message_send_now_9de24d"}},
    },
    "openai-responses": {
        "none": "none",
        "required": "required",
        "one": {"type": "function", "name": "message_send_now_9de24d"},
    },
    "anthropic": {
        "none": {"type": "none"},
        "required": {"type": "any"},
        "one": {"type": "tool", "name": "message_send_now_9de24d"},
    },
    "gemini": {
        "none": {"functionCallingConfig": {"mode": "NONE"}},
        "required": {"functionCallingConfig": {"mode": "ANY"}},
        "one": {
            "functionCallingConfig": {
                "mode": "ANY",
                "allowedFunctionNames": ["message_send_now_9de24d"],
            }
        },
    },
}
CHOICES = {
    "none": ToolChoice("none"),
    "required": ToolChoice("required"),
    "one": ToolChoice("one", SEND.name),
}


def asked(choice: ToolChoice, **changes: object) -> PromptRequest:
    request = PromptRequest(
        tool_declarations=(SEND, LOOK_UP), current_text="Go.", tool_choice=choice, words=WORDS
    )
    return replace(request, **changes)  # pyright: ignore[reportArgumentType]  # test data


def sent(payload: dict[str, Any]) -> object:
    return payload.get("tool_choice", payload.get("toolConfig"))


@pytest.mark.parametrize("mode", list(CHOICES))
@pytest.mark.parametrize("wire", NATIVE)
def test_a_choice_is_said_as_the_format_says_it(wire: str, mode: str) -> None:
    rendering = render_for(wire, asked(CHOICES[mode]), ROUTES[wire])
    payload = json.loads(rendering.body())
    assert sent(payload) == WANTED[wire][mode]
    assert rendering.losses == ()
    validate(wire, payload)
    assert problems(wire, payload) == []


@pytest.mark.parametrize("wire", list(RENDERERS))
def test_auto_is_not_said_since_it_is_the_default(wire: str) -> None:
    payload = json.loads(render_for(wire, asked(ToolChoice()), ROUTES[wire]).body())
    assert not set(KEYS) & set(payload)


@pytest.mark.parametrize("mode", ["required", "one"])
def test_16_a_model_that_lets_nobody_force_a_tool_gets_auto_with_a_loss(mode: str) -> None:
    for model in ("claude-opus-5-5", "claude-sonnet-5-5", "claude-fable-5-1"):
        route = replace(ROUTES["anthropic"], model=model)
        rendering = render_for("anthropic", asked(CHOICES[mode]), route)
        assert "tool_choice" not in rendering.payload
        assert [loss.code for loss in rendering.losses] == ["tool-choice"]


def test_16_no_tool_at_all_is_not_force_and_stays() -> None:
    route = replace(ROUTES["anthropic"], model="claude-opus-5-5")
    rendering = render_for("anthropic", asked(CHOICES["none"]), route)
    assert rendering.payload["tool_choice"] == {"type": "none"}


@pytest.mark.parametrize("wire", NATIVE)
def test_33_and_37_no_choice_goes_out_without_tools(wire: str) -> None:
    rendering = render_for(wire, asked(ToolChoice("required"), tool_declarations=()), ROUTES[wire])
    assert not set(KEYS) & set(rendering.payload)
    assert [loss.code for loss in rendering.losses] == ["tool-choice"]


@pytest.mark.parametrize("wire", NATIVE)
def test_nothing_is_lost_where_there_are_no_tools_and_none_is_to_be_used(wire: str) -> None:
    rendering = render_for(wire, asked(ToolChoice("none"), tool_declarations=()), ROUTES[wire])
    assert not set(KEYS) & set(rendering.payload)
    assert rendering.losses == ()


@pytest.mark.parametrize("wire", NATIVE)
def test_a_model_with_a_text_catalogue_cannot_be_bound(wire: str) -> None:
    route = replace(ROUTES[wire], facts={"native_tools": False})
    rendering = render_for(wire, asked(CHOICES["one"]), route)
    assert not set(KEYS) & set(rendering.payload)
    assert [loss.code for loss in rendering.losses] == ["tool-choice"]


@pytest.mark.parametrize("wire", list(RENDERERS))
def test_a_tool_that_is_not_declared_cannot_be_the_one(wire: str) -> None:
    with pytest.raises(RenderError, match="the tool 'no' is to be used and is not among"):
        render_for(wire, asked(ToolChoice("one", "no")), ROUTES[wire])


@pytest.mark.parametrize("wire", NATIVE)
def test_a_choice_changes_nothing_before_it_so_the_prefix_holds(wire: str) -> None:
    free, bound = (
        render_for(wire, asked(choice), ROUTES[wire]).body()
        for choice in (ToolChoice(), CHOICES["required"])
    )
    end = free.index(b"Go.")
    assert free[:end] == bound[:end]
