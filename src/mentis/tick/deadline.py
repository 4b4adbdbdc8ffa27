"""One deadline for a whole tick, and how much of it each stage may take.

Time that a stage does not use is there for the next one. So a stage ends at a moment of the tick,
not after a time of its own: no tick takes longer than its deadline.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from anyio import current_time

from mentis.errors import SettingsError
from mentis.values.value import Value

Moments = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Shares(Value):
    """Parts of the deadline: by the end of `input` helpers, then `primary`, the rest is for the
    output helpers. `stages` may give a helper less than its part (1.0 is all of it).
    """

    input: float = 0.25
    primary: float = 0.55
    stages: Mapping[str, float] = field(default_factory=dict[str, float])

    def __post_init__(self) -> None:
        within = self.input > 0 and self.primary > 0 and self.input + self.primary <= 1
        if not within or any(not 0 < part <= 1 for part in self.stages.values()):
            raise SettingsError(
                f"shares of a tick: input {self.input}, primary {self.primary},"
                f" stages {dict(self.stages)}",
                hint="each is over 0, and input and primary together are at most 1",
            )


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moments, on the event loop's clock, at which the parts of one tick are over."""

    begun: float
    seconds: float
    shares: Shares

    @classmethod
    def begin(cls, seconds: float, shares: Shares) -> Deadline:
        return cls(current_time(), seconds, shares)

    def input(self, stage: str) -> float:
        return self._until(0.0, self.shares.input, stage)

    def primary(self) -> float:
        return self._until(0.0, self.shares.input + self.shares.primary, "primary")

    def output(self, stage: str) -> float:
        spent = self.shares.input + self.shares.primary
        return self._until(spent if stage in self.shares.stages else 0.0, 1.0, stage)

    def _until(self, start: float, end: float, stage: str) -> float:
        if math.isinf(self.seconds):
            return math.inf
        part = self.shares.stages.get(stage, 1.0)
        return self.begun + self.seconds * (start + (end - start) * part)
