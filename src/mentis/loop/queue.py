"""Senses in memory, a bounded number of them: whoever puts one waits while there is no room."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from anyio import Event
from anyio.lowlevel import checkpoint

from mentis.errors import UsageError
from mentis.values.cognition import Sense


@dataclass(slots=True)
class QueuedSense:
    """A sense that waits, and who waits for it to be taken."""

    sense: Sense
    taken: Event = field(default_factory=Event)


class SenseQueue:
    """A `SenseSource` for programs: many put, the loop takes. What is not taken when the process
    ends is still with whoever put it: `put` hands back what tells that it was taken.
    """

    def __init__(self, most: int = 32) -> None:
        self._most = most
        self._held: dict[str, QueuedSense] = {}
        self._changed = Event()
        self._closed = False
        self.ring: Callable[[], None] = _nobody  # the loop listens here

    def __len__(self) -> int:
        return len(self._held)

    async def put(self, sense: Sense) -> QueuedSense:
        """Wait for room and put it there; the same id twice is the same sense."""
        while sense.id not in self._held and len(self._held) >= self._most and not self._closed:
            await self._changed.wait()
        if self._closed:
            raise UsageError("nobody takes senses here any more", hint="keep it, and put it later")
        held = self._held.setdefault(sense.id, QueuedSense(sense))
        self.ring()
        await checkpoint()
        return held

    async def take(self, most: int) -> tuple[Sense, ...]:
        """The oldest that wait, up to so many; they stay until they are `done`."""
        await checkpoint()
        return tuple([held.sense for held in list(self._held.values())[:most]])

    async def done(self, ids: Collection[str]) -> None:
        """Let go of what was taken, and tell whoever put it."""
        for name in ids:
            held = self._held.pop(name, None)
            if held is not None:
                held.taken.set()
        self._notify()
        await checkpoint()

    def close(self) -> None:
        """Whoever waits for room is refused from now on."""
        self._closed = True
        self._notify()

    def _notify(self) -> None:
        changed, self._changed = self._changed, Event()
        changed.set()


def _nobody() -> None:
    """No loop listens yet."""
