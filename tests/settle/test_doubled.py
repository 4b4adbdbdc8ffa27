"""A key that stands twice in the arguments of a call: which of the two is meant, nobody knows."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from mentis.settle.readers import read_all, reader_for
from mentis.values.reply import Reply
from mentis.values.tool import ToolDeclaration

PAY = ToolDeclaration("pay", "Pays.", {"type": "object"})
TWICE = '{"to": "Ann", "amount": 1, "amount": 1000}'
NESTED = '{"list": [{"amount": 1, "amount": 1000}]}'


def read(wire: str, *events: str) -> Reply:
    return read_all(reader_for(wire, tools=[PAY]), events)


def chat(arguments: str) -> str:
    call = f'{{"index":0,"id":"c","function":{{"name":"pay","arguments":{arguments}}}}}'
    return f'{{"choices":[{{"delta":{{"tool_calls":[{call}]}},"finish_reason":"tool_calls"}}]}}'


def responses(arguments: str) -> str:
    item = {"type": "function_call", "id": "f", "call_id": "c", "name": "pay"}
    output = [{**item, "arguments": arguments}]
    body = {"id": "r", "object": "response", "status": "completed", "output": output}
    return json.dumps(body)


def claude(arguments: str) -> str:
    block = f'{{"type":"tool_use","id":"c","name":"pay","input":{arguments}}}'
    return f'{{"type":"message","role":"assistant","content":[{block}],"stop_reason":"tool_use"}}'


def gemini(arguments: str, key: str = "functionCall") -> str:
    part = f'{{"{key}":{{"name":"pay","args":{arguments}}}}}'
    return f'{{"candidates":[{{"content":{{"parts":[{part}]}},"finishReason":"STOP"}}]}}'


FORMS: list[tuple[str, Callable[[str], str]]] = [
    ("openai-chat", lambda raw: chat(json.dumps(raw))),
    ("openai-chat", chat),
    ("openai-responses", responses),
    ("anthropic", claude),
    ("gemini", gemini),
    ("gemini", lambda raw: gemini(raw, "function_call")),
    ("gemini", lambda raw: f"[{gemini(raw)}]"),
    ("text", lambda raw: f'{{"name": "pay", "arguments": {raw}}}'),
    ("text", lambda raw: f'<tool_call>{{"name": "pay", "arguments": {raw}}}</tool_call>'),
    ("text", lambda raw: f"<function=pay>{raw}</function>"),
]


@pytest.mark.parametrize("arguments", [TWICE, NESTED])
@pytest.mark.parametrize(("wire", "form"), FORMS)
def test_on_every_wire_it_is_an_error_with_what_was_said(
    wire: str, form: Callable[[str], str], arguments: str
) -> None:
    reply = read(wire, form(arguments))
    assert reply.actions == ()
    (problem,) = reply.errors
    assert (problem.code, problem.action) == ("bad-arguments", "pay")
    assert "'amount' stands twice" in problem.message
    assert problem.raw == arguments


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "pay", "arguments": {"amount": 1}, "arguments": {"amount": 1000}}',
        '{"pay": {"amount": 1}, "pay": {"amount": 1000}}',
        '{"actions": [{"type": "pay"}], "actions": []}',
        '{"actions": [{"type": "pay", "payload": {}, "payload": {"amount": 1}}]}',
        (
            '<invoke name="pay"><parameter name="amount">1</parameter>'
            '<parameter name="amount">1000</parameter></invoke>'
        ),
    ],
)
def test_a_call_written_twice_over_in_the_words_is_not_guessed(text: str) -> None:
    reply = read("text", text)
    assert reply.actions == ()
    assert [problem.code for problem in reply.errors] in (["bad-shape"], ["bad-arguments"])


def test_the_same_key_in_two_objects_is_fine() -> None:
    reply = read("gemini", gemini('{"a": {"amount": 1}, "b": {"amount": 2}}'))
    assert [action.payload for action in reply.actions] == [
        {"a": {"amount": 1}, "b": {"amount": 2}}
    ]


def test_a_key_twice_elsewhere_in_an_event_does_not_matter() -> None:
    event = claude('{"amount": 1}').replace('"role"', '"role":"x","role"')
    assert [action.payload for action in read("anthropic", event).actions] == [{"amount": 1}]
