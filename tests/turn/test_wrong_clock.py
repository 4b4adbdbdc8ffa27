"""A clock that was wrong for a while: limits by the hour and the day hold, and come free again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.act.budget import ActTally, begun_in
from mentis.act.entries import intent_draft
from mentis.app.agent import Agent
from mentis.ask.budgets import spending_in
from mentis.call.scripted import ScriptedProvider
from mentis.errors import BudgetReached
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ledger.chain import make_stamp
from mentis.ports.act_handler import RecordingHandler
from mentis.ports.clock import FixedClock, read_clock
from mentis.ports.ids import CountingIds
from mentis.stores.memory import LedgerInMemory
from mentis.values.act import ActCall, ActSpec
from mentis.values.action import Action
from mentis.values.cognition import Sense
from mentis.values.entry import Draft
from mentis.values.measured import day_of
from mentis.values.tool import ToolDeclaration

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("one_step")]
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
NOTE = ToolDeclaration("note", "Keeps a note.")
ACT = json.dumps({"actions": [{"type": "note", "payload": {}}]})
MOST = 3


class WallClock(FixedClock):
    """Time passes, and somebody sets the clock."""

    def __init__(self) -> None:
        super().__init__(NOON)

    def pass_by(self, time: timedelta) -> None:
        self._now += time
        self._elapsed += time.total_seconds()

    def jump(self, time: timedelta) -> None:
        self._now += time


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


def setting(home: Path, text: str) -> None:
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n{text}\n")


def opened(home: Path, clock: WallClock, reply: str = "Yes.") -> Agent:
    handlers = (RecordingHandler(NOTE, "kept"),)
    parts = Parts(provider=ScriptedProvider([reply] * 40), clock=clock, handlers=handlers)
    return Agent.open(home, parts=parts)


async def passed(agent: Agent, chats: int) -> int:
    """How many of them a budget let through."""
    count = 0
    for _ in range(chats):
        try:
            await agent.chat("Hello?", session=f"s{len(agent.entries())}")
        except BudgetReached:
            continue
        count += 1
    return count


async def limit_day(home: Path, chats: int) -> None:
    """A budget for so many; nobody reports what one used, so it counts as it was planned."""
    async with opened(home, WallClock()) as agent:
        entry = (await agent.chat("Hello?", session="s")).entry
    planned = cast("dict[str, int]", entry.body["planned"])
    used = planned["input"] + planned["output"]
    setting(home, f"[budgets]\nday_tokens = {used * chats + used // 2}")


async def test_after_a_clock_was_two_days_ahead_the_budget_of_the_day_is_held(home: Path) -> None:
    await limit_day(home, 5)
    clock = WallClock()
    clock.pass_by(DAY)
    async with opened(home, clock) as agent:
        clock.jump(2 * DAY)
        assert await passed(agent, 1) == 1
        clock.jump(-2 * DAY)
        assert await passed(agent, 8) == 4
    clock.pass_by(DAY)
    async with opened(home, clock) as agent:
        assert await passed(agent, 8) == 5
        assert agent.verify().intact


async def test_a_clock_that_is_set_back_gives_no_new_budget_of_the_day(home: Path) -> None:
    await limit_day(home, 3)
    clock = WallClock()
    async with opened(home, clock) as agent:
        assert await passed(agent, 4) == 2  # and the one that was measured
        for _ in range(3):
            clock.jump(-2 * DAY)
            assert await passed(agent, 2) == 0
        clock.jump(6 * DAY)
        assert await passed(agent, 2) == 0
        clock.jump(-6 * DAY)
        clock.pass_by(DAY)
        assert await passed(agent, 4) == 3


async def test_ticks_that_a_clock_ahead_used_the_budget_up_for_go_on_the_next_day(
    home: Path,
) -> None:
    clock, rain = WallClock(), Sense("s", "input", {"text": "It rains."})
    clock.jump(400 * DAY)
    async with opened(home, clock) as agent:
        await agent.tick([rain])
        (entry,) = agent.entries()
    (used,) = cast("list[dict[str, dict[str, int]]]", entry.body["calls"])
    tokens = used["planned"]["input"] + used["planned"]["output"]
    setting(home, f"[budgets]\nday_tokens = {tokens + tokens // 2}")
    clock.jump(-400 * DAY)
    async with opened(home, clock) as agent:
        for _ in range(3):
            refused = (await agent.tick([rain])).tick.report
            assert "budgets.day_tokens" in refused.stages[-1].reason
        assert [entry.kind for entry in agent.entries()] == ["turn", "clock"]
        clock.pass_by(DAY)
        await agent.tick([rain])
        assert agent.entries()[-1].kind == "turn"
        assert agent.verify().intact


async def done(agent: Agent, chats: int) -> int:
    """How many acts were done, one asked for in each chat."""
    states = [(await agent.chat("Note it.")).outcomes[0].state for _ in range(chats)]
    return states.count("done")


@pytest.mark.parametrize("restarted", [False, True])
async def test_after_a_clock_was_a_year_ahead_acts_are_let_through_an_hour_later(
    home: Path, restarted: bool
) -> None:
    setting(home, f"[acts]\nper_hour = {MOST}")
    clock = WallClock()
    agent = opened(home, clock, ACT)
    for jump, wait, expected in (
        (400 * DAY, 0 * HOUR, MOST),
        (-400 * DAY, 0 * HOUR, 0),
        (0 * DAY, 59 * MINUTE, 0),
        (0 * DAY, 1 * MINUTE, MOST),
        (0 * DAY, 59 * MINUTE, 0),
    ):
        clock.jump(jump)
        clock.pass_by(wait)
        assert await done(agent, MOST + 1) == expected
        if restarted:
            await agent.aclose()
            agent = opened(home, clock, ACT)
    await agent.aclose()


async def test_a_beat_with_a_clock_that_is_ahead_holds_up_those_of_its_day_only(home: Path) -> None:
    setting(home, "[beats]\nenabled = true\ninterval = 600\nday_beats = 2")
    clock = WallClock()
    async with opened(home, clock) as agent:
        clock.jump(400 * DAY)
        await agent.beat("curiosity")
        clock.jump(-400 * DAY)
        assert agent.next_beat() == clock.now()
        await agent.beat("curiosity")
        assert agent.next_beat() == day_of(clock.now()) + DAY
        with pytest.raises(BudgetReached, match=r"beats\.day_beats: 2"):
            await agent.beat("curiosity")
        clock.pass_by(DAY)
        await agent.beat("curiosity")
        assert agent.next_beat() == clock.now() + timedelta(seconds=600)


async def test_a_clock_that_is_set_back_within_the_day_brings_no_beat(home: Path) -> None:
    setting(home, "[beats]\nenabled = true\ninterval = 600\nday_beats = 1")
    clock = WallClock()
    async with opened(home, clock) as agent:
        await agent.beat("curiosity")
        clock.jump(-HOUR)
        with pytest.raises(BudgetReached):
            await agent.beat("curiosity")
        assert agent.next_beat() == day_of(clock.now()) + DAY


async def test_silence_begins_when_the_clock_said_that_somebody_spoke(home: Path) -> None:
    setting(home, "[features]\nnachgedankeEnabled = true\n[afterthought]\nmode = 'hoch'")
    clock = WallClock()
    async with opened(home, clock) as agent:
        clock.jump(400 * DAY)
        await agent.chat("Hello?")
        clock.jump(-400 * DAY)
        await agent.chat("Are you there?")
        clock.pass_by(MINUTE)
        silence = agent.due_afterthought()
        assert silence is not None
        assert timedelta(seconds=-40) <= silence.due - clock.now() <= timedelta(seconds=-15)


# Of any readings of a clock

STEPS = st.lists(
    st.tuples(
        st.sampled_from([0 * MINUTE, 1 * MINUTE, 20 * MINUTE, HOUR, DAY]),  # that pass
        st.sampled_from([0 * DAY, 0 * DAY, HOUR, -HOUR, DAY, -DAY, 400 * DAY, -400 * DAY]),
        st.booleans(),  # whether another process goes on
    ),
    max_size=14,
)


class Chain:
    """A ledger, and of what was let through what the clock showed and how much time had passed."""

    def __init__(self) -> None:
        self.clock = WallClock()
        self.ledger = LedgerInMemory()
        self.let: list[tuple[datetime, float]] = []
        self._stamp = make_stamp(self.clock.now, CountingIds().salt, self.clock.uptime)

    def append(self, draft: Draft) -> None:
        self.ledger.append("ada", [draft], self._stamp)

    def let_through(self, draft: Draft) -> None:
        self.append(draft)
        self.let.append((self.clock.now(), self.clock.monotonic()))

    def shown(self, since: datetime, passed: timedelta = 1000 * DAY) -> int:
        """How many there were since then by the clock, and within that time."""
        now, moment = self.clock.now(), self.clock.monotonic() - passed.total_seconds()
        return sum(since <= time <= now and at > moment for time, at in self.let)


@given(steps=STEPS)
def test_whatever_the_clock_shows_no_hour_has_too_many_acts_and_the_next_one_is_free(
    steps: Iterable[tuple[timedelta, timedelta, bool]],
) -> None:
    chain = Chain()
    clock, spec = chain.clock, ActSpec(NOTE)
    tally, counted = ActTally(clock), 0
    for passing, jump, restarted in steps:
        clock.pass_by(passing)
        clock.jump(jump)
        if restarted:
            tally, counted = ActTally(clock), 0
        for _ in range(2):
            tally.learn(begun_in(chain.ledger.entries("ada", start=counted)))
            counted = chain.ledger.count("ada")
            if tally.counts(0).in_hour < MOST:
                key = f"k{len(chain.let)}"
                tally.note(key, "note")
                call = ActCall(Action("note", {}), key)
                chain.let_through(intent_draft(call, spec, "sha256:0"))
                assert chain.shown(clock.now() - HOUR + timedelta.resolution, HOUR) <= MOST
            chain.append(Draft("turn", "runtime", {}))
    since = clock.now() + timedelta.resolution
    clock.pass_by(HOUR)
    tally.learn(begun_in(chain.ledger.entries("ada", start=counted)))
    assert tally.counts(0).in_hour <= chain.shown(since)
    fresh = ActTally(clock, begun_in(chain.ledger.entries("ada")))
    assert fresh.counts(0).in_hour == chain.shown(since)


@given(steps=STEPS)
def test_whatever_the_clock_shows_no_day_has_too_many_chats_and_the_next_one_is_free(
    steps: Iterable[tuple[timedelta, timedelta, bool]],
) -> None:
    chain = Chain()
    clock = chain.clock

    def today() -> int:
        return spending_in(chain.ledger.entries("ada"), read_clock(clock), priced=False).day_tokens

    for passing, jump, _ in steps:
        clock.pass_by(passing)
        clock.jump(jump)
        for _ in range(2):
            if today() < MOST:
                chain.let_through(Draft("turn", "runtime", {"usage": {"input": 1, "output": 0}}))
                assert chain.shown(day_of(clock.now())) <= MOST
            else:
                chain.append(Draft("turn", "runtime", {"turn": {"failure": "budget-reached"}}))
    clock.pass_by(day_of(clock.now()) + DAY - clock.now())
    assert today() == chain.shown(clock.now())
