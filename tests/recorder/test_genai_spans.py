"""GenAI spans, in the conventions of several years, become the same call."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mentis.recorder.genai_spans import TracedSpan, end_span
from mentis.recorder.otlp import JSON, read_request, read_spans, response_body
from mentis.recorder.span_calls import SpanCall
from mentis.recorder.trace_tree import TraceTree
from mentis.values.json import JsonObject

TRACE, SPAN = "a" * 32, "b" * 16
BASE = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5"}
USED = {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}
ASKED = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "42"},
]
PARTS = [
    {"role": "user", "parts": [{"type": "text", "content": "Hello"}]},
    {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {"at": 1}}],
        "finish_reason": "tool_call",
    },
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "42"}]},
]
ANSWER_PARTS = [
    {
        "role": "assistant",
        "parts": [{"type": "text", "content": "It is 42."}],
        "finish_reason": "stop",
    }
]
MESSAGES = {
    "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "Be brief."}]),
    "gen_ai.input.messages": json.dumps(PARTS),
    "gen_ai.output.messages": json.dumps(ANSWER_PARTS),
}
TODAY = {**BASE, **USED, "gen_ai.provider.name": "anthropic", **MESSAGES}
EVENTS: tuple[tuple[str, JsonObject], ...] = (
    ("gen_ai.system.message", {"content": "Be brief."}),
    ("gen_ai.user.message", {"content": "Hello"}),
    ("gen_ai.assistant.message", {"tool_calls": json.dumps([CALL])}),
    ("gen_ai.tool.message", {"id": "c1", "content": "42"}),
    (
        "gen_ai.choice",
        {"finish_reason": "stop", "message": json.dumps({"content": "It is 42."})},
    ),
)
OLD = {**BASE, **USED, "gen_ai.system": "anthropic"}
INDEXED = {
    "gen_ai.system": "anthropic",
    "gen_ai.request.model": "gpt-5",
    "gen_ai.usage.prompt_tokens": 9,
    "gen_ai.usage.completion_tokens": 2,
    "gen_ai.prompt.0.role": "system",
    "gen_ai.prompt.0.content": "Be brief.",
    "gen_ai.prompt.1.role": "user",
    "gen_ai.prompt.1.content": "Hello",
    "gen_ai.prompt.2.role": "assistant",
    "gen_ai.prompt.2.tool_calls.0.id": "c1",
    "gen_ai.prompt.2.tool_calls.0.name": "look",
    "gen_ai.prompt.2.tool_calls.0.arguments": '{"at": 1}',
    "gen_ai.prompt.3.role": "tool",
    "gen_ai.prompt.3.tool_call_id": "c1",
    "gen_ai.prompt.3.content": "42",
    "gen_ai.completion.0.role": "assistant",
    "gen_ai.completion.0.content": "It is 42.",
    "gen_ai.completion.0.finish_reason": "stop",
}


def span(attributes: JsonObject, events: tuple[tuple[str, JsonObject], ...] = ()) -> TracedSpan:
    return TracedSpan(TRACE, SPAN, "", "chat gpt-5", 10**18, 10**18 + 5 * 10**8, attributes, events)


def call_of(attributes: JsonObject, events: tuple[tuple[str, JsonObject], ...] = ()) -> SpanCall:
    call = end_span(TraceTree("test"), span(attributes, events))
    assert call is not None
    return call


@pytest.mark.parametrize(
    ("attributes", "events"),
    [
        pytest.param(TODAY, (), id="attributes of today"),
        pytest.param(
            {**BASE, **USED, "gen_ai.provider.name": "anthropic"}
            | {"gen_ai.system_instructions": MESSAGES["gen_ai.system_instructions"]},
            (("gen_ai.client.inference.operation.details", MESSAGES),),
            id="event of today",
        ),
        pytest.param(OLD, EVENTS, id="an event for each message"),
        pytest.param(
            {**OLD, "events": json.dumps([{"event.name": n, **told} for n, told in EVENTS])},
            (),
            id="events as one attribute",
        ),
        pytest.param(
            OLD,
            (
                ("gen_ai.content.prompt", {"gen_ai.prompt": json.dumps(ASKED)}),
                (
                    "gen_ai.content.completion",
                    {
                        "gen_ai.completion": json.dumps(
                            [{"role": "assistant", "content": "It is 42."}]
                        )
                    },
                ),
            ),
            id="contents as events",
        ),
        pytest.param(INDEXED, (), id="indexed attributes"),
    ],
)
def test_conventions_of_several_years_tell_the_same_call(
    attributes: JsonObject, events: tuple[tuple[str, JsonObject], ...]
) -> None:
    call = call_of(attributes, events)
    assert call.request == {"model": "gpt-5", "messages": ASKED}
    answer: Any = call.answer
    assert answer["choices"][0]["message"]["content"] == "It is 42."
    assert (answer["usage"]["prompt_tokens"], answer["usage"]["completion_tokens"]) == (9, 2)
    assert (call.provider, call.source.backend, call.seconds) == ("anthropic", "anthropic", 0.5)


def test_a_span_without_content_still_tells_whom_it_asked_and_what_it_used() -> None:
    call = call_of({**OLD, "gen_ai.response.finish_reasons": ("stop",)})
    assert call.request == {"model": "gpt-5", "messages": []}
    answer: Any = call.answer
    assert answer["usage"]["prompt_tokens"] == 9
    assert answer["choices"][0]["finish_reason"] == "stop"


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def otlp_span(attributes: dict[str, Any], **more: object) -> dict[str, Any]:
    told = [{"key": name, "value": {"stringValue": text}} for name, text in attributes.items()]
    ids = {"traceId": TRACE, "spanId": SPAN, "name": "chat", "attributes": told}
    return {**ids, "startTimeUnixNano": "1", "endTimeUnixNano": "2", **more}


def test_what_stands_above_a_call_is_known_also_when_it_is_sent_behind_it() -> None:
    agent = otlp_span(
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk"}, spanId="c" * 16
    )
    tool = otlp_span(
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"},
        spanId="d" * 16,
        parentSpanId="c" * 16,
    )
    chat = otlp_span(BASE, parentSpanId="c" * 16, endTimeUnixNano="3")
    read = read_spans(otlp(chat, tool, {**agent, "endTimeUnixNano": "4"}), TraceTree("test"))
    (call,) = read.calls
    assert call.source.above == ("agent desk",)
    assert [(step.kind, step.name) for step in call.source.steps] == [("tool", "look")]


def test_a_span_that_is_sent_again_is_recorded_once() -> None:
    tree = TraceTree("test")
    assert len(read_spans(otlp(otlp_span(BASE)), tree).calls) == 1
    assert read_spans(otlp(otlp_span(BASE)), tree).calls == []


def test_spans_that_cannot_be_read_are_counted_and_the_others_taken() -> None:
    bad = otlp_span({**BASE, "gen_ai.input.messages": '{"not": "a list"}'}, spanId="e" * 16)
    request = otlp(otlp_span(BASE, traceId="zz"), bad, otlp_span(BASE))
    read = read_spans(request, TraceTree("test"))
    assert (len(read.calls), read.rejected) == (1, 2)
    assert json.loads(response_body(read, JSON)) == {
        "partialSuccess": {
            "rejectedSpans": 2,
            "errorMessage": "a span cannot be read: traceId is 'zz', which is no id",
        }
    }


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*BASE, "spans", "attributes", "key", "value"]), inner)
    ),
    max_leaves=12,
)


@settings(max_examples=40, deadline=None)
@given(VALUES)
def test_whatever_is_sent_is_read_or_refused(value: object) -> None:
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": value}]}]}).encode()
    read = read_spans(read_request(body, JSON), TraceTree("test"))
    assert read.calls == []
