"""Senses that come by the clock. One that was missed is not made up for: the next one comes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from anyio.lowlevel import checkpoint

from mentis.ports.clock import Clock, read_clock
from mentis.values.cognition import Sense
from mentis.values.measured import ClockReading, age_of
from mentis.values.trust import Trust
from mentis.values.value import Value

# Of a day on the wall clock where it is changed for the summer.
_SHORTEST_DAY, _LONGEST_DAY = timedelta(hours=20), timedelta(hours=28)


@dataclass(frozen=True, slots=True)
class Timer(Value):
    """Every so many seconds, or each day at an hour and minute (`at`) of this place."""

    text: str
    every: float = 0.0
    at: tuple[int, int] = (0, 0)

    def daily_after(self, now: datetime) -> datetime:
        """What the clock on the wall will show: how far that is from UTC is known only on the day
        itself, so it has no zone.
        """
        hour, minute = self.at
        shows = now.replace(tzinfo=None)
        today = shows.replace(hour=hour, minute=minute, second=0, microsecond=0)
        return today if today > shows else today + timedelta(days=1)


@dataclass(frozen=True, slots=True)
class TimerDue(Value):
    """What it is due at, and since when it waits, or was over the last time."""

    at: datetime
    since: ClockReading
    is_over: bool = False


class Timers:
    """The words are the owner's own: they stand in the settings.

    What comes `every` so often comes by measured time, whatever the wall clock is set to. What
    comes by the wall clock comes once a day, also where that jumps ahead and back.
    """

    def __init__(self, timers: Mapping[str, Timer], clock: Clock) -> None:
        self._timers = dict(timers)
        self._clock = clock
        now = read_clock(clock)
        self._due = {name: _begin(timer, now) for name, timer in self._timers.items()}

    async def take(self, most: int) -> tuple[Sense, ...]:
        await checkpoint()
        now = read_clock(self._clock)
        self._correct(now)
        due = sorted(
            (_as_of(one.at, now.shown), name)
            for name, one in self._due.items()
            if self._is_due(name, one, now)
        )
        return tuple([self._sense(name, when) for when, name in due[:most]])

    async def done(self, ids: Collection[str]) -> None:
        await checkpoint()
        now = read_clock(self._clock)
        for name, one in self._due.items():
            if _id(name, one.at) in ids:
                self._due[name] = self._next(name, one, now)

    def _is_due(self, name: str, one: TimerDue, now: ClockReading) -> bool:
        if every := self._timers[name].every:
            return age_of(one.since, now) >= timedelta(seconds=every)
        return _as_of(one.at, now.shown) <= now.shown

    def _correct(self, now: ClockReading) -> None:
        """A daily one that is more than a day away waits for a clock that was ahead; one that was
        over some hours ago has come for this day.
        """
        for name, one in self._due.items():
            timer = self._timers[name]
            if timer.every:
                continue
            far = _as_of(one.at, now.shown) - now.shown > _LONGEST_DAY
            again = one.is_over and self._is_due(name, one, now)
            if far or (again and timedelta(0) <= age_of(one.since, now) < _SHORTEST_DAY):
                self._due[name] = replace(one, at=timer.daily_after(now.shown))

    def _next(self, name: str, one: TimerDue, now: ClockReading) -> TimerDue:
        """From the moment it was due, so that it does not drift; those that are over are left."""
        timer = self._timers[name]
        every = timedelta(seconds=timer.every)
        if not every:
            return TimerDue(timer.daily_after(now.shown), now, is_over=True)
        if age_of(one.since, now) >= 2 * every:
            return _begin(timer, now)
        since = ClockReading(one.since.shown + every, one.since.boot, one.since.up + every)
        return TimerDue(now.shown + every - age_of(since, now), since)

    def _sense(self, name: str, when: datetime) -> Sense:
        payload = {"timer": name, "text": self._timers[name].text, "due": _time(when)}
        return Sense(_id(name, self._due[name].at), "timer", payload, Trust.OWNER, "timer")


def _begin(timer: Timer, now: ClockReading) -> TimerDue:
    if timer.every:
        return TimerDue(now.shown + timedelta(seconds=timer.every), now)
    return TimerDue(timer.daily_after(now.shown), now)


def _as_of(when: datetime, now: datetime) -> datetime:
    return when if when.tzinfo else when.replace(tzinfo=now.tzinfo)


def _id(name: str, when: datetime) -> str:
    return f"timer:{name}:{_time(when)}"


def _time(when: datetime) -> str:
    return when.isoformat(timespec="seconds")
