"""A lock for what the tasks of several event loops share: an agent composes for a thread in a loop
of its own, beside the loop that serves.
"""

from __future__ import annotations

import asyncio
from collections import deque
from threading import Lock


class SharedLock:
    """Held by one task at a time, in the order they came, whichever loops they run in.

    Those of anyio and asyncio belong to one loop: the next task is woken as if it ran in the loop
    of the one before, and in a loop that sleeps it would never know.
    """

    def __init__(self) -> None:
        self._guard = Lock()
        self._held = False
        self._queue: deque[_Place] = deque()

    async def __aenter__(self) -> None:
        with self._guard:
            if not self._held:
                self._held = True
                return
            place = _Place()
            self._queue.append(place)
        try:
            await place.reached
        except BaseException:
            with self._guard:
                waits = place in self._queue
                if waits:
                    self._queue.remove(place)
            if not waits:  # it was its turn already
                self._pass_on()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        while True:
            with self._guard:
                if not self._queue:
                    self._held = False
                    return
                place = self._queue.popleft()
            if place.call():
                return


class _Place:
    """Where one task waits."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.reached: asyncio.Future[None] = self._loop.create_future()

    def call(self) -> bool:
        """Say that it is their turn; False where the loop they ran in is over."""
        try:
            self._loop.call_soon_threadsafe(self._wake)
        except RuntimeError:
            return False
        return True

    def _wake(self) -> None:
        if not self.reached.done():
            self.reached.set_result(None)
