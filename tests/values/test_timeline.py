from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from mentis.values.entry import Entry
from mentis.values.timeline import Timeline, clock_time, is_regressed

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOURS = st.integers(-48, 48)


def at(hours: float) -> datetime:
    return NOW + timedelta(hours=hours)


def counted(*hours: float, since: float = -1) -> list[tuple[float, int]]:
    """At which hour each counts, by its place."""
    timeline = Timeline[int](at(since), NOW)
    for place, hour in enumerate(hours):
        timeline.add(at(hour), place)
    return sorted(
        ((time - NOW) / timedelta(hours=1), place) for time, place in timeline.dated_items()
    )


def test_the_time_of_an_entry_is_the_one_its_clock_showed() -> None:
    plain = Entry("a", 0, "2026-01-01T00:00:00.000000Z", "s", "k", None, None, {}, "")
    assert clock_time(plain) == datetime(2026, 1, 1, tzinfo=UTC)
    assert not is_regressed(plain)
    clock = {"regressed": True, "read": "2025-12-31T00:00:00.000000Z", "boot": "b", "up": 1}
    back = Entry("a", 0, plain.time, "s", "k", None, None, {}, "", body={"clock": clock})
    assert clock_time(back) == datetime(2025, 12, 31, tzinfo=UTC)
    assert is_regressed(back)


def test_what_lies_in_the_window_counts_at_its_time() -> None:
    assert counted(-2, -1, -0.5, 0) == [(-1, 1), (-0.5, 2), (0, 3)]


def test_what_is_ahead_counts_now_until_a_clock_shows_when_it_was_at_the_latest() -> None:
    assert counted(-2, 48) == [(0, 1)]
    assert counted(48, -0.5, -0.25) == [(-0.5, 0), (-0.5, 1), (-0.25, 2)]
    assert counted(48, -0.5, 24, -0.25) == [(-0.5, 0), (-0.5, 1), (-0.25, 2), (-0.25, 3)]
    assert counted(48, -2, -0.25) == [(-0.25, 2)]


def test_a_reading_alone_tells_when_others_were_and_counts_for_nothing() -> None:
    timeline = Timeline[str](at(-1), NOW)
    timeline.add(at(5), "a", "b")
    timeline.add(at(-0.5))
    assert timeline.dated_items() == [(at(-0.5), "a"), (at(-0.5), "b")]


@given(hours=st.lists(HOURS, max_size=12), since=st.integers(-48, 0))
def test_however_the_clock_jumped_an_item_counts_at_its_time_or_at_the_earliest_after_it(
    hours: list[int], since: int
) -> None:
    times = [hour if hour <= 0 else min([0, *hours[n + 1 :]]) for n, hour in enumerate(hours)]
    expected = sorted((time, place) for place, time in enumerate(times) if time >= since)
    assert counted(*hours, since=since) == expected
