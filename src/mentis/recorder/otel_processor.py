"""A span processor for the SDK of OpenTelemetry: GenAI spans of this process become entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from .genai_spans import TracedSpan, begin_span, end_span
from .owned_recording import OwnedRecording, own_recording
from .span_calls import span_copy, steps_copy
from .trace_tree import TraceTree

Foreign: TypeAlias = Any  # a span of whatever SDK there is

_ERROR = "ERROR"
_MILLISECONDS = 1000


def span_processor(
    home: str | Path, *, name: str, tell: Callable[[str], None] | None = None
) -> RecordingSpanProcessor:
    """A processor for `TracerProvider.add_span_processor`: what pydantic-ai, OpenLLMetry or any
    other library tells in GenAI spans is recorded as `recorded/NAME` in this home.

    `tell` hears what could not be recorded, by default the logger `mentis.recording`.
    """
    return _processor_class()(own_recording(home, name, tell=tell))


def _processor_class() -> type[RecordingSpanProcessor]:
    """The SDK calls more of its own processors than they all have to have."""
    try:
        base = import_module("opentelemetry.sdk.trace").SpanProcessor
    except ModuleNotFoundError:
        return RecordingSpanProcessor
    return type("RecordingSpanProcessor", (RecordingSpanProcessor, base), {})


class RecordingSpanProcessor:
    """Records calls by their spans. It never raises, and never waits for the record."""

    def __init__(self, recording: OwnedRecording) -> None:
        self._recording = recording
        self._tree = TraceTree("opentelemetry")

    @property
    def agent(self) -> str:
        """The agent in the record: `recorded/NAME`."""
        return self._recording.agent

    def on_start(self, span: object, parent_context: object = None) -> None:
        """It may stand above a call."""
        del parent_context
        with self._recording.guarded():
            begin_span(self._tree, _traced(span))

    def on_end(self, span: object) -> None:
        """A call, or a tool, has come to its end."""
        with self._recording.guarded():
            traced = _traced(span)
            call = end_span(self._tree, traced)
            recording = self._recording
            if call is not None:
                limit = recording.body_bytes
                recording.offer(span_copy(call, recording.targets, limit=limit))
            if not traced.parent and (rest := self._tree.close(traced.trace)) is not None:
                recording.offer(steps_copy(rest, recording.now(), limit=recording.body_bytes))

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Wait until what has ended is written; False where it takes longer."""
        return self._recording.flush(timeout_millis / _MILLISECONDS)

    def shutdown(self) -> None:
        """Write what waits, and let go of the home."""
        self._recording.close()


def _traced(span: Foreign) -> TracedSpan:
    context, parent, status = span.get_span_context(), span.parent, getattr(span, "status", None)
    attributes = dict(span.attributes or {})
    error = ""
    if status is not None and status.status_code.name == _ERROR:
        error = str(status.description or attributes.get("error.type") or "error")
    return TracedSpan(
        f"{context.trace_id:032x}",
        f"{context.span_id:016x}",
        f"{parent.span_id:016x}" if parent is not None else "",
        span.name,
        span.start_time or 0,
        getattr(span, "end_time", None) or 0,
        attributes,
        tuple((one.name, _plain(one.attributes)) for one in getattr(span, "events", ())),
        error,
    )


def _plain(attributes: Mapping[str, object] | None) -> dict[str, object]:
    return dict(attributes or {})
