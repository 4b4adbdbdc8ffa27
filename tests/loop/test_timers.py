"""A daily timer goes by the clock on the wall, also on the day on which that clock is set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from mentis.loop.timers import Timer, Timers
from mentis.values.entry import Uptime

pytestmark = pytest.mark.anyio


class Set:
    """As the clock of a machine tells it: with the distance from UTC that holds just then."""

    def __init__(self, changes: datetime, before: int, after: int) -> None:
        self.moment = changes - timedelta(days=1)
        self._changes, self._hours = changes, (before, after)

    def now(self) -> datetime:
        hours = self._hours[self.moment >= self._changes]
        return self.moment.astimezone(timezone(timedelta(hours=hours)))

    def monotonic(self) -> float:
        return self.moment.timestamp()

    def uptime(self) -> Uptime:
        return Uptime("set", 0)


BACK = datetime(2026, 10, 25, 1, tzinfo=UTC), 2, 1
ON = datetime(2026, 3, 29, 1, tzinfo=UTC), 1, 2


@pytest.mark.parametrize(
    ("change", "at", "fired"),
    [
        (BACK, (8, 0), ["24T08:00:00+02:00", "25T08:00:00+01:00", "26T08:00:00+01:00"]),
        (ON, (8, 0), ["28T08:00:00+01:00", "29T08:00:00+02:00", "30T08:00:00+02:00"]),
        # An hour that comes twice, and one that never comes.
        (BACK, (2, 30), ["25T02:30:00+02:00", "26T02:30:00+01:00"]),
        (ON, (2, 30), ["28T02:30:00+01:00", "29T03:00:00+02:00", "30T02:30:00+02:00"]),
    ],
)
async def test_it_comes_once_a_day_when_the_clock_shows_its_time(
    change: tuple[datetime, int, int], at: tuple[int, int], fired: list[str]
) -> None:
    clock = Set(*change)
    timers = Timers({"morning": Timer("Good morning.", at=at), "often": Timer("x", 1e9)}, clock)
    came, ids = list[str](), set[str]()
    for _ in range(6 * 55):
        for sense in await timers.take(5):
            came.append(clock.now().isoformat()[8:])
            ids.add(sense.id)
            await timers.done([sense.id])
        clock.moment += timedelta(minutes=10)
    assert came == fired
    assert len(ids) == len(fired)
