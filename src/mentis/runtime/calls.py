"""The call stage alone: one payload or request goes out, and its answer comes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, TypeAlias, cast, runtime_checkable

from mentis.codec.forms import from_json, parse
from mentis.errors import BadInput
from mentis.facts.abilities import wire_of
from mentis.settle.readers import reader_for
from mentis.stores.files.home import find_home
from mentis.values.json import JsonObject
from mentis.values.rendering import Rendering
from mentis.values.reply import Reply
from mentis.values.request import PromptRequest
from mentis.values.route import Route

from .legs import render_turn
from .settings_sources import load_settings
from .system import SystemClock
from .wiring import Parts, open_provider, open_routes

HearEvent: TypeAlias = Callable[[str], None]


@runtime_checkable
class _Closing(Protocol):
    async def aclose(self) -> None: ...


async def call_route(
    path: Path, source: str, *, route: str = "default", parts: Parts | None = None, hear: HearEvent
) -> Reply:
    """Send what `source` holds over a route of the home at `path`. Nothing is recorded.

    `source` is JSON: a payload in the route's own format, a rendering (as `mentis render --json`
    prints it), or a request. No fallback is tried, because a payload fits one route only.
    """
    home, parts = find_home(path), parts or Parts()
    settings = load_settings(home.path, parts.variables)
    chosen = open_routes(settings, home, route)[0]
    rendering = read_rendering(source, chosen)
    provider = open_provider(settings, home, parts, clock=parts.clock or SystemClock())
    reader = reader_for(rendering.wire, rendering.name_map, model=chosen.model)
    try:
        async with provider.open(rendering, chosen) as events:
            async for event in events:
                hear(event)
                reader.feed(event)
    finally:
        if isinstance(provider, _Closing):
            await provider.aclose()
    return reader.finish()


def read_rendering(source: str, route: Route) -> Rendering:
    """What is to be sent, whichever of the three forms it came in."""
    found = parse(source, what="the payload")
    if not isinstance(found, Mapping):
        raise BadInput(
            "what is to be sent is not a JSON object", hint="take it from `mentis render --json`"
        )
    data, wire = cast("JsonObject", found), wire_of(route)
    if "system_instruction" in data and "contents" not in data:
        return render_turn(from_json(PromptRequest, source), route)
    if "payload" not in data:
        return Rendering(wire, data)
    if data.get("wire") != wire:
        raise BadInput(
            f"this was rendered for {data.get('wire')!r}, and route {route.name!r} speaks {wire!r}",
            hint="render it for this route, or choose another with --route",
        )
    return Rendering(wire, cast("JsonObject", data["payload"]))
