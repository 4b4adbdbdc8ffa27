"""How often somebody may come: a bucket that fills with time, one for each key."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable

_MOST_KEYS = 10_000


class RequestRate:
    """`burst` at once, `per_minute` on average. Keys that nobody used for long are forgotten."""

    def __init__(self, per_minute: float, burst: int, now: Callable[[], float]) -> None:
        self._rate = per_minute / 60
        self._burst = float(burst)
        self._now = now
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str) -> int:
        """Take one; 0 where there was one, else the seconds until there is."""
        level = self._level(key)
        if level < 1:
            return math.ceil((1 - level) / self._rate)
        self._set(key, level - 1)
        return 0

    def _level(self, key: str) -> float:
        level, then = self._levels.get(key, (self._burst, self._now()))
        return min(self._burst, level + (self._now() - then) * self._rate)

    def _set(self, key: str, level: float) -> None:
        self._levels[key] = level, self._now()
        self._levels.move_to_end(key)
        while len(self._levels) > _MOST_KEYS:
            self._levels.popitem(last=False)
