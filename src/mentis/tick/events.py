"""Typed events of a running tick, as lines of JSON and as events of a span.

Both may leave the process, so secrets are struck out of both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TextIO, TypeAlias

from mentis.net.redact import redact_bytes
from mentis.ports.clock import Clock
from mentis.telemetry import names
from mentis.telemetry.spans import LiveSpan
from mentis.values.json import JsonObject
from mentis.values.value import Value

EventName: TypeAlias = Literal[
    "tick_started",
    "stage_failed",
    "cache_hit",
    "input_ir_sense",
    "input_ir_act_descriptor_catalog",
    "input_ir_goal_tree",
    "input_ir_l1_memory",
    "input_ir_cut",
    "primary_asked_again",
    "output_ir_acts",
    "output_ir_goal_tree_patch",
    "output_ir_l1_memory_patch",
    "contract_violated",
    "memory_made_room",
    "noop_fallback",
    "final_returned_acts",
    "tick_completed",
    "state_save_refused",
    "helper_alarm",
    "loop_started",
    "loop_slept",
    "loop_woke",
    "loop_stopped",
    "ticks_skipped",
    "sense_refused",
    "sense_set_aside",
    "beat_made",
    "beat_failed",
    "delivery_made",
    "delivery_failed",
    "delivery_put_off",
    "afterthought_made",
    "afterthought_failed",
    "memory_updated",
    "memory_update_failed",
]


@dataclass(frozen=True, slots=True)
class TickEvent(Value):
    """One thing that happened. `facts` have a JSON form; `text` is a section as it was."""

    event: EventName
    text: str | None = None
    facts: JsonObject = field(default_factory=dict[str, object])


Emit: TypeAlias = Callable[[TickEvent], None]


def silent(_event: TickEvent) -> None:
    """Nobody listens."""


def emit_to_all(*listeners: Emit) -> Emit:
    """To each of them; where nobody listens, nothing is even put into words."""
    there = [listener for listener in listeners if listener is not silent]

    def emit(event: TickEvent) -> None:
        for listener in there:
            listener(event)

    return emit if there else silent


class JsonLines:
    """One event a line, with the time and the agent; for a file, or whatever can be written to."""

    def __init__(
        self, stream: TextIO, clock: Clock, *, agent: str = "", secrets: Sequence[str] = ()
    ) -> None:
        self._stream = stream
        self._clock = clock
        self._agent = agent
        self._secrets = tuple(secrets)

    def __call__(self, event: TickEvent) -> None:
        line: dict[str, object] = {"time": self._clock.now().isoformat(), "event": event.event}
        line |= {"agent": self._agent} if self._agent else {}
        line |= {"text": event.text} if event.text is not None else {}
        line |= event.facts
        written = json.dumps(line, ensure_ascii=False, default=str)
        self._stream.write(f"{redact_text(written, self._secrets)}\n")
        self._stream.flush()


def on_span(span: LiveSpan, *, secrets: Sequence[str] = ()) -> Emit:
    """Each event as an event of the span; nothing is written out where nobody records it. Where
    content may not be told, its numbers alone: a reason may quote what was said.
    """
    if not span.recording:
        return silent

    def emit(event: TickEvent) -> None:
        facts, content = event.facts, span.scope.content
        if not content:
            facts = {name: fact for name, fact in facts.items() if isinstance(fact, int | float)}
        told = json.dumps(facts, ensure_ascii=False, default=str) if facts else ""
        attributes = {names.TEXT: event.text if content else None, names.FACTS: told}
        said = {name: redact_text(text, secrets) for name, text in attributes.items() if text}
        span.event(event.event, said)

    return emit


def redact_text(text: str, secrets: Sequence[str]) -> str:
    """Without known secrets, and without whatever is shaped like a key."""
    data = text.encode("utf-8", "surrogatepass")
    return redact_bytes(data, secrets).decode("utf-8", "replace")
