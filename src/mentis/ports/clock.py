"""The only place time comes from."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Protocol

from mentis.values.entry import Uptime
from mentis.values.measured import ClockReading


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


def read_clock(clock: Clock) -> ClockReading:
    """Both clocks at this moment."""
    up = clock.uptime()
    if not up.counts_sleep:
        return ClockReading(clock.now())
    return ClockReading(clock.now(), up.boot, timedelta(milliseconds=up.milliseconds))


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


class SettableClock:
    """A clock for tests: time passes, somebody sets the wall clock, and the machine restarts."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = start
        self._up = timedelta(0)
        self._passed = timedelta(0)
        self._boots = 1

    def pass_by(self, time: timedelta) -> None:
        """So much time goes by, on every clock."""
        self._now += time
        self.stand_still(time)

    def stand_still(self, time: timedelta) -> None:
        """So much time goes by, and the wall clock does not move."""
        self._up += time
        self._passed += time

    def jump(self, time: timedelta) -> None:
        """Somebody sets the wall clock: no time goes by."""
        self._now += time

    def reboot(self) -> None:
        """The machine starts again: nobody knows how long that took."""
        self._boots += 1
        self._up = timedelta(0)

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._passed.total_seconds()

    def uptime(self) -> Uptime:
        return Uptime(f"boot-{self._boots}", self._up // timedelta(milliseconds=1), True)
