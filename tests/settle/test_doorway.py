"""A tool that only the text told of is called through the doorway, and nothing else is."""

from __future__ import annotations

import json

import pytest

from mentis.settle.readers import read_all, reader_for
from mentis.values.action import Action
from mentis.values.part import ToolCallPart
from mentis.values.reply import Reply
from mentis.values.tool import ToolDeclaration

DOOR = ToolDeclaration("use_tool", "Calls a tool by its name.")
TOLD = ToolDeclaration(
    "look_up", "Looks up.", {"type": "object", "properties": {"row": {"type": "integer"}}}
)


def called(arguments: object, *, name: str = "use_tool", doorway: str = "use_tool") -> Reply:
    call = {"id": "c1", "function": {"name": name, "arguments": json.dumps(arguments)}}
    events: list[dict[str, object]] = [
        {"choices": [{"delta": {"tool_calls": [{"index": 0, **call}]}}]},
        {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]},
    ]
    reader = reader_for("openai-chat", tools=(DOOR, TOLD), doorway=doorway)
    return read_all(reader, [json.dumps(event) for event in events])


def together(arguments: object) -> Reply:
    use = {"recipient_name": "functions.use_tool", "parameters": arguments}
    return called({"tool_uses": [use]}, name="parallel")


def test_the_tool_behind_the_doorway_is_called_and_what_was_said_is_replayed() -> None:
    arguments = {"name": "look_up", "arguments": {"row": 3.0}}
    reply = called(arguments)
    assert reply.actions == (Action("look_up", {"row": 3}, "native", "c1"),)
    (part,) = reply.parts
    assert isinstance(part, ToolCallPart)
    assert (part.name, part.arguments) == ("use_tool", arguments)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"name": "use_tool", "arguments": {"name": "look_up"}}, "cannot call itself"),
        ({"name": "look_up", "arguments": "row 3"}, "has to be an object: not JSON"),
        ({"name": "look_up", "arguments": [3]}, "has to be an object: not an object but a list"),
        ({"name": "look_up", "row": 3}, "'row' stands beside `name` and `arguments`"),
        ({"name": 7, "arguments": {}}, "`name` has to be the name of a tool"),
        ({}, "`name` has to be the name of a tool"),
    ],
)
def test_what_cannot_be_a_call_through_the_doorway_is_a_problem_that_says_why(
    arguments: object, why: str
) -> None:
    for reply in (called(arguments), together(arguments)):
        assert reply.actions == ()
        (problem,) = reply.errors
        assert problem.code == "bad-arguments"
        assert why in problem.message


def test_a_tool_that_was_not_told_of_is_named_and_not_the_doorway() -> None:
    (action,) = called({"name": "never_told", "arguments": {}}).actions
    assert action.type == "never_told"


@pytest.mark.parametrize("given", [{"arguments": '{"row": 3}'}, {"arguments": {"row": 3}}, {}])
def test_what_was_read_leniently_is_noted(given: dict[str, object]) -> None:
    reply = called({"name": "look_up", **given})
    (action,) = reply.actions
    assert (action.type, action.payload) == ("look_up", {"row": 3} if given else {})
    noted = [note.code for note in reply.notes]
    assert noted == ([] if given == {"arguments": {"row": 3}} else ["doorway-arguments"])


def test_the_doorway_is_opened_in_a_call_of_several_too() -> None:
    arguments = {"name": "look_up", "arguments": {"row": 3}}
    reply = together(arguments)
    assert reply.actions == (Action("look_up", {"row": 3}, "recovered", "c1_0"),)
    (part,) = reply.parts
    assert isinstance(part, ToolCallPart)
    assert (part.name, part.arguments) == ("use_tool", arguments)


def test_a_tool_of_the_agents_own_by_that_name_is_no_doorway() -> None:
    (action,) = called({"name": "look_up", "arguments": {}}, doorway="").actions
    assert action.type == "use_tool"
