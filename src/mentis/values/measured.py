"""When recorded things happened, by the clock that nobody sets, held against the one on the wall.

Within one boot of a machine the time between two readings is measured, whatever the wall clock was
set to meanwhile. Where it is not (another boot, a record of an older Mentis) the order of the
record decides, see `timeline.py`. A wall clock that goes another way than the measured time has
jumped, and for a day each of its readings is believed: what is limited by the day is limited by
all of them, until a person says that the clock is right (an entry that settles it).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Generic, Literal, TypeVar, cast

from .entry import Entry
from .timeline import Timeline, clock_time
from .value import Value

T = TypeVar("T")
CLOCK = "clock"  # the kind of entries that say something of the clock and nothing else
JUMP, SETTLED = "jump", "settled"  # what they say
_DAY = timedelta(days=1)
_TOLERANCE = timedelta(minutes=2)  # what a correction from the network may come to unnoticed
_DRIFT = 2000  # clocks are slewed by one part in so many at most


@dataclass(frozen=True, slots=True)
class ClockReading:
    """Both clocks at one moment, never stored. Without a boot only the wall clock is known."""

    shown: datetime
    boot: str = ""
    up: timedelta = timedelta(0)

    @property
    def zero(self) -> datetime:
        """What the wall clock would have shown when the machine started."""
        return self.shown - self.up


@dataclass(frozen=True, slots=True)
class ClockJump(Value):
    """By how many seconds the wall clock went another way than the time that passed.

    `entry` is the first one after it; None if there is none yet. Of a clock that went back while
    nothing was measured only the least it can be is known.
    """

    seconds: float
    shown: str
    entry: int | None = None


def reading_of(entry: Entry) -> ClockReading:
    """What the clocks said when it was made."""
    shown = clock_time(entry)
    clock = entry.body.get(CLOCK)
    told = cast("Mapping[str, object]", clock if isinstance(clock, Mapping) else {})
    boot, up = told.get("boot"), told.get("up")
    if told.get("sleep") is True and isinstance(boot, str) and isinstance(up, int):
        return ClockReading(shown, boot, timedelta(milliseconds=up))
    return ClockReading(shown)


def is_settling(entry: Entry) -> bool:
    """Whether a person said with it that the clock is right."""
    return entry.kind == CLOCK and SETTLED in entry.body


def jump_between(before: ClockReading, now: ClockReading) -> timedelta:
    """How far the wall clock has jumped; nothing where that is not noticed."""
    gone = now.shown - before.shown
    if not before.boot or before.boot != now.boot or now.up < before.up:
        return gone if gone < -_TOLERANCE else timedelta(0)
    passed = now.up - before.up
    jump = gone - passed
    return jump if abs(jump) > _TOLERANCE + passed / _DRIFT else timedelta(0)


def unsettled_jumps(entries: Iterable[Entry], now: ClockReading) -> tuple[ClockJump, ...]:
    """Those of the last day that nobody has settled, in the order of the record."""
    before: ClockReading | None = None
    found: list[tuple[ClockReading, ClockJump]] = []
    for entry in entries:
        reading = reading_of(entry)
        if is_settling(entry):
            found = []
        elif before is not None and (jump := jump_between(before, reading)):
            found.append((reading, _jump(jump, reading, entry.index)))
        before = reading
    if before is not None and (jump := jump_between(before, now)):
        found.append((now, _jump(jump, now, None)))
    return tuple(jump for reading, jump in found if age_of(reading, now) < _DAY)


def _jump(jump: timedelta, at: ClockReading, index: int | None) -> ClockJump:
    return ClockJump(jump.total_seconds(), at.shown.astimezone(UTC).isoformat(), index)


def age_of(reading: ClockReading, now: ClockReading) -> timedelta:
    """How long ago that was: measured, or as the wall clock shows it; then it may be below zero."""
    same = bool(now.boot) and reading.boot == now.boot
    return now.up - reading.up if same else now.shown - reading.shown


class ClockBeliefs:
    """What the wall clock may have meant within one boot: where it stood at its start, each way
    that it was set, with when it last showed that.
    """

    def __init__(self) -> None:
        self._zeros: list[tuple[datetime, timedelta]] = []

    def add(self, reading: ClockReading) -> None:
        kept: list[tuple[datetime, timedelta]] = []
        is_known = False
        for zero, up in self._zeros:
            slewed = max(reading.up - up, timedelta(0)) / _DRIFT
            if not is_known and abs(reading.zero - zero) <= _TOLERANCE + slewed:
                is_known = True
                moved = min(max(reading.zero - zero, -slewed), slewed)
                kept.append((zero + moved, max(up, reading.up)))
            elif reading.up - up < _DAY:
                kept.append((zero, up))
        self._zeros = kept if is_known else [*kept, (reading.zero, reading.up)]

    def settle(self, reading: ClockReading) -> None:
        """From now on only this reading is believed."""
        self._zeros = [(reading.zero, reading.up)]

    def is_today(self, up: timedelta, now: ClockReading) -> bool:
        """Whether it is of today by any reading that is believed."""
        return any(zero + up >= day_of(zero + now.up) for zero in self._believed(now))

    def is_shown_today(self, shown: datetime, now: ClockReading) -> bool:
        """The same of what is not measured, by readings other than the one there is now."""
        others = (zero for zero in self._believed(now) if abs(zero - now.zero) > _TOLERANCE)
        return any(shown >= day_of(zero + now.up) for zero in others)

    def _believed(self, now: ClockReading) -> list[datetime]:
        return [zero for zero, last in self._zeros if now.up - last < _DAY]


class MeasuredTimeline(Generic[T]):
    """What counts from `since` up to `now`, of what is added in the order of the record.

    `by_day`: it counts also if it is of today by another reading of the clock that is believed.
    """

    def __init__(self, since: datetime, now: ClockReading, *, by_day: bool = False) -> None:
        self._since, self._now, self._by_day = since, now, by_day
        self._shown = Timeline[tuple[int, T]](since, now.shown)  # numbered
        self._measured: list[tuple[timedelta, T]] = []
        # Of the last days that were shown.
        self._unmeasured = deque[tuple[datetime, tuple[int, T]]]()
        self._beliefs = ClockBeliefs()
        self._count = 0

    def add(self, reading: ClockReading, *items: T) -> None:
        """Without an item it is only what the clocks said."""
        if not self._is_measured(reading):
            numbered = tuple(enumerate(items, self._count))
            self._count += len(items)
            self._shown.add(reading.shown, *numbered)
            self._keep(reading.shown, numbered)
            return
        self._shown.add(reading.shown)
        self._beliefs.add(reading)
        self._measured.extend((reading.up, item) for item in items if self._counts(reading.up))

    def settle(self, reading: ClockReading) -> None:
        """A person said that this reading is right: what was ahead of it counts no more."""
        self._shown.settle(reading.shown)
        kept = [one for one in self._unmeasured if one[0] <= reading.shown]
        self._unmeasured = deque(kept)
        if self._is_measured(reading):
            self._beliefs.settle(reading)

    def dated_items(self) -> list[tuple[datetime, T]]:
        """Each with the time it counts at."""
        measured = [(self._date(up), item) for up, item in self._measured]
        today = day_of(self._now.shown)
        by_day = [
            (time if time >= self._since else today, item)
            for (time, item), (up, _) in zip(measured, self._measured, strict=True)
            if time >= self._since or (self._by_day and self._beliefs.is_today(up, self._now))
        ]
        shown = self._shown.dated_items()
        counted = {number for _, (number, _) in shown}
        others = [
            (today, item)
            for time, (number, item) in self._unmeasured
            if number not in counted and self._beliefs.is_shown_today(time, self._now)
        ]
        return [*((time, item) for time, (_, item) in shown), *others, *by_day]

    def _keep(self, shown: datetime, items: Iterable[tuple[int, T]]) -> None:
        """Those that another reading of this boot may yet say are of today."""
        if not self._by_day:
            return
        self._unmeasured.extend((shown, item) for item in items)
        while self._unmeasured and self._unmeasured[0][0] < shown - 2 * _DAY:
            self._unmeasured.popleft()

    def _is_measured(self, reading: ClockReading) -> bool:
        now = self._now
        return bool(now.boot) and reading.boot == now.boot and reading.up <= now.up

    def _counts(self, up: timedelta) -> bool:
        """Whether it may be one that counts, by any reading: none lets a day be longer."""
        return self._date(up) >= self._since or self._now.up - up < _DAY

    def _date(self, up: timedelta) -> datetime:
        return self._now.shown - (self._now.up - up)


def day_of(now: datetime) -> datetime:
    """The moment its day (UTC) began."""
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def jump_words(jump: ClockJump) -> str:
    """For a line that a person reads."""
    way: Literal["ahead", "back"] = "ahead" if jump.seconds > 0 else "back"
    where = "since the last entry" if jump.entry is None else f"before entry {jump.entry}"
    return f"the clock went {timedelta(seconds=abs(round(jump.seconds)))} {way} {where}"
