"""A trace processor for the OpenAI Agents SDK: its generations and responses become entries, each
with the agents, handoffs and tools around it.

It has the methods of `agents.tracing.TracingProcessor` and needs none of its classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias, cast

from mentis.values.json import JsonObject, json_object

from .owned_recording import OwnedRecording, own_recording
from .span_calls import SpanCall, SpanSource, StepKind, TraceStep, span_copy, steps_copy
from .trace_tree import TraceTree

Foreign: TypeAlias = Any  # of the SDK: traces, spans and their data

_KINDS: Mapping[str, StepKind] = {"agent": "agent", "function": "tool", "handoff": "handoff"}
_OPENAI = "openai"


def trace_processor(
    home: str | Path, *, name: str, tell: Callable[[str], None] | None = None
) -> RecordingTraceProcessor:
    """A processor for `agents.add_trace_processor`, which records as `recorded/NAME` in this home.

    `tell` hears what could not be recorded, by default the logger `mentis.recording`.
    """
    return RecordingTraceProcessor(own_recording(home, name, tell=tell))


class RecordingTraceProcessor:
    """Records calls by their spans. It never raises, and never waits for the record."""

    def __init__(self, recording: OwnedRecording) -> None:
        self._recording = recording
        self._tree = TraceTree("openai-agents")

    @property
    def agent(self) -> str:
        """The agent in the record: `recorded/NAME`."""
        return self._recording.agent

    def on_trace_start(self, trace: Foreign) -> None:
        """A run begins; a `group_id` is its conversation."""
        with self._recording.guarded():
            self._tree.open(trace.trace_id, str(getattr(trace, "group_id", None) or ""))

    def on_trace_end(self, trace: Foreign) -> None:
        """A run is over; what was done after its last call is recorded by itself."""
        with self._recording.guarded():
            rest, recording = self._tree.close(trace.trace_id), self._recording
            if rest is not None:
                recording.offer(steps_copy(rest, recording.now(), limit=recording.body_bytes))

    def on_span_start(self, span: Foreign) -> None:
        """It may stand above a call."""
        with self._recording.guarded():
            data = span.span_data
            kind = _KINDS.get(data.type, "other")
            name = str(getattr(data, "name", None) or data.type)
            parent = span.parent_id or ""
            self._tree.begin(span.trace_id, span.span_id, parent, kind=kind, name=name)

    def on_span_end(self, span: Foreign) -> None:
        """A call, a tool or a handoff has come to its end."""
        with self._recording.guarded():
            data, recording = span.span_data, self._recording
            match data.type:
                case "response":
                    call = self._response(span, data)
                case "generation":
                    call = self._generation(span, data)
                case "function":
                    return self._step(span, "tool", data.name)
                case "handoff":
                    to, by = str(data.to_agent or ""), str(data.from_agent or "")
                    self._tree.hand_over(span.trace_id, to, by=by)
                    return self._step(span, "handoff", to)
                case _:
                    return None
            recording.offer(span_copy(call, recording.targets, limit=recording.body_bytes))
        return None

    def force_flush(self) -> None:
        """Wait until what has ended is written."""
        self._recording.flush()

    def shutdown(self) -> None:
        """Write what waits, and let go of the home."""
        self._recording.close()

    def _step(self, span: Foreign, kind: StepKind, name: str) -> None:
        milliseconds = round(_seconds(span) * 1000)
        parent = span.parent_id or ""
        step = TraceStep(kind, name, span.span_id, parent, milliseconds, _error(span))
        self._tree.add(span.trace_id, step)

    def _response(self, span: Foreign, data: Foreign) -> SpanCall:
        """Of Responses: the answer repeats all that was asked but the messages."""
        answer = _plain(data.response)
        told = ("model", "instructions", "tools", "previous_response_id", "prompt_cache_key")
        said: Foreign = data.input or ()
        request: JsonObject = {
            **{name: answer[name] for name in told if answer.get(name)},
            "input": [{"role": "user", "content": said}]
            if isinstance(said, str)
            else [_plain(one) for one in said],
        }
        source = replace(self._source(span), wire="openai-responses", backend="openai-responses")
        return SpanCall(
            source, _OPENAI, request, answer or None, _time(span), _seconds(span), _error(span)
        )

    def _generation(self, span: Foreign, data: Foreign) -> SpanCall:
        """Of Chat Completions, or of whatever was made to look like it."""
        said: Foreign = data.input or ()
        asked = [_plain(one) for one in said]
        answers: Foreign = data.output or ()
        choices = [
            {"index": number, "message": _plain(one), "finish_reason": _finish(_plain(one))}
            for number, one in enumerate(answers)
        ]
        usage = _usage(json_object(data.usage))
        answered: JsonObject = {"object": "chat.completion", "model": data.model or ""}
        answer = {**answered, "choices": choices, **({"usage": usage} if usage else {})}
        config = json_object(_plain(data.model_config))
        url = str(config.get("base_url") or "")
        provider = self._recording.target(url).name if url else _OPENAI
        return SpanCall(
            self._source(span),
            provider,
            {"model": data.model or "", "messages": asked},
            answer if choices or usage else None,
            _time(span),
            _seconds(span),
            _error(span),
        )

    def _source(self, span: Foreign) -> SpanSource:
        return self._tree.source(span.trace_id, span.span_id, span.parent_id or "")


def _plain(value: Foreign) -> dict[str, object]:
    if value is None:
        return {}
    if hasattr(value, "model_dump"):
        return cast("dict[str, object]", value.model_dump(mode="json", exclude_none=True))
    return dict(json_object(value))


def _usage(told: JsonObject) -> JsonObject:
    if not told:
        return {}
    read, made = (json_object(told.get(f"{way}_tokens_details")) for way in ("input", "output"))
    return {
        "prompt_tokens": told.get("input_tokens", 0),
        "completion_tokens": told.get("output_tokens", 0),
        "prompt_tokens_details": dict(read),
        "completion_tokens_details": dict(made),
    }


def _finish(message: JsonObject) -> str:
    return "tool_calls" if message.get("tool_calls") else "stop"


def _error(span: Foreign) -> str:
    return str(json_object(span.error).get("message") or "error") if span.error else ""


def _time(span: Foreign) -> datetime:
    return datetime.fromisoformat(span.started_at)


def _seconds(span: Foreign) -> float:
    return (datetime.fromisoformat(span.ended_at) - _time(span)).total_seconds()
