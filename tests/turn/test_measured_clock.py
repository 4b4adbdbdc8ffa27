"""Limits by the hour and the day, held by the clock that nobody sets, whatever the wall shows."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.act.budget import ActTally, begun_in
from mentis.act.entries import intent_draft
from mentis.app.agent import Agent
from mentis.app.home_health import read_health
from mentis.ask.budgets import spending_in
from mentis.call.scripted import ScriptedProvider
from mentis.errors import BudgetReached
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ledger.chain import make_stamp
from mentis.loop.timers import Timer, Timers
from mentis.ports.clock import SettableClock, read_clock
from mentis.ports.ids import CountingIds
from mentis.record.clock_entries import settle_clock
from mentis.record.record import open_record
from mentis.status.statuses import open_statuses
from mentis.stores.memory import LedgerInMemory
from mentis.values.act import ActCall, ActSpec
from mentis.values.action import Action
from mentis.values.entry import Draft
from mentis.values.measured import day_of
from mentis.values.tool import ToolDeclaration

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("one_step")]
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
NOTE = ActSpec(ToolDeclaration("note", "Keeps a note."))
MOST = 3


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


def setting(home: Path, text: str) -> None:
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n{text}\n")


def opened(home: Path, clock: SettableClock) -> Agent:
    return Agent.open(home, parts=Parts(provider=ScriptedProvider(["Yes."] * 40), clock=clock))


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
    async with opened(home, SettableClock(NOON - 9 * DAY)) as agent:
        entry = (await agent.chat("Hello?", session="s")).entry
    planned = cast("dict[str, int]", entry.body["planned"])
    used = planned["input"] + planned["output"]
    setting(home, f"[budgets]\nday_tokens = {used * chats + used // 2}")


async def test_a_clock_set_to_the_next_day_opens_no_budget_and_one_command_does(home: Path) -> None:
    await limit_day(home, 2)
    clock = SettableClock(NOON)
    clock.reboot()
    async with opened(home, clock) as agent:
        assert await passed(agent, 3) == 2
        clock.pass_by(10 * MINUTE)
        clock.jump(12 * HOUR - 9 * MINUTE)  # just past midnight
        with pytest.raises(BudgetReached) as refused:
            await agent.chat("Hello?")
        assert "mentis ledger settle-clock" in str(refused.value.hint)
        assert [e.body["jump"] for e in agent.entries() if "jump" in e.body] == [
            {"seconds": 42660, "before": "2026-03-02T12:00:00+00:00"}
        ]
        with open_record(home, None, Parts(clock=clock)) as record:
            done = settle_clock(record, reason="it was set by hand")
        assert [jump.seconds for jump in done.jumps] == [42660]
        assert await passed(agent, 3) == 2
        verdict = agent.verify()
        assert verdict.intact
        assert any("the clock had jumped before entry" in note for note in verdict.notes)


async def test_a_jump_that_nobody_settles_counts_for_a_day_at_most(home: Path) -> None:
    await limit_day(home, 2)
    clock = SettableClock(NOON)
    clock.reboot()
    async with opened(home, clock) as agent:
        assert await passed(agent, 3) == 2
        clock.jump(12 * HOUR + MINUTE)
        clock.pass_by(DAY - 2 * MINUTE)
        assert await passed(agent, 1) == 0
        clock.pass_by(MINUTE)
        assert await passed(agent, 3) == 2


async def test_an_act_of_a_clock_that_jumps_is_an_hour_old_after_an_hour() -> None:
    clock = SettableClock(NOON)
    tally = ActTally(clock)
    tally.note("k1", "note")
    for jump in (400 * DAY, -800 * DAY, 2 * HOUR):
        clock.jump(jump)
        assert tally.counts(0).in_hour == 1
    clock.stand_still(HOUR - MINUTE)
    assert tally.counts(0).in_hour == 1
    clock.stand_still(MINUTE)
    assert tally.counts(0).in_hour == 0


async def test_a_repeated_timer_goes_by_measured_time_and_a_daily_one_survives_a_jump() -> None:
    clock = SettableClock(NOON)
    each = Timer("Look.", every=600)
    timers = Timers({"often": each, "morning": Timer("Hello.", at=(8, 0))}, clock)

    async def due() -> list[object]:
        senses = await timers.take(9)
        await timers.done([sense.id for sense in senses])
        return [sense.payload["timer"] for sense in senses]

    clock.jump(400 * DAY)
    assert await due() == ["morning"]
    clock.jump(-400 * DAY)
    assert await due() == []
    clock.pass_by(10 * MINUTE)
    assert await due() == ["often"]
    clock.jump(-HOUR)
    assert await due() == []
    clock.pass_by(10 * MINUTE)
    assert await due() == ["often"]
    clock.pass_by(2 * DAY)
    assert await due() == ["often", "morning"]


async def test_silence_and_beats_go_by_the_time_that_passed(home: Path) -> None:
    setting(home, "[beats]\nenabled = true\ninterval = 600")
    clock = SettableClock(NOON)
    async with opened(home, clock) as agent:
        await agent.beat("curiosity")
        clock.jump(30 * MINUTE)
        assert agent.next_beat() == clock.now() + 10 * MINUTE
        clock.jump(-2 * HOUR)
        clock.pass_by(4 * MINUTE)
        assert agent.next_beat() == clock.now() + 6 * MINUTE


# Of any history of a clock

Step = tuple[Literal["pass", "jump", "still", "reboot"], timedelta]
SPANS = [MINUTE, 20 * MINUTE, HOUR, 12 * HOUR, DAY, 400 * DAY]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("pass"), st.sampled_from(SPANS[:5])),
        st.tuples(st.just("jump"), st.sampled_from([*SPANS, *(-span for span in SPANS)])),
        st.tuples(st.just("still"), st.sampled_from(SPANS[:4])),
        st.tuples(st.just("reboot"), st.just(MINUTE)),
    ),
    max_size=12,
)
MOVES = {"pass": "pass_by", "jump": "jump", "still": "stand_still"}


class Chain:
    """A ledger, and when something was let through, by the time that really passed."""

    def __init__(self) -> None:
        self.clock = SettableClock(NOON)
        self.ledger = LedgerInMemory()
        self.let: list[float] = []
        self._stamp = make_stamp(self.clock.now, CountingIds().salt, self.clock.uptime)

    def move(self, step: Step) -> None:
        what, time = step
        if what == "reboot":
            self.clock.pass_by(time)
            self.clock.reboot()
        else:
            getattr(self.clock, MOVES[what])(time)
        self.append(Draft("turn", "runtime", {"turn": {"failure": "budget-reached"}}))

    def append(self, draft: Draft) -> None:
        self.ledger.append("ada", [draft], self._stamp)

    def let_through(self, draft: Draft) -> None:
        self.append(draft)
        self.let.append(self.clock.monotonic())

    def within(self, span: timedelta) -> int:
        """How many there really were."""
        since = self.clock.monotonic() - span.total_seconds()
        return sum(moment > since for moment in self.let)

    def today(self) -> int:
        entries = self.ledger.entries("ada")
        return spending_in(entries, read_clock(self.clock), priced=False).day_tokens

    def in_hour(self) -> int:
        tally = ActTally(self.clock, begun_in(self.ledger.entries("ada")))
        return tally.counts(0).in_hour

    def spend(self) -> None:
        usage = {"input": 1, "output": 0}
        self.let_through(Draft("turn", "runtime", {"usage": usage}))

    def act(self) -> None:
        call = ActCall(Action("note", {}), f"k{len(self.let)}")
        self.let_through(intent_draft(call, NOTE, "sha256:0"))


def without_restarts(steps: Iterable[Step]) -> list[Step]:
    return [step for step in steps if step[0] != "reboot"]


@given(steps=STEPS)
def test_however_a_clock_is_set_no_hour_that_passes_has_too_many_acts_and_the_next_is_free(
    steps: list[Step],
) -> None:
    chain = Chain()
    for step in without_restarts(steps):
        chain.move(step)
        for _ in range(MOST + 1):
            if chain.in_hour() < MOST:
                chain.act()
        assert chain.in_hour() == chain.within(HOUR) <= MOST
    chain.clock.stand_still(HOUR)
    assert chain.in_hour() == 0


@given(steps=STEPS)
def test_no_jump_alone_opens_a_budget_of_the_day(steps: list[Step]) -> None:
    chain = Chain()
    for step in steps:
        before = chain.today()
        chain.move(step)
        if step[0] == "jump":
            assert chain.today() >= before
        while chain.today() < MOST:
            chain.spend()
    chain.clock.pass_by(2 * DAY)
    chain.append(Draft("note", "runtime", {}))
    chain.clock.pass_by(DAY)
    assert chain.today() == 0 or any(step[0] == "reboot" for step in steps)


@given(steps=STEPS)
def test_once_the_clock_is_settled_a_day_is_what_it_shows_of_the_time_that_passed(
    steps: list[Step],
) -> None:
    chain = Chain()
    for step in without_restarts(steps):
        chain.move(step)
        chain.spend()
    chain.append(Draft("clock", "owner", {"settled": {"reason": "set by hand"}}))
    today = chain.clock.now() - day_of(chain.clock.now())
    assert chain.today() == chain.within(today + timedelta.resolution)
    chain.clock.pass_by(DAY)
    assert chain.today() == 0


@given(steps=STEPS)
def test_a_day_after_a_jump_and_a_restart_everything_is_free_again_once_it_is_settled(
    steps: list[Step],
) -> None:
    chain = Chain()
    for step in steps:
        chain.move(step)
        chain.spend()
        chain.act()
    chain.append(Draft("clock", "owner", {"settled": {"reason": "set by hand"}}))
    chain.clock.pass_by(DAY)
    assert (chain.today(), chain.in_hour()) == (0, 0)


async def test_a_jump_is_told_by_the_health_of_the_agent_until_it_is_settled(home: Path) -> None:
    clock = SettableClock(NOON)
    parts = Parts(clock=clock)

    def told() -> str:
        with open_statuses(home, None, parts) as statuses:
            checks = read_health(statuses, home, None).checks
        (one,) = [check for check in checks if check.name == "clock"]
        return f"{one.state}: {one.reason}"

    async with opened(home, clock) as agent:
        await agent.chat("Hello?")
        assert told().startswith("ok")
        clock.jump(DAY)
        assert told().startswith("warn: the clock went 1 day, 0:00:00 ahead since the last entry")
        await agent.chat("Hello?")
        assert told().startswith("warn: the clock went 1 day, 0:00:00 ahead before entry 1")
        with open_record(home, None, parts) as record:
            settle_clock(record, reason="set by hand")
        assert told().startswith("ok")
