"""Senses that come by the clock. One that was missed is not made up for: the next one comes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from anyio.lowlevel import checkpoint

from mentis.ports.clock import Clock
from mentis.values.cognition import Sense
from mentis.values.trust import Trust
from mentis.values.value import Value


@dataclass(frozen=True, slots=True)
class Timer(Value):
    """Every so many seconds, or each day at an hour and minute (`at`) of this place."""

    text: str
    every: float = 0.0
    at: tuple[int, int] = (0, 0)

    def after(self, now: datetime) -> datetime:
        """A moment, or what the clock on the wall will show: how far that is from UTC is known only
        on the day itself, so it has no zone.
        """
        if self.every:
            return now + timedelta(seconds=self.every)
        hour, minute = self.at
        shows = now.replace(tzinfo=None)
        today = shows.replace(hour=hour, minute=minute, second=0, microsecond=0)
        return today if today > shows else today + timedelta(days=1)


class Timers:
    """The words are the owner's own: they stand in the settings."""

    def __init__(self, timers: Mapping[str, Timer], clock: Clock) -> None:
        self._timers = dict(timers)
        self._clock = clock
        now = clock.now()
        self._due = {name: timer.after(now) for name, timer in self._timers.items()}

    async def take(self, most: int) -> tuple[Sense, ...]:
        await checkpoint()
        now = self._clock.now()
        moments = sorted((_as_of(when, now), name) for name, when in self._due.items())
        due = [(when, name) for when, name in moments if when <= now]
        return tuple([self._sense(name, when) for when, name in due[:most]])

    async def done(self, ids: Collection[str]) -> None:
        await checkpoint()
        now = self._clock.now()
        for name, when in self._due.items():
            if _id(name, when) in ids:
                self._due[name] = self._next(name, when, now)

    def _next(self, name: str, when: datetime, now: datetime) -> datetime:
        """From the moment it was due, so that it does not drift; those that are over are left."""
        timer = self._timers[name]
        if timer.every and when + timedelta(seconds=timer.every) > now:
            return timer.after(when)
        return timer.after(now)

    def _sense(self, name: str, when: datetime) -> Sense:
        payload = {"timer": name, "text": self._timers[name].text, "due": _time(when)}
        return Sense(_id(name, self._due[name]), "timer", payload, Trust.OWNER, "timer")


def _as_of(when: datetime, now: datetime) -> datetime:
    return when if when.tzinfo else when.replace(tzinfo=now.tzinfo)


def _id(name: str, when: datetime) -> str:
    return f"timer:{name}:{_time(when)}"


def _time(when: datetime) -> str:
    return when.isoformat(timespec="seconds")
