"""A talk and a loop at once: each outcome is told once, and a message keeps its answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
from anyio import Event, create_task_group, fail_after
from anyio.lowlevel import checkpoint

from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.home.parts import Parts
from mentis.loop.sources import LoopChoice
from mentis.tick.events import TickEvent
from mentis.tools.acts import open_acts
from mentis.turn import session_lock
from mentis.values.rendering import Rendering
from mentis.values.route import Route

from .living import QUIET, Paced, Where, made, note

pytestmark = pytest.mark.anyio
ASKS = '{"actions": [{"type": "note", "payload": {"text": "it"}}]}'
ASK = 'ask = ["note"]\n'  # goes on with the table [acts]


class Slow(ScriptedProvider):
    """Answers by what stands in the prompt; it waits with what says `slow`, until `go`."""

    def __init__(self, slow: str) -> None:
        super().__init__()
        self.slow, self.asked, self.go = slow, Event(), Event()
        self.clock = Paced()

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        self.sent.append(rendering)
        prompt = rendering.body().decode()
        if self.slow in prompt:
            self.asked.set()
            await self.go.wait()
        async with ScriptedProvider([_answer(prompt)]).open(rendering, route) as events:
            yield events


def _answer(prompt: str) -> str:
    if "Anything new" in prompt:
        return "Here I am."
    if "input-ir" in prompt:
        return QUIET
    return "It is noted." if "noted it" in prompt else ASKS


@asynccontextmanager
async def two(where: Where, slow: Slow) -> AsyncGenerator[tuple[Agent, Agent]]:
    """As if in two processes; something was asked for in `main`, and approved later."""
    parts = Parts(provider=slow, clock=slow.clock, handlers=(note,))
    async with Agent.open(where.home, parts=parts) as one:
        await one.chat("Note it.")
        with open_acts(where.home, parts=parts) as acts:
            acts.approve(acts.pending()[0][0].call.key, by="robin")
        async with Agent.open(where.home, parts=parts) as other:
            with fail_after(20):
                yield one, other


def told(agent: Agent) -> list[str]:
    keys = (cast("list[str]", entry.body.get("told") or []) for entry in agent.entries())
    return [key for each in keys for key in each]


def said(agent: Agent, session: str = "main") -> list[str]:
    return [turn.text for turn in agent.history(session=session) if turn.text]


async def test_nothing_is_delivered_while_a_message_of_that_talk_waits_for_its_answer(
    tmp_path: Path,
) -> None:
    slow, heard = Slow("Anything new"), list[TickEvent]()
    async with two(made(tmp_path, ASK), slow) as (one, other):
        loop = other.loop(choice=LoopChoice(10.0, 3), pause=slow.clock, emit=heard.append)
        async with create_task_group() as beside:
            beside.start_soon(one.chat, "Anything new?")
            await slow.asked.wait()
            await loop.run()
            slow.go.set()
        assert (loop.report.deliveries, loop.report.thought, len(told(one))) == (0, 0, 1)
        assert said(one)[-2:] == ["Anything new?", "Here I am."]
        # Told once, not at each look: it waits for somebody, and nothing has failed.
        waits = [dict(event.facts) for event in heard if event.event.startswith("delivery")]
        assert [(one["act"], one["code"]) for one in waits] == [("note", "store-locked")]
        report = await other.loop(choice=LoopChoice(10.0, 3), pause=slow.clock).run()
        assert (report.deliveries, len(told(one))) == (0, 1)
        assert one.verify().intact


async def test_a_message_waits_for_a_delivery_that_goes_on_in_its_talk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow("noted it")

    async def waited(_seconds: float) -> None:
        slow.go.set()
        await checkpoint()

    monkeypatch.setattr(session_lock, "sleep", waited)
    async with two(made(tmp_path, ASK), slow) as (one, other):
        async with create_task_group() as beside:
            beside.start_soon(other.loop(choice=LoopChoice(10.0, 1), pause=slow.clock).run)
            await slow.asked.wait()
            await one.chat("Anything new?")
        assert said(one)[-3:] == ["It is noted.", "Anything new?", "Here I am."]
        assert len(told(one)) == 1
        assert "act.result" not in slow.sent[-1].body().decode()


async def test_what_is_being_delivered_is_no_news_in_another_talk(tmp_path: Path) -> None:
    slow = Slow("noted it")
    async with two(made(tmp_path, ASK), slow) as (one, other):
        async with create_task_group() as beside:
            beside.start_soon(other.loop(choice=LoopChoice(10.0, 1), pause=slow.clock).run)
            await slow.asked.wait()
            await one.chat("Anything new?", session="another")
            slow.go.set()
        assert (said(one)[-1], len(told(one))) == ("It is noted.", 1)
        assert "noted it" not in slow.sent[-1].body().decode()


async def test_no_tick_thinks_about_what_somebody_is_told_just_now(tmp_path: Path) -> None:
    slow = Slow("Anything new")
    async with two(made(tmp_path, f"{ASK}[run]\ndeliver = false\n"), slow) as (one, other):
        loop = other.loop(choice=LoopChoice(10.0, 3), pause=slow.clock)
        async with create_task_group() as beside:
            beside.start_soon(one.chat, "Anything new?")
            await slow.asked.wait()
            await loop.run()
            await other.tick()  # and one that is wanted all the same is not told of it
            slow.go.set()
        assert (loop.report.thought, len(told(one))) == (0, 1)
        assert "noted it" not in slow.sent[-1].body().decode()
