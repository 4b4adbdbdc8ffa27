"""What comes next: a pure question, asked with the times it is about."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from mentis.talk.schedule import RANKS, BeatSchedule, Cause, NextDue, PendingWork, next_due

CAUSES: list[Cause] = ["event", "user"]
WAITING = st.builds(PendingWork, st.sampled_from(CAUSES), st.floats(0, 100), st.text(max_size=2))


def test_events_come_before_users_and_users_before_beats() -> None:
    event, user = PendingWork("event", 9.0, "timer"), PendingWork("user", 1.0, "hello")
    due = BeatSchedule(due=0.0)
    assert next_due(10.0, [user, event], due) == NextDue(event)
    assert next_due(10.0, [user], due) == NextDue(user)
    assert next_due(10.0, [], due) == NextDue(PendingWork("beat", 0.0))


def test_of_one_rank_whoever_waits_longest_comes_first() -> None:
    first, second = PendingWork("user", 1.0, "a"), PendingWork("user", 2.0, "b")
    assert next_due(3.0, [second, first]).what == first


def test_nothing_is_due_before_its_time_and_never_when_switched_off() -> None:
    assert next_due(10.0, [], BeatSchedule(due=11.0)) == NextDue(again=11.0)
    assert next_due(10.0, [], BeatSchedule()) == NextDue()
    assert next_due(10.0) == NextDue()


def test_one_beat_is_pending_at_a_time_and_given_up_on_in_the_end() -> None:
    pulse = BeatSchedule(due=10.0).begin(10.0)
    assert next_due(11.0, [], pulse, longest=300) == NextDue(again=310.0)
    assert next_due(11.0, [PendingWork("beat", 11.0)], pulse, longest=300) == NextDue(again=310.0)
    assert next_due(11.0, [PendingWork("user", 11.0)], pulse).what == PendingWork("user", 11.0)
    assert next_due(310.0, [], pulse, longest=300).what == PendingWork("beat", 10.0)


def test_beats_that_were_missed_are_not_made_up_for() -> None:
    pulse = BeatSchedule(due=10.0).begin(5000.0).end(5001.0, interval=1800)
    assert pulse == BeatSchedule(due=6801.0)
    assert BeatSchedule().begin(1.0).end(2.0, interval=1800) == BeatSchedule()


@settings(max_examples=50)
@given(st.lists(WAITING, max_size=6), st.floats(0, 200), st.none() | st.floats(0, 200))
def test_no_beat_comes_while_anything_else_waits(
    waiting: list[PendingWork], now: float, due: float | None
) -> None:
    found = next_due(now, waiting, BeatSchedule(due))
    if waiting:
        assert found.what in waiting
        assert RANKS[found.what.cause] == min(RANKS[one.cause] for one in waiting)
    elif found.what is not None:
        assert due is not None
        assert due <= now
