"""Caches that a route asks to have made and named. Where one cannot be made, the whole is sent."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import cast

from mentis.engines.counters import counter_for
from mentis.errors import MentisError, ReplyError
from mentis.facts.abilities import abilities
from mentis.ports.clock import Clock
from mentis.ports.provider import Provider
from mentis.render.cuts import cuts_of
from mentis.render.gemini_cache import cache_request, with_cached_content
from mentis.values.digest import digest
from mentis.values.rendering import Loss, Rendering
from mentis.values.route import Route

_MARGIN = timedelta(seconds=10)  # a cache about to end may be gone when the request arrives


@dataclass(frozen=True, slots=True)
class NamedCache:
    """A cache that was made: its name, until when it is kept, the tokens in it by our count."""

    name: str
    until: datetime
    tokens: int


class NamedCaches:
    """What was made by this process. Nothing is deleted: each ends with its own lifetime."""

    def __init__(self) -> None:
        self._held: dict[str, NamedCache] = {}

    def cache_of(self, rendering: Rendering) -> NamedCache | None:
        """The cache a rendering stands on, if it stands on one."""
        name = rendering.payload.get("cachedContent")
        return next((held for held in self._held.values() if held.name == name), None)

    def forget(self, rendering: Rendering) -> None:
        """A call on top of it failed: the next one gets a new cache."""
        name = rendering.payload.get("cachedContent")
        self._held = {key: held for key, held in self._held.items() if held.name != name}

    async def prepare(
        self, rendering: Rendering, route: Route, provider: Provider, clock: Clock
    ) -> Rendering:
        """The rendering on top of a cache, made now if there is none; or as it is."""
        able = abilities(route)
        if not (route.cache == "explicit" and route.caching and able.cache_explicit):
            return rendering
        asked = cache_request(rendering, route)
        if asked is None:
            return _whole(rendering, "what it would hold changes every turn, or is nothing")
        key, tokens = digest(asked.body() + route.url.encode()), _tokens(rendering, route)
        if tokens < able.cache_minimum:
            least = f"about {tokens} tokens are below the minimum of {able.cache_minimum}"
            return _whole(rendering, least)
        held = self._held.get(key)
        if held is None or held.until - _MARGIN <= clock.now():
            until = clock.now() + timedelta(seconds=route.cache_seconds)
            try:
                held = NamedCache(await _make(asked, route, provider), until, tokens)
            except MentisError as error:
                return _whole(rendering, error.message)
            self._held[key] = held
        return with_cached_content(rendering, held.name)


async def _make(asked: Rendering, route: Route, provider: Provider) -> str:
    """Over the same guarded connection as every call: limits, retries, recording."""
    async with provider.open(asked, route) as events:
        told = "".join([event async for event in events])
    try:
        name = cast("dict[str, object]", json.loads(told))["name"]
    except (ValueError, KeyError, TypeError) as error:
        raise ReplyError(f"the answer names no cache: {told[:80]!r}") from error
    return str(name)


def _tokens(rendering: Rendering, route: Route) -> int:
    counter = counter_for(route.model)
    regions = ("tools", "stable", "session")
    return sum(counter.count(c.text).tokens for c in cuts_of(rendering) if c.region in regions)


def _whole(rendering: Rendering, reason: str) -> Rendering:
    loss = Loss("cache-not-made", f"no cache was made, all is sent: {reason}")
    return replace(rendering, losses=(*rendering.losses, loss))
