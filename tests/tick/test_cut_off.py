"""Ticks that end early, that meet one another, and that have more to tell than a model can take."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from mentis.act.functions import act
from mentis.app.agent import Agent
from mentis.compose.input_ir import InputIr
from mentis.errors import ProviderUnreachable, StoreLocked
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ports.act_handler import ActHandler
from mentis.ports.provider import Provider
from mentis.settle.output_ir import write_output_ir
from mentis.tick.fitting import fit_input
from mentis.values.cognition import Sense
from mentis.values.entry import Entry
from mentis.values.rendering import Rendering
from mentis.values.route import Route
from mentis.values.tick import LeftOut
from mentis.values.trust import Trust

from .injected import Heard

pytestmark = pytest.mark.anyio
Opened = Callable[..., Agent]


def answer(*acts: object, memory: object = ()) -> str:
    return write_output_ir({"acts": acts, "goal-tree-patch": (), "l1-memory-patch": memory})


def wants(name: str, **payload: object) -> dict[str, object]:
    return {"endpoint_id": "python", "neural_signal_descriptor_id": name, "payload": payload}


def scripted(*replies: str, more: str = "") -> str:
    told = ", ".join(json.dumps(reply) for reply in replies)
    facts = "facts = {native_tools = false}"
    return f'[routes.default]\nbackend = "scripted"\nreplies = [{told}]\n{facts}\n{more}\n'


@act
def note(text: str) -> str:
    """Note something."""
    return f"noted {text}"


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    home = create_home(tmp_path / "home")
    plain = (home / "mentis.toml").read_text(encoding="utf-8").replace("[routes]", "")

    def agent(table: str, *handlers: ActHandler, provider: Provider | None = None) -> Agent:
        (home / "mentis.toml").write_text(plain + table, encoding="utf-8")
        parts = Parts(handlers=handlers or (note,), environ=dict(os.environ), provider=provider)
        return Agent.open(home, parts=parts)

    return agent


class Endless:
    """A provider that begins to answer and never ends; `begun` is set by then."""

    def __init__(self) -> None:
        self.begun = anyio.Event()

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        yield self._events()

    async def _events(self) -> AsyncIterator[str]:
        yield json.dumps({"choices": [{"delta": {"content": "<output-ir>"}}]})
        self.begun.set()
        await anyio.sleep_forever()


def calls_of(entry: Entry) -> list[Any]:
    told: Any = entry.body["calls"]
    return [call["stage"] for call in told]


async def test_a_tick_that_is_cancelled_is_recorded_with_what_it_asked(opened: Opened) -> None:
    provider = Endless()
    async with opened(scripted(), provider=provider) as agent:
        async with anyio.create_task_group() as group:
            group.start_soon(agent.tick, [Sense("s", "mail", {"text": "Hello"})])
            await provider.begun.wait()
            group.cancel_scope.cancel()
        (entry,) = agent.entries()
        assert calls_of(entry) == ["primary"]
        told: Any = entry.body["tick"]
        assert told["noop"] == "interrupted"
        assert "taken" not in entry.body


async def test_an_interrupt_ends_a_tick_that_says_so(opened: Opened) -> None:
    provider = Endless()
    async with opened(scripted(), provider=provider) as agent, anyio.create_task_group() as group:

        async def interrupt() -> None:
            await provider.begun.wait()
            agent.interrupt()

        group.start_soon(interrupt)
        done = await agent.tick()
        assert done.tick.report.noop == "interrupted"
        assert done.state.revision == 0
        assert done.entry is not None
        assert calls_of(done.entry) == ["primary"]


class FirstAway(Endless):
    """The same, but that the first route is not there."""

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        if route.name == "default":
            raise ProviderUnreachable("nobody is there")
        yield self._events()


async def test_a_route_that_was_passed_over_is_told_also_where_the_next_is_too_slow(
    opened: Opened,
) -> None:
    provider = FirstAway()
    second = '[routes.second]\nbackend = "scripted"\nreplies = []\nfacts = {native_tools = false}\n'
    table = scripted().replace("replies = []", 'replies = []\nfallback = ["second"]') + second
    async with opened(f"{table}[cortex]\nseconds = 1\n", provider=provider) as agent:
        done = await agent.tick([Sense("s", "mail", {"text": "Hello"})])
    assert [one.route for one in done.tick.report.passed] == ["default"]


async def test_an_act_too_deep_to_record_costs_that_act_and_nothing_else(opened: Opened) -> None:
    deep = "[" * 900 + "]" * 900
    acts = json.dumps([wants("note", text="x", more="DEEP")]).replace('"DEEP"', deep)
    reply = answer(memory=[{"op": "append", "value": "v"}]).replace("<acts>[]", f"<acts>{acts}")
    assert deep in reply
    async with opened(scripted(reply)) as agent:
        done = await agent.tick()
        assert (done.tick.report.noop, done.state.revision, done.outcomes) == ("", 1, ())
        stages = {one.stage: one for one in done.tick.report.stages}
        assert stages["acts_helper"].state == "failed"
        assert "deep" in stages["acts_helper"].reason


async def test_a_second_tick_is_told_who_ticks(opened: Opened) -> None:
    agents: list[Agent] = []
    refused: list[str] = []

    @act
    async def meanwhile() -> str:
        """Let another process tick."""
        with pytest.raises(StoreLocked) as caught:
            await agents[1].tick()
        refused.append(caught.value.message)
        return "done"

    table = scripted(answer(wants("meanwhile")), answer())
    async with opened(table, meanwhile) as one, opened(table, meanwhile) as other:
        agents += [one, other]
        done = await one.tick()
        assert [outcome.state for outcome in done.outcomes] == ["done"]
        assert f"by process {os.getpid()} since" in refused[0]
        heard = Heard()
        await other.tick(emit=heard)
        assert "act.result" in (heard.text("input_ir_sense") or "")


async def test_what_a_tick_left_outlasts_any_number_of_turns_and_none_of_it_is_dropped(
    opened: Opened,
) -> None:
    script = answer(*[wants("fly", to=str(number)) for number in range(70)])
    async with opened(scripted(script, "Hello.", answer())) as agent:
        left = (await agent.tick()).senses
        assert len(left) == 70
        await agent.chat("Hello")
        for number in range(65):  # each is an entry like that of a turn
            agent.set_title(f"Talk {number}")
        heard = Heard()
        await agent.tick(emit=heard)
        assert len((heard.text("input_ir_sense") or "").splitlines()) == 70


async def test_a_memory_that_outgrew_the_model_is_cut_and_told(opened: Opened) -> None:
    big = [{"op": "append", "value": f"remember {number} " * 60} for number in range(40)]
    async with opened(scripted(answer(memory=big))) as agent:
        held = len((await agent.tick()).state.l1_memory)
    small = scripted(answer(), more="context_tokens = 5000\nmax_tokens = 500")
    heard = Heard()
    async with opened(small) as agent:
        done = await agent.tick(emit=heard)
        (cut,) = done.tick.report.left_out
        assert (cut.section, done.tick.report.noop) == ("l1_memory", "")
        assert 0 < cut.lines <= held
        assert heard.facts("input_ir_cut") == [
            {"section": "l1_memory", "lines": cut.lines, "why": "room"}
        ]
        told: Any = done.entry and done.entry.body["tick"]
        assert told["left_out"] == [{"section": "l1_memory", "lines": cut.lines, "why": "room"}]


async def test_senses_that_there_is_no_room_for_come_in_the_next_tick(opened: Opened) -> None:
    many = [Sense(f"s{one}", "mail", {"text": f"letter {one} " * 100}) for one in range(30)]
    small = scripted(answer(), answer(), more="context_tokens = 5000\nmax_tokens = 500")
    async with opened(small) as agent:
        done = await agent.tick(many)
        (cut,) = done.tick.report.left_out
        assert cut.section == "senses"
        later = [one.id for one in many[-cut.lines :]]
        assert 0 < len(later) < len(many)
        assert [one.id for one in done.senses] == later


async def test_a_sense_that_comes_later_is_trusted_as_it_was_when_it_came(opened: Opened) -> None:
    owners = [
        Sense(f"o{one}", "note", {"text": f"line {one}\u2028 " * 100}, Trust.OWNER)
        for one in range(20)
    ]
    guests = [Sense(f"g{one}", "mail", {"text": f"letter {one} " * 100}) for one in range(20)]
    small = scripted(answer(), more="context_tokens = 5000\nmax_tokens = 500")
    async with opened(small) as agent:
        left = (await agent.tick([*owners, *guests])).senses
        assert {one.trust for one in left} == {Trust.OWNER, Trust.UNTRUSTED}
    async with opened(small) as agent:
        again = (await agent.tick()).senses
    assert again
    given = {one.id: one for one in (*owners, *guests)}
    assert all(one == given[one.id] for one in again)


async def test_senses_in_the_words_of_a_helper_are_cut_as_they_are_and_the_others_come_later(
    opened: Opened,
) -> None:
    """Of a text that covers them all nobody could tell which of them a cut takes away."""
    many = [Sense(f"s{one}", "mail", {"text": f"letter {one} " * 100}) for one in range(30)]
    small = scripted(answer(), answer(), more="context_tokens = 5000\nmax_tokens = 500")
    words = json.dumps("\n".join(["They write at length. " * 20] * 60))
    helper = f'[routes.sense_helper]\nbackend = "scripted"\nreplies = [{words}]\n'
    heard = Heard()
    async with opened(small + helper) as agent:
        done = await agent.tick(many, emit=heard)
        assert "They write at length." in (heard.text("input_ir_sense") or "")
        (cut,) = done.tick.report.left_out
        assert 0 < cut.lines < len(many)
        assert [one.id for one in done.senses] == [one.id for one in many[-cut.lines :]]


async def test_a_tick_that_has_no_room_for_any_sense_takes_none(opened: Opened) -> None:
    small = scripted(answer(), more="context_tokens = 1750\nmax_tokens = 100")
    async with opened(f"{small}\n[acts]\nbuiltin = []\n") as agent:
        done = await agent.tick([Sense("s", "mail", {"text": "word " * 380})])
        assert (done.tick.report.noop, done.entry) == ("primary_failed", None)
        (passed,) = done.tick.report.passed
        assert passed.code == "sense-too-large"
        assert (await agent.tick()).tick.report.noop == ""  # without one there is room


class Unreachable:
    """A provider of which some routes fail. `sent` has the size of what the others were sent."""

    def __init__(self, reply: str, *failing: str) -> None:
        self._reply = reply
        self._failing = failing
        self.sent: list[tuple[str, int]] = []

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        if route.name in self._failing:
            raise ProviderUnreachable("nobody is there", hint="wait")
        self.sent.append((route.name, len(rendering.body())))
        yield self._events()

    async def _events(self) -> AsyncIterator[str]:
        said = {"content": self._reply}
        yield json.dumps({"choices": [{"delta": said, "finish_reason": "stop"}]})


async def test_each_route_is_told_what_it_has_room_for_and_none_more_than_that(
    opened: Opened,
) -> None:
    big = [{"op": "append", "value": f"remember {number} " * 60} for number in range(40)]
    async with opened(scripted(answer(memory=big))) as agent:
        await agent.tick()
    routes = scripted(more='fallback = ["tiny", "small"]\ncontext_tokens = 60000')
    for name, tokens in (("tiny", 800), ("small", 5000)):
        routes += f'[routes.{name}]\nbackend = "scripted"\nfacts = {{native_tools = false}}\n'
        routes += f"context_tokens = {tokens}\nmax_tokens = 500\n"
    provider = Unreachable(answer(memory=[{"op": "append", "value": "x"}]), "default")
    async with opened(routes, provider=provider) as agent:
        done = await agent.tick()
    ((name, size),) = provider.sent
    assert name == "small"
    assert size < 30_000
    assert [one.section for one in done.tick.report.left_out] == ["l1_memory"]
    passed = [(one.route, one.code) for one in done.tick.report.passed]
    assert passed == [("default", "provider-unreachable"), ("tiny", "compose")]
    told: Any = done.entry and done.entry.body["tick"]
    assert [one["route"] for one in told["passed"]] == ["default", "tiny"]


async def test_a_primary_without_room_for_the_least_is_not_asked(opened: Opened) -> None:
    small = scripted(answer(), more="context_tokens = 800\nmax_tokens = 500")
    async with opened(small) as agent:
        done = await agent.tick()
    assert (done.tick.report.noop, done.entry) == ("primary_failed", None)
    (failed,) = [one for one in done.tick.report.stages if one.stage == "primary"]
    assert "more than the 800 of route 'default'" in failed.reason


def test_the_oldest_memories_and_the_lightest_goals_are_cut_first() -> None:
    goals = "root partition:\n- Live\n\nuser partition:\n[0] user-root: \n1. [5] a: A\n2. [1] b: B"
    ir = InputIr("1. x: {}\n2. y: {}", "", goals, '0 aa "old"\n1 bb "new"')

    def count(one: InputIr) -> int:
        whole = "\n".join((one.senses, one.goal_tree, one.l1_memory))
        return sum("left_out" not in text for text in whole.splitlines())

    full = count(ir)
    assert fit_input(ir, full, count) == (ir, ())
    cut, told = fit_input(ir, full - 1, count)
    assert cut.l1_memory == '{"left_out": 1}\n1 bb "new"'
    assert told == (LeftOut("l1_memory", 1),)
    cut, told = fit_input(ir, full - 3, count)
    assert told == (LeftOut("l1_memory", 2), LeftOut("goal_tree", 1))
    assert "a: A" in cut.goal_tree
    assert "b: B" not in cut.goal_tree
    cut, told = fit_input(ir, 0, count)
    assert told[-1] == LeftOut("senses", 2)
    assert "- Live" in cut.goal_tree
