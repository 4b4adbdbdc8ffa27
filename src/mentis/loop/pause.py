"""Waiting, so that it can be cut short; a test puts another one in its place and waits for none."""

from __future__ import annotations

from typing import Protocol

from anyio import Event, move_on_after


class Pause(Protocol):
    async def wait(self, seconds: float) -> None:
        """So long, or until it rings."""
        ...

    def ring(self) -> None:
        """End the wait that is going on, or the next one."""
        ...


class RealPause:
    def __init__(self) -> None:
        self._rung = Event()

    async def wait(self, seconds: float) -> None:
        with move_on_after(seconds):
            await self._rung.wait()
        self._rung = Event()

    def ring(self) -> None:
        self._rung.set()
