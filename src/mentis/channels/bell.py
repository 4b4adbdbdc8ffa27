"""Wakes one who waits: rung before the wait, it does not wait at all."""

from __future__ import annotations

from anyio import Event, move_on_after


class Bell:
    def __init__(self) -> None:
        self._rung = Event()

    def ring(self) -> None:
        self._rung.set()

    async def wait(self, seconds: float) -> None:
        """Until it is rung, or so long."""
        with move_on_after(max(seconds, 0.0)):
            await self._rung.wait()
        self._rung = Event()
