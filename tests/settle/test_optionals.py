"""A null where a field was merely optional is taken for absent, and only there."""

from __future__ import annotations

import json

from mentis.settle.optionals import without_nulls
from mentis.settle.readers import read_all, reader_for
from mentis.values.tool import ToolDeclaration

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "must": {"type": "string"},
        "may": {"type": "string"},
        "null": {"type": ["string", "null"]},
        "any": {},
        "list": {"type": "array", "items": {"$ref": "#/$defs/one"}},
        "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["must"],
    "$defs": {"one": {"type": "object", "properties": {"x": {"type": "integer"}}}},
}


def test_only_what_is_optional_and_knows_no_null_is_left_out() -> None:
    given = {
        "must": None,
        "may": None,
        "null": None,
        "any": None,
        "either": None,
        "unknown": None,
        "list": [{"x": None}, {"x": 1}],
    }
    assert without_nulls(given, SCHEMA, SCHEMA) == {
        "must": None,
        "null": None,
        "any": None,
        "either": None,
        "unknown": None,
        "list": [{}, {"x": 1}],
    }


def test_what_holds_no_such_null_is_the_same_object() -> None:
    given = {"must": "a", "list": [{"x": 1}]}
    assert without_nulls(given, SCHEMA, SCHEMA) is given


def test_a_reply_says_so_in_a_note() -> None:
    call = {"id": "c", "function": {"name": "t", "arguments": '{"must":"a","may":null}'}}
    event = json.dumps(
        {"choices": [{"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    )
    tools = (ToolDeclaration("t", "d", SCHEMA),)
    reply = read_all(reader_for("openai-chat", tools=tools), [event])
    assert [dict(action.payload) for action in reply.actions] == [{"must": "a"}]
    assert [note.code for note in reply.notes] == ["null-optional"]
