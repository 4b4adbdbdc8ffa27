"""How much may come in a burst, and how fast it is forgiven."""

from __future__ import annotations


class Bucket:
    def __init__(self, most: float, per_second: float) -> None:
        self._most = most
        self._per_second = per_second
        self._left = most
        self._seen: float | None = None

    def take(self, amount: float, now: float) -> bool:
        """False when there was more than is allowed."""
        passed = 0.0 if self._seen is None else max(0.0, now - self._seen)
        self._seen = now
        self._left = min(self._most, self._left + passed * self._per_second) - amount
        return self._left >= 0
