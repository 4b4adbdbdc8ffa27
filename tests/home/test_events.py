from __future__ import annotations

import sys
from collections.abc import Mapping
from types import SimpleNamespace

import pytest

from mentis.home.events import Event, emit_event

EVENT = Event("prompt_assembled", {"tokens": 7})


def test_whoever_listens_hears_the_event() -> None:
    heard: list[Event] = []
    emit_event(EVENT, heard.append)
    emit_event(EVENT, None)
    assert heard == [EVENT]


def test_where_spans_are_in_use_the_event_joins_the_current_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    added: list[tuple[str, Mapping[str, object]]] = []

    def add_event(name: str, attributes: Mapping[str, object]) -> None:
        added.append((name, attributes))

    span = SimpleNamespace(add_event=add_event)
    tracing = SimpleNamespace(get_current_span=lambda: span)
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", tracing)  # pyright: ignore[reportArgumentType]  # as much of it as is used
    emit_event(EVENT, None)
    assert added == [("prompt_assembled", {"tokens": 7})]
