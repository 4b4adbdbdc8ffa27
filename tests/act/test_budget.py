from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from mentis.act.budget import ActBudget, ActCounts, ActTally, begun_in, exceeded_limit
from mentis.act.entries import intent_draft, waiting_draft
from mentis.ports.clock import FixedClock
from mentis.values.act import ActCall, ActSpec, Decision, WaitingAct
from mentis.values.action import Action
from mentis.values.entry import Draft, Entry
from mentis.values.measured import ClockReading
from mentis.values.tool import ToolDeclaration

START = datetime(2026, 1, 1, tzinfo=UTC)
shown = ClockReading  # only what the wall clock shows


class SetClock(FixedClock):
    def pass_by(self, time: timedelta) -> None:
        self._now += time
        self._elapsed += time.total_seconds()

    def jump(self, time: timedelta) -> None:
        self._now += time


@pytest.mark.parametrize(
    ("budget", "spent", "said"),
    [
        (ActBudget(), ActCounts(10**6, 10**6, {"send": 10**6}), ""),
        (ActBudget(per_turn=2), ActCounts(1), ""),
        (ActBudget(per_turn=2), ActCounts(2), "2 acts are allowed in one turn, and there were 2"),
        (ActBudget(per_hour=5), ActCounts(0, 5), "5 acts are allowed in an hour, and there were 5"),
        (
            ActBudget(of_act={"send": 1}),
            ActCounts(0, 1, {"send": 1}),
            "'send' is allowed once in an hour, and there were 1",
        ),
        (ActBudget(of_act={"look": 1}), ActCounts(0, 1, {"send": 1}), ""),
    ],
)
def test_a_limit_that_is_reached_is_named(budget: ActBudget, spent: ActCounts, said: str) -> None:
    assert exceeded_limit(budget, spent, "send") == said


def test_what_is_an_hour_old_counts_no_more() -> None:
    clock = SetClock(START)
    tally = ActTally(clock, [(shown(START - timedelta(minutes=59)), "k1", "send")])
    tally.note("k2", "look")
    assert tally.counts(0) == ActCounts(0, 2, {"send": 1, "look": 1})
    clock.pass_by(timedelta(minutes=1))
    assert tally.counts(3) == ActCounts(3, 1, {"look": 1})
    clock.pass_by(timedelta(hours=1))
    assert tally.counts(0).in_hour == 0


def test_what_others_did_is_learned_of_and_counted_once() -> None:
    clock = SetClock(START)
    tally = ActTally(clock)
    tally.note("k2", "look")
    before = shown(START - timedelta(minutes=30))
    tally.learn([(before, "k1", "send"), (shown(START), "k2", "look"), (before, "k1", "send")])
    assert tally.counts(0) == ActCounts(0, 2, {"send": 1, "look": 1})
    assert tally.counts(0, without="k1") == ActCounts(0, 1, {"look": 1})
    assert tally.counts(0, without="k9") == ActCounts(0, 2, {"send": 1, "look": 1})
    clock.pass_by(timedelta(minutes=31))
    assert tally.counts(0).in_hour == 1


def test_a_clock_that_jumps_and_comes_back_makes_the_hour_forget_nothing() -> None:
    clock, year = SetClock(START), timedelta(days=400)
    tally = ActTally(clock)
    tally.note("k1", "send")
    clock.jump(year)
    assert tally.counts(0).in_hour == 0
    clock.jump(-year)
    assert tally.counts(0).in_hour == 1
    clock.jump(-year)
    assert tally.counts(0).in_hour == 1
    clock.jump(year)
    clock.pass_by(timedelta(hours=1))
    assert tally.counts(0).in_hour == 0


def test_what_a_clock_that_was_ahead_let_through_counts_for_an_hour_after_its_correction() -> None:
    clock = SetClock(START)
    ahead = (shown(START + timedelta(days=400)), "k1", "send")
    tally = ActTally(
        clock, [ahead, (shown(START), "", ""), (shown(START + timedelta(minutes=1)), "", "")]
    )
    clock.pass_by(timedelta(minutes=59))
    assert tally.counts(0).in_hour == 1
    clock.pass_by(timedelta(minutes=1))
    assert tally.counts(0).in_hour == 0


@pytest.mark.parametrize(
    ("budget", "by_hour"),
    [
        (ActBudget(per_turn=3), False),
        (ActBudget(of_act={"send": 0}), False),
        (ActBudget(per_hour=1), True),
        (ActBudget(of_act={"send": 1}), True),
    ],
)
def test_the_hour_is_counted_only_where_it_is_limited(budget: ActBudget, by_hour: bool) -> None:
    assert budget.by_hour is by_hour


def entry(index: int, draft: Draft) -> Entry:
    time = f"2026-01-01T00:00:0{index}.000000Z"
    return Entry("a", index, time, draft.source, draft.kind, None, None, {}, "", body=draft.body)


def test_the_ledger_tells_what_was_begun_each_act_once() -> None:
    spec = ActSpec(ToolDeclaration("send", "Sends."))
    first, again = ActCall(Action("send", {}), "k1"), ActCall(Action("send", {}), "k1", attempt=2)
    other = ActCall(Action("look", {}), "k2")
    waiting = WaitingAct(other, "", "python", True, Decision("wait"), "", "")
    drafts = [
        Draft("turn", "runtime", {"turn": {}}),
        intent_draft(first, spec, "sha256:0"),
        intent_draft(again, spec, "sha256:0"),
        waiting_draft(waiting),
        intent_draft(other, spec, "sha256:0"),
        Draft("act", "act", {}),
    ]
    begun = list(begun_in(entry(index, draft) for index, draft in enumerate(drafts)))
    assert [(key, name) for _, key, name in begun] == [("k1", "send"), ("k2", "look")]
    assert begun[0][0].shown == START + timedelta(seconds=1)


def test_of_many_acts_no_more_count_than_those_of_the_hour() -> None:
    clock = SetClock(START)
    tally, budget = ActTally(clock), ActBudget(per_hour=721, of_act={"send": 361})
    for number in range(1500):
        tally.note(f"k{number}", "send" if number % 2 else "look")
        clock.pass_by(timedelta(seconds=5))
        spent = tally.spent(0, budget, without=f"k{number}")
        assert exceeded_limit(budget, spent, "send") == ""
    clock.jump(timedelta(seconds=-1))
    tally.note("one", "send")
    tally.note("more", "send")
    assert exceeded_limit(budget, tally.spent(0, budget), "send").startswith("721 acts are")
