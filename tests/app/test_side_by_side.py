"""Many messages at one open agent: sessions side by side, the messages of one in their order."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import cast

import anyio
import pytest

from mentis import Agent, Parts, Sense, Stimulus, Trust, create_home, tool
from mentis.app.agent import Tool
from mentis.ask.budgets import spending_in
from mentis.errors import BadInput, BudgetReached, SessionBusy, StoreLocked, UsageError
from mentis.ports.clock import read_clock
from mentis.tools.acts import open_acts
from mentis.turn.turn import TurnResult
from mentis.values.rendering import Rendering
from mentis.values.route import Route

pytestmark = pytest.mark.anyio
USED: object = {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}


def _echo(text: str) -> object:
    return {"content": f"re: {text}"}


class Replies:
    """Answers each request by its last message, once so many were asked `at_once`."""

    def __init__(self, answer: Callable[[str], object] | None = None, *, at_once: int = 0) -> None:
        self._answer = answer or _echo
        self._at_once = at_once
        self._open = 0
        self.gate = anyio.Event()
        self.begun: list[str] = []
        self.systems: list[object] = []
        self.changed = anyio.Event()

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        messages = json.loads(rendering.body())["messages"]
        message = messages[-1]
        self.systems.append(messages[0])
        said = message["content"] if message["role"] == "user" else "the result"
        text = said if isinstance(said, str) else said[-1]["text"]
        yield self._play(text.rpartition("\n\n")[2])

    async def _play(self, text: str) -> AsyncIterator[str]:
        self._open += 1
        self.begun.append(text)
        self.changed.set()
        self.changed = anyio.Event()
        if self._open >= self._at_once:
            self.gate.set()
        yield json.dumps({"choices": [{"delta": {"content": ""}}]})
        await self.gate.wait()
        yield json.dumps({"choices": [{"delta": self._answer(text), "finish_reason": "stop"}]})
        yield json.dumps(USED)

    async def until(self, count: int) -> None:
        while len(self.begun) < count:
            await self.changed.wait()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = create_home(tmp_path / "home")
    with (made / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write('\n[routes.default]\nurl = "http://127.0.0.1:9/v1"\nmodel = "m"\n')
        file.write('[recall]\nembedder = "off"\n')
    return made


def opened(home: Path, provider: Replies, *tools: Tool, **settings: str) -> Agent:
    chosen = {f"MENTIS_{name.upper()}": value for name, value in settings.items()}
    parts = Parts(environ={**os.environ, **chosen})
    return Agent.open(home, tools=tools, provider=provider, parts=parts)


def asked(agent: Agent, session: str) -> list[str]:
    return [turn.text for turn in agent.history(session=session) if turn.role == "user"]


async def test_sessions_are_answered_side_by_side_and_none_waits_for_a_worker_thread(
    home: Path,
) -> None:
    """None is answered before all are asked: more than there are threads in the common pool."""
    with anyio.fail_after(60):
        async with opened(home, Replies(at_once=64)) as agent:
            answers: dict[str, str] = {}

            async def talk(session: str) -> None:
                answers[session] = (await agent.chat(f"I am {session}", session=session)).text

            async with anyio.create_task_group() as tasks:
                for number in range(64):
                    tasks.start_soon(talk, f"s{number}")
            verdict = agent.verify()
    assert answers == {f"s{number}": f"re: I am s{number}" for number in range(64)}
    assert (verdict.intact, verdict.findings, verdict.entries) == (True, (), 64)


async def test_messages_of_one_session_are_answered_in_the_order_they_came(home: Path) -> None:
    provider = Replies(at_once=1)
    said = [f"message {number}" for number in range(6)]
    async with opened(home, provider) as agent:
        async with anyio.create_task_group() as tasks:
            for text in said:
                tasks.start_soon(agent.chat, text)
        assert provider.begun == said
        told = [turn.text for turn in agent.history()]
        assert agent.verify().findings == ()
    assert told == [text for each in said for text in (each, f"re: {each}")]


async def test_beyond_the_queue_of_a_session_a_message_is_refused_and_leaves_nothing(
    home: Path,
) -> None:
    provider = Replies(at_once=99)
    async with opened(home, provider, turn__queue="2") as agent:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent.chat, "one")
            await provider.until(1)
            tasks.start_soon(agent.chat, "two")
            tasks.start_soon(agent.chat, "three")
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(SessionBusy, match="2 messages of session 'main' wait") as refused:
                await agent.chat("four")
            assert refused.value.facts == {"session": "main", "waiting": 2}
            tasks.start_soon(lambda: agent.chat("elsewhere", session="other"))
            await provider.until(2)
            provider.gate.set()
        assert asked(agent, "main") == ["one", "two", "three"]
        assert asked(agent, "other") == ["elsewhere"]


async def test_what_cannot_be_taken_is_refused_without_waiting(home: Path) -> None:
    provider = Replies(at_once=99)
    async with opened(home, provider) as agent, anyio.create_task_group() as tasks:
        tasks.start_soon(agent.chat, "one")
        await provider.until(1)
        with pytest.raises(BadInput):
            await agent.chat("")
        provider.gate.set()


async def test_whoever_gives_up_waiting_leaves_the_queue_and_nothing_else(home: Path) -> None:
    provider = Replies(at_once=99)
    async with opened(home, provider) as agent:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent.chat, "one")
            await provider.until(1)
            impatient = anyio.CancelScope()

            async def give_up() -> None:
                with impatient:
                    await agent.chat("two")

            tasks.start_soon(give_up)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(agent.chat, "three")
            await anyio.wait_all_tasks_blocked()
            impatient.cancel()
            await anyio.wait_all_tasks_blocked()
            provider.gate.set()
        assert asked(agent, "main") == ["one", "three"]


async def test_one_session_is_interrupted_and_the_others_go_on(home: Path) -> None:
    provider = Replies(at_once=99)
    results: dict[str, TurnResult] = {}
    async with opened(home, provider) as agent:

        async def talk(session: str) -> None:
            results[session] = await agent.chat("Hello", session=session)

        async with anyio.create_task_group() as tasks:
            for session in ("left", "right"):
                tasks.start_soon(talk, session)
            await provider.until(2)
            agent.interrupt("left")
            while "left" not in results:
                await anyio.lowlevel.checkpoint()
            assert "right" not in results
            provider.gate.set()
    assert results["left"].stop == "interrupted"
    assert (results["right"].stop, results["right"].text) == ("answer", "re: Hello")


async def test_without_a_session_all_answers_are_interrupted_and_who_waits_is_answered(
    home: Path,
) -> None:
    provider = Replies(at_once=3)
    stops: Counter[str] = Counter()
    async with opened(home, provider) as agent:

        async def talk(session: str) -> None:
            stops[(await agent.chat("Hello", session=session)).stop] += 1

        async with anyio.create_task_group() as tasks:
            for session in ("left", "right", "left"):
                tasks.start_soon(talk, session)
            await provider.until(2)
            agent.interrupt()
    assert stops == {"interrupted": 2, "answer": 1}


async def test_a_call_that_its_own_turn_would_wait_for_is_refused(home: Path) -> None:
    outcomes: list[str] = []

    @tool
    async def ask_myself() -> str:
        """Asks the same agent in the same session."""
        with pytest.raises(UsageError, match="waits for this call"):
            await agent.chat("Again?")
        outcomes.append((await agent.chat("Elsewhere?", session="other")).text)
        return "asked"

    def answer(text: str) -> object:
        if text == "Go":
            call = {"index": 0, "id": "a", "function": {"name": "ask_myself", "arguments": "{}"}}
            return {"tool_calls": [call]}
        return {"content": f"re: {text}"}

    async with opened(home, Replies(answer), ask_myself) as agent:
        result = await agent.chat("Go")
    assert [one.state for one in result.outcomes] == ["done"]
    assert outcomes == ["re: Elsewhere?"]


async def test_the_last_message_is_answered_again_after_those_that_wait(home: Path) -> None:
    provider = Replies(at_once=99)
    async with opened(home, provider) as agent, anyio.create_task_group() as tasks:
        tasks.start_soon(agent.chat, "one")
        await provider.until(1)
        tasks.start_soon(agent.chat, "two")
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(agent.regenerate)
        await anyio.wait_all_tasks_blocked()
        provider.gate.set()
    assert provider.begun == ["one", "two", "two"]


async def test_a_tick_and_a_chat_go_on_side_by_side_and_a_second_tick_does_not(home: Path) -> None:
    provider = Replies(lambda _text: {"content": "<output-ir></output-ir>"}, at_once=99)
    async with opened(home, provider) as agent:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent.chat, "Hello")
            await provider.until(1)

            async def tick() -> None:
                await agent.tick([Sense("s1", "note", {"text": "look"})])

            tasks.start_soon(tick)
            await provider.until(2)
            with pytest.raises(StoreLocked, match="a tick of ada is going on already"):
                await agent.tick()
            provider.gate.set()
        assert agent.verify().findings == ()
        assert [entry.kind for entry in agent.entries()].count("turn") == 2


# What turns have in common


async def test_what_the_persona_keeps_about_itself_is_told_alike_in_all_sessions(
    home: Path,
) -> None:
    """A file that nobody has looked at yet is taken in once, and nobody is told it as doubtful."""
    soul = home / "personas" / "ada" / "memory" / "soul.md"
    soul.parent.mkdir(parents=True, exist_ok=True)
    soul.write_text("I like the smell of rain on warm stone.", encoding="utf-8")
    provider = Replies(at_once=32)
    async with opened(home, provider, features__persona_memory="true") as agent:
        await _everybody(agent, 32)
    assert "rain on warm stone" in json.dumps(provider.systems[0])
    assert all(system == provider.systems[0] for system in provider.systems)


def _calling(name: str, arguments: dict[str, object]) -> Callable[[str], object]:
    def answer(text: str) -> object:
        if text == "the result":
            return {"content": "Done."}
        function = {"name": name, "arguments": json.dumps(arguments)}
        return {"tool_calls": [{"index": 0, "id": f"c-{text}", "function": function}]}

    return answer


async def _everybody(agent: Agent, count: int, text: str = "Go") -> list[TurnResult | Exception]:
    made: list[TurnResult | Exception] = []

    async def talk(session: str) -> None:
        try:
            made.append(await agent.chat(text, session=session))
        except BudgetReached as error:
            made.append(error)

    async with anyio.create_task_group() as tasks:
        for number in range(count):
            tasks.start_soon(talk, f"s{number}")
    return made


async def test_acts_of_the_hour_are_counted_over_all_sessions(home: Path) -> None:
    done: list[int] = []

    @tool
    def note() -> str:
        """Notes something."""
        done.append(1)
        return "noted"

    provider = Replies(_calling("note", {}), at_once=8)
    async with opened(home, provider, note, acts__per_hour="3") as agent:
        made = await _everybody(agent, 8)
        states = Counter(one.state for each in made for one in cast("TurnResult", each).outcomes)
        assert agent.verify().findings == ()
    assert len(done) == 3
    assert states == {"done": 3, "refused": 5}


async def test_acts_of_one_endpoint_are_done_one_after_the_other_over_all_sessions(
    home: Path,
) -> None:
    inside: list[int] = []
    most: list[int] = []

    @tool(endpoint="printer")
    async def print_page() -> str:
        """Prints a page."""
        inside.append(1)
        most.append(len(inside))
        await anyio.lowlevel.checkpoint()
        inside.pop()
        return "printed"

    async with opened(home, Replies(_calling("print_page", {}), at_once=8), print_page) as agent:
        await _everybody(agent, 8)
    assert most == [1] * 8


async def test_budgets_are_never_gone_over_and_what_was_used_is_what_the_record_says(
    home: Path,
) -> None:
    settings = {"budgets__agent_tokens": "6000", "routes__default__max_tokens": "1000"}
    async with opened(home, Replies(), **settings) as agent:
        made = await _everybody(agent, 32)
        spent = spending_in(agent.entries(), read_clock(agent.clock), priced=False)
    answered = [one for one in made if isinstance(one, TurnResult)]
    refused = [one for one in made if isinstance(one, BudgetReached)]
    assert len(answered) + len(refused) == 32
    assert answered
    assert refused  # each may come to more than it does, and all were begun at once
    assert spent.agent_tokens == 110 * len(answered) <= 6_000
    assert spent.agent_usd == Decimal(0)


async def test_what_came_of_an_act_is_told_once_and_each_session_is_told_its_own(
    home: Path,
) -> None:
    @tool(scope="agent", external_effects=True)
    def send(address: str) -> str:
        """Sends a letter.

        Args:
            address: To whom.
        """
        return f"sent to {address}"

    def answer(text: str) -> object:
        if "send" not in text:
            return {"content": f"re: {text[:6]}"}
        function = {"name": "send", "arguments": json.dumps({"address": f"{text[-5:]} road 1234"})}
        return {"tool_calls": [{"index": 0, "id": "c", "function": function}]}

    async with opened(home, Replies(answer), send, acts__ask='["send"]') as agent:
        for session in ("left", "right"):
            guest = Stimulus(f"send {session:>5}", trust=Trust.UNTRUSTED, author="guest")
            made = await agent.chat(guest, session=session)
            assert [one.state for one in made.pending] == ["waiting"]
    with open_acts(home) as acts:
        for act in acts.pending()[0]:
            acts.approve(act.call.key, by="ada")
    provider = Replies(answer, at_once=2)
    async with opened(home, provider, send, acts__ask='["send"]') as agent:
        results: list[TurnResult | None] = []

        async def go_on(session: str) -> None:
            results.append(await agent.resume(session=session))

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for session in ("left", "right"):
                    tasks.start_soon(go_on, session)
        told = [entry.body["told"] for entry in agent.entries() if "told" in entry.body]
    assert all(results)
    assert len(told) == 2
    assert len({key for keys in told for key in cast("list[str]", keys)}) == 2
