"""The loop on a real agent: when it thinks, when it rests, what it lets go of, how it ends."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from anyio import create_task_group

from mentis.errors import LeaseHeld, StoreError, StoreLocked
from mentis.loop.queue import SenseQueue
from mentis.ports.sense_source import ListedSenses
from mentis.tick.events import TickEvent
from mentis.values.cognition import Sense
from mentis.values.trust import Trust

from .living import GOAL, QUIET, Life, Where, answer, made, put, sense, sleeps, wants

pytestmark = pytest.mark.anyio


@pytest.fixture
def where(tmp_path: Path) -> Where:
    return made(tmp_path)


def inbox(life: Life) -> Path:
    return life.home / "senses" / "ada"


async def test_ticks_with_nothing_to_think_about_ask_no_model_and_leave_no_entry(
    where: Where,
) -> None:
    async with where.live() as life:
        report = await life.loop(ticks=50).run()
        assert (report.ticks, report.idle, report.thought) == (50, 50, 0)
        assert life.asked == 0
        assert life.agent.entries() == ()
        assert life.clock.waits == [10.0] * 49


async def test_a_sense_an_outcome_and_then_stillness(where: Where) -> None:
    async with where.live(answer(wants("note", text="it")), QUIET) as life:
        report = await life.loop(ListedSenses([(sense("a"),)]), ticks=5).run()
        assert (report.thought, report.idle, report.acts, report.senses) == (2, 3, 1, 1)
        assert "noted it" in life.told()
        assert life.agent.verify().intact


async def test_with_open_goals_it_thinks_by_itself_every_so_many_ticks(tmp_path: Path) -> None:
    where = made(tmp_path, "[run]\nproactive = 4\n")
    async with where.live(answer(goals=[GOAL]), QUIET, QUIET) as life:
        report = await life.loop(ListedSenses([(sense("a"),)]), ticks=10).run()
        assert (report.thought, report.idle) == (3, 7)
        assert report.patches == 1


async def test_drives_alone_start_thoughts_every_so_many_ticks(tmp_path: Path) -> None:
    where = made(tmp_path, '[cortex]\ndrives = ["Learn."]\n[run]\nproactive = 4\n')
    async with where.live(QUIET, QUIET) as life:
        report = await life.loop(ticks=11).run()
        assert (report.thought, report.idle, life.asked) == (2, 9, 2)
        assert "Learn." in life.told()


async def test_drives_start_nothing_where_the_owner_wants_no_thoughts_of_its_own(
    tmp_path: Path,
) -> None:
    where = made(tmp_path, '[cortex]\ndrives = ["Learn."]\n[run]\nproactive = 0\n')
    async with where.live() as life:
        assert (await life.loop(ticks=100).run()).idle == 100
        assert life.asked == 0


async def test_without_the_gate_every_tick_thinks(tmp_path: Path) -> None:
    where = made(tmp_path, "[run]\nidle_gate = false\n")
    async with where.live(QUIET, QUIET, QUIET) as life:
        assert (await life.loop(ticks=3).run()).thought == 3


async def test_files_are_taken_once_and_let_go_after_the_tick(where: Where, tmp_path: Path) -> None:
    folder = tmp_path / "post"
    put(folder, "a.txt", "It rains.")
    put(folder, "b.json", text="It is cold.")
    put(folder, ".half", "not yet")
    async with where.live(QUIET) as life:
        put(inbox(life), "c.json", text="Hello.")
        report = await life.loop(ticks=2, folders=(folder,)).run()
        assert (report.thought, report.senses) == (1, 3)
        assert all(said in life.told() for said in ("It rains.", "It is cold.", "Hello."))
        assert list(inbox(life).iterdir()) == []
    assert sorted(one.name for one in (folder / "taken").iterdir()) == ["a.txt", "b.json"]
    assert (folder / ".half").exists()


async def test_what_is_no_plain_sense_is_refused_and_told(where: Where, tmp_path: Path) -> None:
    folder = tmp_path / "post"
    put(folder, "bad.json", "{")
    put(folder, "own.json", json.dumps({"text": "x", "trust": "owner"}))
    put(folder, "long.txt", "x" * 300_000)
    (folder / "bytes").write_bytes(b"\xff\xfe")
    (folder / "link").symlink_to(put(tmp_path, "secret.txt", "secret"))
    os.mkfifo(folder / "pipe")
    async with where.live() as life:
        report = await life.loop(ticks=3, folders=(folder,)).run()
    assert report.thought == 0
    assert {one.name for one in report.refused} == {
        "bad.json",
        "own.json",
        "long.txt",
        "bytes",
        "link",
        "pipe",
    }
    assert report.refusals == 6
    assert len(list((folder / "refused").iterdir())) == 4
    assert (folder / "link").is_symlink()


async def test_a_sense_that_nobody_heard_comes_again_later_each_time(where: Where) -> None:
    async with where.live() as life:  # its script is empty: the primary fails
        put(inbox(life), "a.json", text="Hello.")
        report = await life.loop(ticks=5).run()
        assert (report.failed, report.senses) == (5, 0)
        assert life.clock.waits == [10.0, 20.0, 40.0, 80.0]
        assert len(list(inbox(life).iterdir())) == 1
    async with where.live(QUIET) as life:
        report = await life.loop(ticks=2).run()
        assert (report.failed, report.thought) == (0, 1)
        assert list(inbox(life).iterdir()) == []


async def test_what_was_taken_and_not_let_go_is_not_taken_again(
    where: Where, tmp_path: Path
) -> None:
    """As after a kill between the record of the tick and the move of its file."""
    folder = tmp_path / "post"
    put(folder, "a.txt", "It rains.")
    (folder / "taken").write_text("in the way", encoding="utf-8")
    async with where.live(QUIET) as life:
        with pytest.raises(StoreError):
            await life.loop(ticks=3, folders=(folder,)).run()
    assert (folder / "a.txt").exists()
    (folder / "taken").unlink()
    async with where.live() as life:
        report = await life.loop(ticks=3, folders=(folder,)).run()
        assert (report.thought, report.idle) == (0, 3)
    assert (folder / "taken" / "a.txt").exists()
    async with where.live(QUIET) as life:  # the same words in another file are another sense
        put(folder, "a.txt", "It rains.")
        assert (await life.loop(ticks=1, folders=(folder,)).run()).thought == 1


async def test_a_tick_takes_a_bounded_number_and_the_others_wait(tmp_path: Path) -> None:
    where = made(tmp_path, "[run]\nsenses = 2\n")
    async with where.live(QUIET, QUIET) as life:
        for number in range(4):
            put(inbox(life), f"{number}.json", n=number)
        loop = life.loop(ListedSenses([(sense("x"),)]), ticks=2)
        report = await loop.run()
        assert report.senses == 4
        assert len(list(inbox(life).iterdir())) == 1


async def test_sleep_ends_the_batch_and_a_sense_ends_the_sleep(where: Where) -> None:
    script = answer(sleeps(600), wants("note", text="late")), QUIET
    heard: list[TickEvent] = []
    async with where.live(*script) as life:
        queue = SenseQueue()
        await queue.put(sense("a"))
        loop = life.loop(queue, ticks=3)
        loop._emit = heard.append  # pyright: ignore[reportPrivateUsage]  # what it tells

        async def wait(seconds: float) -> None:
            life.clock.passed += seconds
            if life.clock.passed == 100.0:
                await queue.put(sense("b"))

        life.clock.wait = wait
        report = await loop.run()
    assert (report.acts, report.slept, report.thought) == (1, 1, 2)
    assert "came after a sleep act" in life.told(1)
    names = [one.event for one in heard if one.event.startswith("loop_")]
    assert names[:3] == ["loop_started", "loop_slept", "loop_woke"]
    assert life.clock.passed == 110.0  # the sleep was over at 100, and the next tick is due at 110


async def test_waking_by_the_clock_is_something_to_think_about(where: Where) -> None:
    async with where.live(answer(sleeps(60)), QUIET) as life:
        report = await life.loop(ListedSenses([(sense("a"),)]), ticks=2).run()
        assert (report.thought, life.clock.passed) == (2, 60.0)


async def test_ticks_that_were_missed_are_skipped(where: Where) -> None:
    async with where.live(QUIET) as life:
        loop = life.loop(ListedSenses([(sense("a"),)]), ticks=3)
        tick = life.agent.tick_trusted

        async def slow(*args: object, **rest: object) -> object:
            life.clock.passed += 34
            return await tick(*args, **rest)  # pyright: ignore[reportArgumentType]

        life.agent.tick_trusted = slow  # pyright: ignore[reportAttributeAccessIssue]  # it takes its time
        report = await loop.run()
    assert report.skipped == 3
    assert life.clock.waits == [6.0, 10.0]


async def test_timers_are_senses_and_missed_ones_are_not_made_up_for(tmp_path: Path) -> None:
    table = '[run.timers.water]\nevery = 25\ntext = "Water the plants."\n'
    where = made(tmp_path, table)
    async with where.live(QUIET, QUIET) as life:
        report = await life.loop(ticks=8).run()  # at 0, 10, ... 70: due at 25 and 50
        assert (report.thought, report.senses) == (2, 2)
        assert "Water the plants." in life.told()


async def test_only_who_is_trusted_puts_it_to_rest_and_the_others_of_the_batch_stay(
    where: Where,
) -> None:
    stranger = Sense("h1", "hibernate", {}, Trust.UNTRUSTED)
    owner = Sense("h2", "hibernate", {}, Trust.OWNER)
    async with where.live(QUIET) as life:
        report = await life.loop(ListedSenses([(stranger,), (sense("a"), owner)]), ticks=9).run()
        assert (report.stopped, report.refusals, report.thought) == ("hibernate", 1, 0)
        source = ListedSenses([(sense("a"), owner)])
        assert (await life.loop(source, ticks=9).run()).stopped == "hibernate"
        assert await source.take(9) == (sense("a"),)
        assert life.asked == 0


@pytest.mark.parametrize("name", ["turn_tokens", "day_tokens"])
async def test_a_budget_stops_it_politely_and_nothing_is_lost(tmp_path: Path, name: str) -> None:
    where = made(tmp_path, f"[budgets]\n{name} = 50\n")
    async with where.live(QUIET) as life:
        put(inbox(life), "a.json", text="Hello.")
        report = await life.loop(ticks=9).run()
        assert (report.stopped, report.ticks) == ("budget", 1)
        assert f"budgets.{name}" in report.told
        assert life.asked == 0
        assert len(list(inbox(life).iterdir())) == 1


async def test_a_second_loop_is_told_who_runs(where: Where) -> None:
    async with where.live() as life, where.live() as other:
        first = life.loop(ticks=1)
        held = first._alone  # pyright: ignore[reportPrivateUsage]  # as while it runs
        told = pytest.raises(StoreLocked, match=r"run already by process \d+ since 2026")
        with held, told:
            await other.loop(ticks=1).run()
        assert (await other.loop(ticks=1).run()).ticks == 1


async def test_a_tick_that_another_took_over_does_not_end_the_loop(where: Where) -> None:
    async with where.live(QUIET) as life:
        put(inbox(life), "a.json", text="Hello.")
        tick, refused = life.agent.tick_trusted, list[LeaseHeld]()

        async def told(*args: object, **rest: object) -> object:
            if not refused:
                refused.append(LeaseHeld("the lease of `home/ada` to tick is lost"))
                raise refused[0]
            return await tick(*args, **rest)  # pyright: ignore[reportArgumentType]

        life.agent.tick_trusted = told  # pyright: ignore[reportAttributeAccessIssue]  # lost once
        report = await life.loop(ticks=3).run()
    assert (report.stopped, report.thought, report.failed, report.aside) == ("ticks", 1, 1, 0)


async def test_stop_lets_the_tick_end_and_said_twice_cuts_it_short(where: Where) -> None:
    async with where.live(QUIET) as life:
        put(inbox(life), "a.json", text="Hello.")
        loop = life.loop(ticks=9)
        tick = life.agent.tick_trusted

        async def told(*args: object, **rest: object) -> object:
            loop.stop()
            return await tick(*args, **rest)  # pyright: ignore[reportArgumentType]

        life.agent.tick_trusted = told  # pyright: ignore[reportAttributeAccessIssue]  # stopped in between
        report = await loop.run()
        assert (report.stopped, report.thought, report.told) == ("asked", 1, "")
        put(inbox(life), "b.json", text="Hello again.")
        loop = life.loop(ticks=9)

        async def cut(*args: object, **rest: object) -> object:
            loop.stop()
            loop.stop()
            return await tick(*args, **rest)  # pyright: ignore[reportArgumentType]

        life.agent.tick_trusted = cut  # pyright: ignore[reportAttributeAccessIssue]
        report = await loop.run()
        assert (report.stopped, report.thought) == ("asked", 0)
        assert "cut short" in report.told
        assert [one.name for one in inbox(life).iterdir()] == ["b.json"]


async def test_whoever_puts_waits_while_the_queue_is_full() -> None:
    queue, order = SenseQueue(1), list[str]()
    await queue.put(sense("a"))

    async def put_one() -> None:
        held = await queue.put(sense("b"))
        order.append("put")
        await held.taken.wait()
        order.append("taken")

    async with create_task_group() as tasks:
        tasks.start_soon(put_one)
        assert await queue.take(9) == (sense("a"),)
        assert len(queue) == 1
        order.append("done")
        await queue.done(["a"])
        while len(queue) == 0:
            await queue.take(9)
        await queue.done(["b"])
    assert order == ["done", "put", "taken"]


async def test_beats_are_made_in_still_moments_only_where_they_are_wanted(tmp_path: Path) -> None:
    where = made(tmp_path, "[beats]\nenabled = true\ninterval = 600\n")
    async with where.live(QUIET, "I watered the plants.") as life:
        report = await life.loop(ListedSenses([(sense("a"),)]), ticks=5).run()
        assert (report.thought, report.idle, report.beats) == (1, 4, 1)
        assert [one.kind for one in life.agent.entries()] == ["turn", "turn"]
