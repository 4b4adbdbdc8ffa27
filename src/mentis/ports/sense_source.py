"""Where senses come from: a queue, a folder, a timer, a socket."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from mentis.values.cognition import Sense


class SenseSource(Protocol):
    async def take(self) -> tuple[Sense, ...]:
        """What arrived since the last call; empty when nothing did."""
        ...


class ListedSenses:
    """A source for tests: each call hands over the next batch."""

    def __init__(self, batches: Iterable[tuple[Sense, ...]]) -> None:
        self._batches = iter(batches)

    async def take(self) -> tuple[Sense, ...]:
        return next(self._batches, ())
