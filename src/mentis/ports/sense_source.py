"""Where senses come from: a queue, a folder, a timer, a socket."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from mentis.values.cognition import Sense


class SenseSource(Protocol):
    """Holds on to what it hands over until it is told that a tick which is recorded took it.

    The id of a sense is its delivery: the same thing has the same id also for the next process,
    so that whoever was killed in between takes it again, and exactly once.
    """

    async def take(self, most: int) -> tuple[Sense, ...]:
        """Up to `most` of what waits here, the oldest first; what is not done comes again."""
        ...

    async def done(self, ids: Collection[str]) -> None:
        """Let go of these; ids that are not from here do not matter."""
        ...


class ListedSenses:
    """A source for tests: each call hands over the next batch, once the one before is done."""

    def __init__(self, batches: Iterable[tuple[Sense, ...]]) -> None:
        self._batches = iter(batches)
        self._held: tuple[Sense, ...] = ()

    async def take(self, most: int) -> tuple[Sense, ...]:
        self._held = self._held or next(self._batches, ())
        return self._held[:most]

    async def done(self, ids: Collection[str]) -> None:
        self._held = tuple([one for one in self._held if one.id not in ids])
