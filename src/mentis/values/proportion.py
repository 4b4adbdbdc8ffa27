"""A share that was counted, and how far chance alone could have moved it."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from .value import Value

_Z = 1.959963984540054  # of the normal distribution: 95 % lie within so many deviations


@dataclass(frozen=True, slots=True)
class Proportion(Value):
    """`passed` of `total`. The interval is Wilson's, at 95 %: it is right for few answers, and for
    all or none of them.
    """

    passed: int
    total: int

    @property
    def rate(self) -> float:
        return self.passed / self.total if self.total else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """From 0 to 1 where nothing was counted."""
        if not self.total:
            return 0.0, 1.0
        n, rate = self.total, self.rate
        around = 1 + _Z**2 / n
        middle = rate + _Z**2 / (2 * n)
        half = _Z * sqrt(rate * (1 - rate) / n + _Z**2 / (4 * n**2))
        low = 0.0 if self.passed == 0 else max(0.0, (middle - half) / around)
        high = 1.0 if self.passed == n else min(1.0, (middle + half) / around)
        return low, high

    def __add__(self, other: Proportion) -> Proportion:
        return Proportion(self.passed + other.passed, self.total + other.total)


def difference_interval(first: Proportion, second: Proportion) -> tuple[float, float]:
    """How much more often the second passes than the first, at 95 %: Newcombe's interval, which is
    made of Wilson's two.
    """
    (low_1, high_1), (low_2, high_2) = first.interval, second.interval
    apart = second.rate - first.rate
    down = sqrt((second.rate - low_2) ** 2 + (high_1 - first.rate) ** 2)
    up = sqrt((high_2 - second.rate) ** 2 + (first.rate - low_1) ** 2)
    return max(-1.0, apart - down), min(1.0, apart + up)
