"""The one provider the runtime calls: picks the backend, and stands guard over each call."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import anyio

from mentis.errors import RouteError
from mentis.net.targets import host_of
from mentis.ports.clock import Clock
from mentis.ports.provider import Provider
from mentis.values.rendering import Rendering
from mentis.values.route import Backend, Route

from .breaker import Breaker, BreakerLimits
from .gate import RateLimiter, Sleep
from .retry import Pace, with_retries

_LIMITS = BreakerLimits()


class GuardedProvider:
    """Limits, breaker, and retries before the first output; `TimedProvider` ends all of it."""

    def __init__(
        self,
        backends: Mapping[Backend, Provider],
        clock: Clock,
        *,
        sleep: Sleep = anyio.sleep,
        chance: Callable[[], float] = random.random,
        limits: BreakerLimits = _LIMITS,
        on_retry: Callable[[str], None] | None = None,
    ) -> None:
        self._backends = backends
        self._limits = limits
        self._pace = Pace(clock, sleep, chance, on_retry)
        self._breakers: dict[tuple[str, str], Breaker] = {}
        self._gates: dict[str, RateLimiter] = {}

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        async with self._gate(route).inside(), AsyncExitStack() as held:
            begin = partial(self._begin, held, rendering, route)
            yield await with_retries(begin, route, self._pace)

    async def _begin(
        self, held: AsyncExitStack, rendering: Rendering, route: Route
    ) -> AsyncIterator[str]:
        """One attempt, up to its first event. From there on nothing is tried again."""
        await self._gate(route).start()
        with self._breaker(route).attempt():
            async with AsyncExitStack() as tried:
                provider = self._backend(route)
                events = await tried.enter_async_context(provider.open(rendering, route))
                first = await anext(events, None)
                held.push_async_exit(tried.pop_all())
        return _from(first, events)

    async def aclose(self) -> None:
        for provider in self._backends.values():
            close = getattr(provider, "aclose", None)
            if close is not None:
                await close()

    def _backend(self, route: Route) -> Provider:
        if route.backend in self._backends:
            return self._backends[route.backend]
        raise RouteError(
            f"route {route.name!r}: the backend {route.backend} is not there",
            hint=f"there are: {', '.join(self._backends)}",
        )

    def _gate(self, route: Route) -> RateLimiter:
        if route.name not in self._gates:
            self._gates[route.name] = RateLimiter(
                concurrency=route.concurrency,
                per_minute=route.per_minute,
                now=self._pace.clock.monotonic,
                sleep=self._pace.sleep,
            )
        return self._gates[route.name]

    def _breaker(self, route: Route) -> Breaker:
        host = host_of(route.url) if route.url else ""
        place = (route.backend, host)
        if place not in self._breakers:
            name = f"{route.backend} at {host}" if host else route.backend
            self._breakers[place] = Breaker(
                name,
                self._pace.clock.monotonic,
                failures=self._limits.failures,
                seconds=self._limits.seconds,
            )
        return self._breakers[place]


async def _from(first: str | None, events: AsyncIterator[str]) -> AsyncIterator[str]:
    if first is None:
        return
    yield first
    async for event in events:
        yield event
