"""How many calls a route makes at once, and how many in a minute."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio

Sleep = Callable[[float], Awaitable[object]]
_MINUTE = 60.0


class RateLimiter:
    """Whoever comes when it is full waits; the deadline of the call ends the waiting too."""

    def __init__(
        self, *, concurrency: int, per_minute: int, now: Callable[[], float], sleep: Sleep
    ) -> None:
        self._places = anyio.Semaphore(concurrency)
        self._queue = anyio.Lock()
        self._per_minute = per_minute
        self._now = now
        self._sleep = sleep
        self._starts: deque[float] = deque()

    @asynccontextmanager
    async def inside(self) -> AsyncGenerator[None]:
        async with self._places:
            yield

    async def start(self) -> None:
        """Wait until one more request fits into the minute, and count it. First come first."""
        if not self._per_minute:
            return
        async with self._queue:
            while (wait := self._wait()) > 0:
                await self._sleep(wait)
            self._starts.append(self._now())

    def _wait(self) -> float:
        while self._starts and self._starts[0] <= self._now() - _MINUTE:
            self._starts.popleft()
        if len(self._starts) < self._per_minute:
            return 0.0
        return self._starts[0] + _MINUTE - self._now()
