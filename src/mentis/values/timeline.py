"""When recorded things count, although the clock they were recorded by may have been wrong.

A time may be wrong, the order of the record is not: what stands before a reading of the clock
happened before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Generic, TypeVar, cast

from .entry import Entry

T = TypeVar("T")


def clock_time(entry: Entry) -> datetime:
    """The time that the clock showed. `entry.time` is later where the clock had gone back."""
    clock = entry.body.get("clock")
    read = cast("Mapping[str, object]", clock).get("read") if isinstance(clock, Mapping) else None
    return datetime.fromisoformat(read if isinstance(read, str) else entry.time)


def is_regressed(entry: Entry) -> bool:
    """Whether an earlier entry has a later time than the clock showed for this one."""
    return clock_time(entry) < datetime.fromisoformat(entry.time)


class Timeline(Generic[T]):
    """What counts from `since` up to `now`, of what is added in the order of the record.

    Each item counts at the time its clock showed. One that is ahead of `now` counts at the earliest
    time that was shown after it, or now if there is none. So a clock that is set back frees
    nothing, and one that was ahead blocks nothing for longer than a window after its correction.
    """

    def __init__(self, since: datetime, now: datetime) -> None:
        self._since, self._now = since, now
        self._past: list[tuple[datetime, T]] = []
        # With the earliest time that was shown after them; of two groups the later has the later.
        self._ahead: list[tuple[datetime, list[T]]] = []

    def add(self, time: datetime, *items: T) -> None:
        """Without an item it is only what the clock showed."""
        before: list[T] = []
        while self._ahead and self._ahead[-1][0] > time:
            before += self._ahead.pop()[1]
        if before and time >= self._since:
            self._ahead.append((time, before))
        if time > self._now:
            self._ahead.append((self._now, [*items]))
        elif time >= self._since:
            self._past.extend((time, item) for item in items)

    def settle(self, time: datetime) -> None:
        """This is what the time is: whatever was shown as later counts no more."""
        self._ahead = []
        self._past = [one for one in self._past if one[0] <= time]

    def dated_items(self) -> list[tuple[datetime, T]]:
        """Each with the time it counts at."""
        ahead = ((time, item) for time, items in self._ahead for item in items)
        return [*self._past, *ahead]
