"""Payloads before they are sent: for a format that is asked for, and as JSON for every surface."""

from __future__ import annotations

from dataclasses import replace

from mentis.codec.forms import to_object
from mentis.facts.abilities import wire_of
from mentis.values.caching import Forecast
from mentis.values.rendering import Rendering
from mentis.values.route import Backend, Route

_BACKENDS: dict[str, Backend] = {
    "openai-chat": "openai",
    "openai-responses": "openai-responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
}


def spoken_route(route: Route, provider: str | None, model: str | None) -> Route:
    """The route as if it led to this format and this model."""
    spoken = route.for_rendering()
    if provider in _BACKENDS and provider != wire_of(spoken):
        spoken = replace(spoken, backend=_BACKENDS[provider])
    elif model and spoken.backend in ("embedded", "scripted"):
        spoken = replace(spoken, backend="openai")
    return replace(spoken, model=model) if model else spoken


def rendering_data(rendering: Rendering, forecast: Forecast) -> dict[str, object]:
    return {
        "wire": rendering.wire,
        "digest": rendering.digest,
        "payload": rendering.payload,
        "cache_plan": to_object(rendering.cache_plan),
        "forecast": to_object(forecast),
        "name_map": dict(rendering.name_map),
        "losses": [to_object(loss) for loss in rendering.losses],
        "source_map": [to_object(piece) for piece in rendering.source_map()],
    }
