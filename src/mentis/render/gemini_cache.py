"""A Gemini cache that is made and named: what goes into it, and a request on top of it."""

from __future__ import annotations

from dataclasses import replace

from mentis.values.rendering import Rendering
from mentis.values.route import Route
from mentis.values.stability import Stability

WIRE = "gemini-cache"
# What a request on top of a cache must not say again.
_CACHED = ("systemInstruction", "tools", "toolConfig")


def cache_request(rendering: Rendering, route: Route) -> Rendering | None:
    """What makes the cache; None when it would hold nothing, or words of this turn alone."""
    held = {key: part for key, part in rendering.payload.items() if key in _CACHED}
    if not held or _fleeting(rendering):
        return None
    model = f"models/{route.model.removeprefix('models/')}"
    return Rendering(WIRE, {"model": model, **held, "ttl": f"{route.cache_seconds}s"})


def with_cached_content(rendering: Rendering, name: str) -> Rendering:
    """The same request on top of a cache made before, which holds system text and tools already."""
    kept = {key: part for key, part in rendering.payload.items() if key not in _CACHED}
    sources = {
        pointer: spans for pointer, spans in rendering.sources.items() if not _is_cached(pointer)
    }
    plan = rendering.cache_plan
    left = tuple(each for each in plan.boundaries if not _is_cached(each.pointer))
    return replace(
        rendering,
        payload={"cachedContent": name, **kept},
        sources=sources,
        cache_plan=replace(plan, boundaries=left),
    )


def _is_cached(pointer: str) -> bool:
    return pointer.split("/")[1] in _CACHED


def _fleeting(rendering: Rendering) -> bool:
    return any(
        span.stability is Stability.TURN
        for pointer, spans in rendering.sources.items()
        if _is_cached(pointer)
        for span in spans
    )
