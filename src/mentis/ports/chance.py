"""The only place chance comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Chance(Protocol):
    def between(self, low: float, high: float) -> float:
        """A number that nobody foresees, from `low` to `high`."""
        ...


class ListedChance:
    """Chance for tests and replay: shares of the way from low to high, over and over."""

    def __init__(self, shares: Sequence[float] = (0.0,)) -> None:
        self._shares = tuple(shares)
        self._drawn = 0

    def between(self, low: float, high: float) -> float:
        share = self._shares[self._drawn % len(self._shares)]
        self._drawn += 1
        return low + share * (high - low)
