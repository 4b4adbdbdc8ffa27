"""Events for whoever watches: their names, and how they go out.

An event holds numbers and names, never a text that somebody wrote. Programs listen through
`Parts.on_event`; where OpenTelemetry is in use, the event also joins the current span.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from mentis.values.value import Value

PROMPT_ASSEMBLED = "prompt_assembled"
MODEL_ASKED = "model_asked"  # facts: the route, and the model as the route names it
Fact: TypeAlias = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Event(Value):
    name: str
    facts: Mapping[str, Fact]


OnEvent: TypeAlias = Callable[[Event], None]


def emit_event(event: Event, listener: OnEvent | None) -> None:
    if listener is not None:
        listener(event)
    # Whoever uses it has loaded it; nobody else pays for it.
    tracing: Any = sys.modules.get("opentelemetry.trace")
    if tracing is not None:
        tracing.get_current_span().add_event(event.name, attributes=dict(event.facts))
