"""What the loop sees to between ticks: late outcomes, silent talks, memory files, bad senses."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import cast

import pytest
from anyio import Event, create_task_group, fail_after, sleep_forever
from anyio.lowlevel import checkpoint

from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.errors import (
    MentisError,
    ProviderRefused,
    ProviderUnreachable,
    SettingsError,
    StoreLocked,
)
from mentis.home.parts import Parts
from mentis.loop.aside import open_asides
from mentis.loop.loop import Loop
from mentis.loop.report import RunReport
from mentis.ports.sense_source import ListedSenses
from mentis.tick.events import TickEvent
from mentis.tools.acts import open_acts
from mentis.values.entry import Entry
from mentis.values.rendering import Rendering
from mentis.values.route import Route

from .living import QUIET, Life, Paced, Where, answer, made, note, sense, wants

pytestmark = pytest.mark.anyio
ASKS = '{"actions": [{"type": "note", "payload": {"text": "it"}}]}'
ASK = 'ask = ["note"]\n'  # goes on with the table [acts]
AGAIN = "[features]\nnachgedankeEnabled = true\n[afterthought]\nmode = 'hoch'\n"
KEEPS = """
[features]
cortexEnabled = true
[persona_update]
window_messages = 10
frequency = "frequent"
"""


class Script(ScriptedProvider):
    """Plays answers; an error is raised, whichever route it is that asks."""

    def __init__(self, *answers: str | MentisError) -> None:
        super().__init__()
        self.answers = list(answers)

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        self.sent.append(rendering)
        said = self.answers.pop(0) if self.answers else QUIET
        if isinstance(said, MentisError):
            raise said
        async with ScriptedProvider([said]).open(rendering, route) as events:
            yield events


@asynccontextmanager
async def lives(where: Where, *answers: str | MentisError, clock: Paced) -> AsyncGenerator[Life]:
    script = Script(*answers)
    parts = Parts(provider=script, clock=clock, handlers=(note,))
    async with Agent.open(where.home, parts=parts) as agent:
        yield Life(agent, clock, script, where.home)


def listening(life: Life, *sources: ListedSenses, ticks: int) -> tuple[Loop, list[TickEvent]]:
    heard: list[TickEvent] = []
    loop = life.loop(*sources, ticks=ticks)
    loop._emit = heard.append  # pyright: ignore[reportPrivateUsage]  # what it tells
    return loop, heard


async def ran(life: Life, *sources: ListedSenses, ticks: int) -> tuple[RunReport, list[TickEvent]]:
    loop, heard = listening(life, *sources, ticks=ticks)
    return await loop.run(), heard


def told(heard: list[TickEvent], name: str) -> list[dict[str, object]]:
    return [dict(one.facts) for one in heard if one.event == name]


def facts(entry: Entry) -> dict[str, object]:
    return cast("dict[str, object]", entry.body.get("turn") or {})


async def owed(life: Life) -> None:
    """Somebody asked for it in the session `scales`, and said yes later."""
    await life.agent.chat("Note it.", session="scales")
    with open_acts(life.home, parts=Parts(clock=life.clock, handlers=(note,))) as acts:
        (waiting,) = acts.pending()[0]
        acts.approve(waiting.call.key, by="robin")


async def test_what_an_act_brought_late_is_told_once_to_whoever_asked(tmp_path: Path) -> None:
    where, clock = made(tmp_path, ASK), Paced()
    async with lives(where, ASKS, "I have noted it.", clock=clock) as life:
        await owed(life)
        report, heard = await ran(life, ticks=3)
        assert (report.deliveries, report.thought, life.asked) == (1, 0, 2)
        (made_one,) = told(heard, "delivery_made")
        assert (made_one["act"], made_one["session"]) == ("note", "scales")
        assert life.agent.history(session="scales")[-1].text == "I have noted it."
        assert life.agent.verify().intact
    async with lives(where, clock=clock) as life:  # and not by the next process either
        report, _ = await ran(life, ticks=3)
        assert (report.deliveries, report.idle, life.asked) == (0, 3, 0)


async def test_while_it_can_be_delivered_no_tick_takes_it_and_then_one_is_told(
    tmp_path: Path,
) -> None:
    refused = ProviderRefused("no")
    where, clock = made(tmp_path, f"{ASK}[run]\nretry = 15\n"), Paced()
    async with lives(where, ASKS, QUIET, refused, refused, QUIET, clock=clock) as life:
        await owed(life)
        source = ListedSenses([(sense("a"),)])
        report, heard = await ran(life, source, ticks=5)
        assert [one["reason"] for one in told(heard, "delivery_failed")] == ["no", "no"]
        # The sense comes first, and takes no outcome with it; that is told once it is given up on.
        assert (report.thought, report.deliveries) == (2, 0)
        assert "noted it" not in life.told(1)
        assert "noted it" in life.told()
        assert life.asked == 5


async def test_without_deliveries_a_tick_is_told_what_came_late(tmp_path: Path) -> None:
    where, clock = made(tmp_path, f"{ASK}[run]\ndeliver = false\n"), Paced()
    async with lives(where, ASKS, QUIET, clock=clock) as life:
        await owed(life)
        report, _ = await ran(life, ticks=2)
        assert (report.deliveries, report.thought) == (0, 1)


async def test_a_budget_that_a_delivery_reaches_stops_the_loop_and_uses_up_no_try(
    tmp_path: Path,
) -> None:
    where, clock = made(tmp_path, ASK), Paced()
    async with lives(where, ASKS, clock=clock) as life:
        await owed(life)
    with (where.home / "mentis.toml").open("a", encoding="utf-8") as toml:
        toml.write("[budgets]\nday_tokens = 20\n")
    for _ in range(3):
        async with lives(where, clock=clock) as life:
            report, _ = await ran(life, ticks=9)
            assert (report.stopped, report.ticks) == ("budget", 1)
            assert len(await life.agent.deliverable_outcomes()) == 1
            assert life.asked == 0


async def test_a_late_outcome_ends_a_sleep(tmp_path: Path) -> None:
    where, clock = made(tmp_path, ASK), Paced()
    rest = answer(wants("sleep", "builtin", seconds=600))
    async with lives(where, ASKS, rest, "Noted.", clock=clock) as life:
        await life.agent.chat("Note it.", session="scales")
        loop, _ = listening(life, ListedSenses([(sense("a"),)]), ticks=2)

        async def wait(seconds: float) -> None:
            if not clock.passed:
                await _approve(life)
            clock.passed += seconds

        clock.wait = wait
        report = await loop.run()
        assert (report.slept, report.deliveries, clock.passed < 20) == (1, 1, True)


async def _approve(life: Life) -> None:
    with open_acts(life.home, parts=Parts(clock=life.clock, handlers=(note,))) as acts:
        acts.approve(acts.pending()[0][0].call.key, by="robin")


async def test_a_silent_talk_is_thought_about_phase_by_phase(tmp_path: Path) -> None:
    where, clock = made(tmp_path, AGAIN), Paced()
    wait, yes = "Not now. [i_can_wait]", "I should. [afterthought_ok]"
    async with lives(where, "Hello.", wait, yes, "One more thing.", wait, clock=clock) as life:
        await life.agent.chat("Hi")
        report, heard = await ran(life, ticks=60)
        # It waits, then writes, then waits in the last phase: that cycle is over.
        wrote = [one["wrote"] for one in told(heard, "afterthought_made")]
        assert wrote == [False, True, False]
        assert (report.afterthoughts, report.thought, life.asked) == (3, 0, 5)
        times = [entry.time for entry in life.agent.entries()]
        assert "2026-01-01T00:00:20" <= times[1] <= "2026-01-01T00:00:51"
        assert life.agent.verify().intact


async def test_a_process_that_ended_is_gone_on_from_and_nothing_is_thought_twice(
    tmp_path: Path,
) -> None:
    where, clock = made(tmp_path, AGAIN), Paced()
    wait = "Not now. [i_can_wait]"
    async with lives(where, "Hello.", wait, clock=clock) as life:
        await life.agent.chat("Hi")
        assert (await ran(life, ticks=6))[0].afterthoughts == 1
        silence = life.agent.due_afterthought()
    async with lives(where, wait, clock=clock) as life:
        assert life.agent.due_afterthought() == silence  # the same moment, drawn by the record
        assert (await ran(life, ticks=9))[0].afterthoughts == 1
    async with lives(where, wait, wait, clock=clock) as life:
        clock.passed += 86_400  # what is over is not made up for
        assert (await ran(life, ticks=9))[0].afterthoughts == 0


class Corrected(Paced):
    """It is far ahead until the loop waits for the first time; then somebody speaks."""

    agent: Agent | None = None
    ahead = timedelta(days=400)

    def now(self) -> datetime:
        return super().now() + self.ahead

    async def wait(self, seconds: float) -> None:
        await super().wait(seconds)
        if self.ahead and self.agent is not None:
            self.ahead = timedelta()
            await self.agent.chat("Hi")


async def test_a_loop_that_began_with_a_clock_ahead_still_thinks_again(tmp_path: Path) -> None:
    where, clock = made(tmp_path, AGAIN), Corrected()
    async with lives(where, "Hello.", "Not now. [i_can_wait]", clock=clock) as life:
        clock.agent = life.agent
        assert (await ran(life, ticks=7))[0].afterthoughts == 1


async def test_messages_that_nobody_answers_come_to_an_end(tmp_path: Path) -> None:
    where, clock = made(tmp_path, f"{AGAIN}[run]\nafterthoughts = 2\n"), Paced()
    script = ["Hello.", *["Yes. [afterthought_ok]", "And this."] * 5]
    async with lives(where, *script, clock=clock) as life:
        await life.agent.chat("Hi")
        report, _ = await ran(life, ticks=200)
        assert (report.afterthoughts, life.asked) == (2, 5)


@pytest.mark.parametrize("tables", ["", AGAIN.replace("hoch", "mittel")])
async def test_where_no_afterthought_is_wanted_none_is_made(tmp_path: Path, tables: str) -> None:
    where, clock = made(tmp_path, tables), Paced()
    async with lives(where, "Hello.", clock=clock) as life:
        await life.agent.chat("Hi")  # in the mode `mittel` only the second message begins a cycle
        assert (await ran(life, ticks=30))[0].afterthoughts == 0
        assert life.asked == 1


async def test_it_is_left_to_a_terminal_that_follows_the_talk(tmp_path: Path) -> None:
    where, clock = made(tmp_path, AGAIN), Paced()
    async with lives(where, "Hello.", clock=clock) as life:
        await life.agent.chat("Hi")
        quiet = life.agent.idle_cycle(lambda _: None)
        with quiet._following():  # pyright: ignore[reportPrivateUsage]  # as while it runs
            assert life.agent.due_afterthought() is None
        assert life.agent.due_afterthought() is not None


class Held(Script):
    """The second answer does not come until somebody ends it."""

    def __init__(self, *answers: str) -> None:
        super().__init__(*answers)
        self.asked = Event()

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        if len(self.sent) == 1:
            self.sent.append(rendering)
            self.asked.set()
            await Event().wait()
        async with super().open(rendering, route) as events:
            yield events


async def test_a_thought_is_broken_off_once_somebody_speaks_elsewhere(tmp_path: Path) -> None:
    where, clock = made(tmp_path, AGAIN), Paced()
    held = Held("Hello.")
    parts = Parts(provider=held, clock=clock, handlers=(note,))
    async with Agent.open(where.home, parts=parts) as agent:
        await agent.chat("Hi")
        silence = agent.due_afterthought()
        assert silence is not None

        async def speak() -> None:
            await held.asked.wait()
            async with lives(where, "Yes?", clock=clock) as other:
                await other.agent.chat("Wait, there is more.")

        async with create_task_group() as tasks:
            tasks.start_soon(speak)
            thought = await agent.run_afterthought(silence, poll=0.01)
            assert thought is not None
            assert (thought.decision, thought.followup) == ("wait", None)
        stops = [facts(entry)["stop"] for entry in agent.entries()]
        assert sorted(map(str, stops)) == ["end", "end", "interrupted"]
        assert await agent.run_afterthought(silence) is None  # it is over


async def test_memory_files_are_updated_in_the_background_and_failures_are_told(
    tmp_path: Path,
) -> None:
    where, clock = made(tmp_path, KEEPS), Paced()
    talk = ["Hello.", "Yes.", "Good."]
    async with lives(where, *talk, ProviderRefused("no"), clock=clock) as life:
        for _ in talk:
            await life.agent.chat("Hi")
        report, heard = await ran(life, ticks=3)
        (failed,) = told(heard, "memory_update_failed")
        assert (failed["session"], failed["reason"], report.updates) == ("main", "no", 0)
        assert life.agent.update_progress().since == 0
        cast("Script", life.provider).answers[:] = ["More.", "More.", "Nothing to write."]
        for _ in range(2):
            await life.agent.chat("Hi")
        report, heard = await ran(life, ticks=3)
        assert (report.updates, report.thought) == (1, 0)
        assert [one["session"] for one in told(heard, "memory_updated")] == ["main"]
        assert life.agent.update_progress().messages == 0
        asked = life.asked
        assert (await ran(life, ticks=3))[0].updates == 0
        assert life.asked == asked


async def until_updated(life: Life) -> tuple[RunReport, list[TickEvent]]:
    """The clock of the loop runs ahead of what goes on beside it, so ticks cannot be counted."""
    loop, heard = listening(life, ticks=100_000)

    def listen(event: TickEvent) -> None:
        heard.append(event)
        if event.event == "memory_updated":
            loop.stop()

    loop._emit = listen  # pyright: ignore[reportPrivateUsage]  # what it tells
    with fail_after(60):
        return await loop.run(), heard


async def test_an_update_that_the_provider_could_not_take_is_tried_again_after_a_while(
    tmp_path: Path,
) -> None:
    where, clock = made(tmp_path, f"{KEEPS}[run]\nretry = 60\n"), Paced()
    talk, away = ["Hello.", "Yes.", "Good."], ProviderUnreachable("away", sent=False)
    async with lives(where, *talk, away, away, "Nothing to write.", clock=clock) as life:
        for _ in talk:
            await life.agent.chat("Hi")
        report, heard = await until_updated(life)
        assert [one["code"] for one in told(heard, "memory_update_failed")] == [away.code] * 2
        assert (report.updates, life.asked) == (1, 6)
        assert life.agent.update_progress().messages == 0


async def test_an_update_that_another_process_kept_from_being_made_is_made_later(
    tmp_path: Path,
) -> None:
    where, clock = made(tmp_path, KEEPS), Paced()
    talk = ["Hello.", "Yes.", "Good."]
    async with lives(where, *talk, "Nothing to write.", clock=clock) as life:
        for _ in talk:
            await life.agent.chat("Hi")
        busy_once(life.agent, "update_memory")
        report, heard = await until_updated(life)
        assert (report.updates, told(heard, "memory_update_failed")) == (1, [])


async def test_a_loop_that_is_stopped_before_it_begins_ends_at_once(tmp_path: Path) -> None:
    where, clock = made(tmp_path, KEEPS), Paced()
    async with lives(where, clock=clock) as life:
        loop, _ = listening(life, ticks=3)
        loop.stop()
        with fail_after(60):
            assert (await loop.run()).ticks == 0


class Poisoned(Script):
    """Refuses whatever has this word in it."""

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        if b"poison" in rendering.body():
            self.sent.append(rendering)
            raise ProviderRefused("this is not allowed", status=400)
        async with super().open(rendering, route) as events:
            yield events


async def test_a_sense_that_no_tick_can_take_is_set_aside_and_the_others_are_taken(
    tmp_path: Path,
) -> None:
    where, clock = made(tmp_path), Paced()
    parts = Parts(provider=Poisoned(), clock=clock, handlers=(note,))
    async with Agent.open(where.home, parts=parts) as agent:
        life = Life(agent, clock, cast("ScriptedProvider", parts.provider), where.home)
        batch = (sense("a"), sense("b", "poison"), sense("c"))
        source = ListedSenses([batch, (sense("d"),)])
        report, heard = await ran(life, source, ticks=7)
        assert (report.senses, report.failed, report.aside, report.idle) == (3, 3, 1, 1)
        (event,) = told(heard, "sense_set_aside")
        assert (event["id"], event["failures"]) == ("b", 3)
        (one,) = agent.senses_set_aside.all()
        assert (one.id, one.reason) == ("b", "provider-refused: this is not allowed")
        assert agent.senses_set_aside.sense(one) == batch[1]
        assert (
            "b" in agent.taken_deliveries()
        )  # also by the next process, had this one been killed here
        entry = next(one for one in agent.entries() if one.kind == "sense")
        assert cast("dict[str, object]", entry.body["sense"])["state"] == "aside"
        assert agent.verify().intact
    with open_asides(where.home) as asides:
        asides.remove(asides.find("b"), "dropped")
        assert asides.all() == ()


async def test_what_no_sense_can_help_is_held_against_none(tmp_path: Path) -> None:
    where, clock = made(tmp_path), Paced()
    away = [ProviderUnreachable("nobody there")] * 4
    away += [ProviderRefused("wrong key", status=401), ProviderRefused("it broke off")] * 4
    async with lives(where, *away, clock=clock) as life:
        report, _ = await ran(life, ListedSenses([(sense("a"), sense("b"))]), ticks=16)
        assert (report.failed, report.aside, report.senses) == (12, 0, 2)


async def test_a_weight_for_no_kind_is_refused_as_soon_as_it_is_read(tmp_path: Path) -> None:
    where, clock = made(tmp_path, "[beats]\nenabled = true\n"), Paced()
    async with lives(where, "One.", clock=clock) as life:
        with (where.home / "mentis.toml").open("a", encoding="utf-8") as toml:
            toml.write("[beats.weights]\ncuriosty = 1.0\n")
        settings = life.agent._parts.sources.settings  # pyright: ignore[reportPrivateUsage]
        fault = settings.current()[1]
        assert isinstance(fault, SettingsError)
        assert fault.hint == "did you mean 'curiosity'?"
        assert (await ran(life, ticks=1))[0].beats == 1  # the earlier ones hold
    with pytest.raises(SettingsError, match="curiosty"):
        Agent.open(where.home)


class Stuck(Script):
    """Answers people, and never comes to an end with the memory files."""

    def __init__(self) -> None:
        super().__init__(*["Hello."] * 3)
        self.at_it = Event()

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        if not self.answers:
            self.at_it.set()
            await sleep_forever()
        async with super().open(rendering, route) as events:
            yield events


async def test_said_twice_it_ends_at_once_also_while_an_update_is_waited_for(
    tmp_path: Path,
) -> None:
    where, clock, stuck = made(tmp_path, KEEPS, "[run]\ngrace = 3600\n"), Paced(), Stuck()
    parts = Parts(provider=stuck, clock=clock, handlers=(note,))
    async with Agent.open(where.home, parts=parts) as agent:
        for _ in range(3):
            await agent.chat("Hi")
        loop = Life(agent, clock, stuck, where.home).loop(ticks=2)

        async def stop() -> None:
            await stuck.at_it.wait()
            while loop.report.stopped != "ticks":
                await checkpoint()
            loop.stop()
            loop.stop()

        with fail_after(60):
            async with create_task_group() as tasks:
                tasks.start_soon(stop)
                await loop.run()
        assert (loop.report.stopped, loop.report.failed) == ("ticks", 0)
        assert loop.report.told == "an update of the memory files was cut short"


def busy_once(agent: Agent, name: str) -> None:
    """Another process is at the store the first time that it is asked."""
    real, calls = getattr(agent, name), list[str]()

    def asked(*given: object, **named: object) -> object:
        calls.append(name)
        if len(calls) == 1:
            raise StoreLocked("another process is at it")
        return real(*given, **named)

    setattr(agent, name, asked)


async def test_a_store_that_is_busy_ends_neither_the_loop_nor_what_it_sees_to(
    tmp_path: Path,
) -> None:
    wanted = "nachgedankeEnabled = true\ncortexEnabled = true\n"
    tables = "[afterthought]\nmode = 'hoch'\n[beats]\nenabled = true\ninterval = 600\n"
    where, clock = made(tmp_path, ASK, f"[features]\n{wanted}{tables}"), Paced()
    async with lives(where, ASKS, "It waits.", clock=clock) as life:
        await owed(life)
        for name in (
            "backlog",
            "deliverable_outcomes",
            "due_afterthought",
            "updates_due",
            "beat_schedule",
        ):
            busy_once(life.agent, name)
        report, heard = await ran(life, ticks=40)
    assert (report.stopped, report.ticks, report.failed) == ("ticks", 40, 1)
    busy = ("delivery_put_off", "afterthought_failed", "memory_update_failed", "beat_failed")
    for name in busy:
        assert [one["code"] for one in told(heard, name)] == ["store-locked"]
    assert (report.deliveries, report.beats) == (1, 1)  # later


async def test_a_sense_that_cannot_be_written_is_set_aside_at_once_and_ends_nothing(
    tmp_path: Path,
) -> None:
    where, clock = made(tmp_path), Paced()
    odd = (sense("a", "name \udcff.txt"), sense("b\udcff"), sense("c"))
    async with lives(where, clock=clock) as life:
        report, heard = await ran(life, ListedSenses([odd]), ticks=3)
        assert (report.senses, report.failed, report.aside, life.asked) == (1, 0, 2, 1)
        assert [one["id"] for one in told(heard, "sense_set_aside")] == ["a", r"b\udcff"]
        kept = [life.agent.senses_set_aside.sense(one) for one in life.agent.senses_set_aside.all()]
        assert [one.payload["text"] for one in kept] == [
            r"{'text': 'name \udcff.txt'}",
            "{'text': 'hello'}",
        ]
        assert life.agent.verify().intact
