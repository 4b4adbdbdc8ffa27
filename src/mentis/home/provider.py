"""The provider of a home: every backend behind one guard."""

from __future__ import annotations

from functools import partial

from mentis.call.breaker import BreakerLimits
from mentis.call.deadline import TimedProvider
from mentis.call.dialects import DIALECTS
from mentis.call.guard import GuardedProvider
from mentis.call.http import HttpProvider
from mentis.call.recorder import Recorder, RecordingProvider
from mentis.call.replay import ReplayProvider
from mentis.call.scripted import ScriptedProvider
from mentis.engines.embedded import EmbeddedProvider
from mentis.ports.clock import Clock
from mentis.ports.provider import Provider
from mentis.settings.settings import Settings
from mentis.stores.files.home import Home
from mentis.values.route import Backend, Route

from .events import MODEL_ASKED, Event, OnEvent, emit_event
from .parts import Parts
from .route_keys import RouteKeys


def open_provider(settings: Settings, home: Home, parts: Parts, *, clock: Clock) -> Provider:
    """Every backend behind one guard; a provider that was handed in has only its deadline."""
    on_ask = None if parts.on_event is None else partial(_announce, parts.on_event)
    if parts.provider is not None:
        return TimedProvider(parts.provider, on_ask)
    folder = settings.model.record.folder
    recorder = Recorder(home.path / folder) if folder else None
    http = HttpProvider(
        RouteKeys(home.path, settings, parts.variables).key_of,
        max_bytes=settings.model.limits.answer_bytes,
        recorder=recorder,
    )
    backends: dict[Backend, Provider] = {
        "embedded": EmbeddedProvider(on_loading=parts.on_loading),
        "scripted": ScriptedProvider(),
    }
    if recorder is not None:
        backends = {name: RecordingProvider(own, recorder) for name, own in backends.items()}
    backends.update(dict.fromkeys(DIALECTS, http))
    backends["replay"] = ReplayProvider()
    breaker = settings.model.breaker
    limits = BreakerLimits(breaker.failures, breaker.seconds)
    guarded = GuardedProvider(backends, clock, limits=limits, on_retry=parts.on_retry)
    return TimedProvider(guarded, on_ask)


def _announce(listener: OnEvent, route: Route) -> None:
    emit_event(Event(MODEL_ASKED, {"route": route.name, "model": route.model}), listener)
