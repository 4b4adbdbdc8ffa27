"""One deadline over everything a call does: waiting, retries, and reading to the end."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager

from anyio import move_on_after

from mentis.ports.provider import Provider
from mentis.values.rendering import Rendering
from mentis.values.route import Route

from .faults import too_late


class TimedProvider:
    """Any provider, ended when the route's time is over, whatever it is doing then.

    `on_ask` hears of every call before it is made.
    """

    def __init__(self, provider: Provider, on_ask: Callable[[Route], None] | None = None) -> None:
        self._provider = provider
        self._on_ask = on_ask

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        if self._on_ask is not None:
            self._on_ask(route)
        with move_on_after(route.timeout_seconds) as deadline:
            async with self._provider.open(rendering, route) as events:
                yield events
        if deadline.cancelled_caught:
            raise too_late(route)

    async def aclose(self) -> None:
        close = getattr(self._provider, "aclose", None)
        if close is not None:
            await close()
