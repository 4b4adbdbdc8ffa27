"""The only place time comes from."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Protocol

from mentis.values.entry import Uptime


class Clock(Protocol):
    def now(self) -> datetime:
        """Wall time with its zone: prompts tell it as it is here, records turn it into UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that only ever rise, for measuring."""
        ...

    def uptime(self) -> Uptime:
        """The boot of this machine and how long it runs: nobody can set that back."""
        ...


class FixedClock:
    """A clock for tests and replay: it moves by `step` each time it is read."""

    def __init__(
        self,
        start: datetime = datetime(2026, 1, 1, tzinfo=UTC),
        step: timedelta = timedelta(0),
    ) -> None:
        self._now = start
        self._step = step
        self._elapsed = 0.0

    def now(self) -> datetime:
        """The time, which then moves on."""
        current, self._now = self._now, self._now + self._step
        return current

    def monotonic(self) -> float:
        """Seconds on a clock that nobody sets back."""
        self._elapsed += self._step.total_seconds()
        return self._elapsed

    def uptime(self) -> Uptime:
        """How long the machine of this clock has been running."""
        return Uptime("fixed", round(self._elapsed * 1000))
