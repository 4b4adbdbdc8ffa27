"""When things happened, by the clock that nobody sets, held against the one on the wall."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from mentis.values.checkpoint import Cosignature
from mentis.values.entry import Entry
from mentis.values.measured import (
    ClockJump,
    ClockReading,
    MeasuredTimeline,
    age_of,
    day_of,
    is_settling,
    jump_between,
    jump_words,
    reading_of,
    unsettled_jumps,
)

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def read(shown: float, up: float, boot: str = "b") -> ClockReading:
    """Hours that the wall clock shows after noon, and that the machine has been running."""
    return ClockReading(NOON + shown * HOUR, boot, up * HOUR)


def entry(index: int, reading: ClockReading, *, kind: str = "turn", **body: object) -> Entry:
    clock = {"boot": reading.boot, "up": round(reading.up.total_seconds() * 1000), "sleep": True}
    time = reading.shown.isoformat().replace("+00:00", "Z")
    told = {"clock": clock, **body}
    return Entry("a", index, time, "s", kind, None, None, {}, "", body=told)


def test_an_entry_tells_both_clocks_and_an_older_one_only_the_wall() -> None:
    assert reading_of(entry(0, read(1, 2))) == read(1, 2)
    plain = Entry("a", 0, "2026-03-02T12:00:00.000000Z", "s", "k", None, None, {}, "")
    assert reading_of(plain) == ClockReading(NOON)
    awake = entry(0, read(0, 2))  # of a version whose clock stood still while the machine slept
    body = {"clock": {"boot": "b", "up": 7_200_000}}
    old = Entry("a", 0, awake.time, "s", "k", None, None, {}, "", body=body)
    assert reading_of(old).boot == ""


def test_a_jump_is_what_the_wall_clock_went_beyond_the_time_that_passed() -> None:
    assert jump_between(read(0, 5), read(1, 6)) == timedelta(0)
    assert jump_between(read(0, 5), read(30, 6)) == 29 * HOUR
    assert jump_between(read(0, 5), read(-3, 6)) == -4 * HOUR
    assert jump_between(read(0, 5), read(50, 0, "c")) == timedelta(0)  # nobody measured that
    assert jump_between(read(0, 5), read(-2, 0, "c")) == -2 * HOUR  # but time goes one way
    near = ClockReading(NOON + HOUR + timedelta(seconds=90), "b", 6 * HOUR)
    assert jump_between(read(0, 5), near) == timedelta(0)


def test_jumps_are_told_for_a_day_or_until_they_are_settled() -> None:
    entries = [entry(0, read(0, 1)), entry(1, read(48, 1)), entry(2, read(49, 2))]
    (jump,) = unsettled_jumps(entries, read(50, 3))
    assert (jump.entry, jump.seconds) == (1, 48 * 3600)
    assert jump_words(jump) == "the clock went 2 days, 0:00:00 ahead before entry 1"
    assert unsettled_jumps(entries, read(75, 28)) == ()
    settled = entry(3, read(51, 4), kind="clock", settled={"reason": "set by hand"})
    assert is_settling(settled)
    assert unsettled_jumps([*entries, settled], read(52, 5)) == ()
    (now,) = unsettled_jumps([*entries, settled], read(0, 5))
    assert now.entry is None
    assert jump_words(now) == "the clock went 2 days, 4:00:00 back since the last entry"
    assert jump_words(ClockJump(60.4, "", 2)) == "the clock went 0:01:00 ahead before entry 2"


def test_age_is_measured_within_a_boot_and_shown_beyond_it() -> None:
    assert age_of(read(40, 2), read(1, 5)) == 3 * HOUR
    assert age_of(read(0, 2, "c"), read(1, 5)) == HOUR
    assert age_of(ClockReading(NOON + HOUR), ClockReading(NOON)) == -HOUR


def dated(timeline: MeasuredTimeline[str]) -> list[tuple[float, str]]:
    return sorted(((time - NOON) / HOUR, item) for time, item in timeline.dated_items())


def test_what_was_measured_counts_when_it_was_whatever_the_wall_showed() -> None:
    timeline = MeasuredTimeline[str](NOON - HOUR, read(0, 10))
    timeline.add(read(-0.5, 9.5), "just now")
    timeline.add(read(-400, 9.9), "while the clock was wrong")
    timeline.add(read(0, 8), "too long ago")
    timeline.add(read(-0.5, 1, "c"), "of another boot: shown")
    assert [(round(at, 3), item) for at, item in dated(timeline)] == [
        (-0.5, "just now"),
        (-0.5, "of another boot: shown"),
        (-0.1, "while the clock was wrong"),
    ]


def test_by_the_day_each_reading_that_is_believed_counts_until_one_is_settled() -> None:
    def today(*, settled: bool) -> list[str]:
        now = read(24, 3)  # the wall clock was set a day ahead
        timeline = MeasuredTimeline[str](day_of(now.shown), now, by_day=True)
        timeline.add(ClockReading(NOON - HOUR), "before it was measured")
        timeline.add(read(0, 1), "before the jump")
        timeline.add(read(24, 3))
        if settled:
            timeline.settle(read(24, 3))
        return sorted(item for _, item in timeline.dated_items())

    assert today(settled=False) == ["before it was measured", "before the jump"]
    assert today(settled=True) == ["before the jump"]  # measured: two hours ago


def test_settling_ends_what_was_dated_ahead() -> None:
    timeline = MeasuredTimeline[str](NOON - HOUR, ClockReading(NOON), by_day=True)
    timeline.add(ClockReading(NOON + 48 * HOUR), "of a clock that was wrong")
    assert dated(timeline) != []
    timeline.settle(ClockReading(NOON))
    assert dated(timeline) == []


@given(hours=st.lists(st.floats(0, 60), max_size=12))
def test_a_clock_that_nobody_sets_counts_like_the_wall_clock(hours: list[float]) -> None:
    now = read(0, 100)
    timeline = MeasuredTimeline[int](NOON - 24 * HOUR, now)
    for place, ago in enumerate(sorted(hours, reverse=True)):
        timeline.add(read(-ago, 100 - ago), place)
    expected = [at for at in sorted(hours, reverse=True) if now.shown - at * HOUR >= NOON - DAY]
    assert len(timeline.dated_items()) == len(expected)


def test_the_time_of_a_cosignature_is_told_whatever_number_it_is() -> None:
    assert Cosignature("w", 0).moment == "1970-01-01T00:00:00+00:00"
    assert Cosignature("w", 2**62).moment == f"second {2**62}"
