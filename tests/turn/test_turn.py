"""One turn, told in the order it runs: begin, snapshot, recall, compose, ask, act, end."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mentis import Agent, MemoryDraft, Parts, create_home, open_memories
from mentis.errors import ProviderUnreachable
from mentis.ports.act_handler import RecordingHandler
from mentis.testing import CountingIds, FixedClock
from mentis.values.rendering import Rendering
from mentis.values.route import Route
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust

pytestmark = pytest.mark.anyio

NOTE = ToolDeclaration(
    "note",
    "Keeps a note.",
    {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)
ANSWER = '{"choices": [{"delta": {"content": "Hello!"}, "finish_reason": "stop"}]}'
CALL = (
    '{"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "note",'
    ' "arguments": "{\\"text\\": \\"milk\\"}"}}]}, "finish_reason": "tool_calls"}]}'
)


@dataclass
class Provider:
    """Answers with one event, later with another, and looks at what is stored meanwhile."""

    event: str = ANSWER
    error: Exception | None = None
    then: str = ""
    agent: Agent | None = None
    payloads: list[str] = field(default_factory=list[str])
    states: list[str] = field(default_factory=list[str])

    @asynccontextmanager
    async def open(self, rendering: Rendering, route: Route) -> AsyncGenerator[AsyncIterator[str]]:
        self.payloads.append(rendering.body().decode())
        if self.agent is not None:
            self.states.append(self.agent.history()[-1].state)
        if self.error is not None:
            raise self.error
        yield self._events(self.event)
        self.event = self.then or self.event

    async def _events(self, event: str) -> AsyncIterator[str]:
        yield event


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = create_home(tmp_path / "home")
    with (made / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write('\n[routes.default]\nurl = "http://127.0.0.1:9/v1"\nmodel = "m"\n')
        file.write('[recall]\nembedder = "off"\n')
    return made


def opened(home: Path, provider: Provider) -> Agent:
    handlers = (RecordingHandler(NOTE, "kept as 7"),)
    parts = Parts(
        provider=provider,
        clock=FixedClock(),
        ids=CountingIds(),
        environ={},
        handlers=handlers,
    )
    provider.agent = Agent.open(home, parts=parts)
    return provider.agent


async def test_the_message_is_stored_before_anybody_is_asked(home: Path) -> None:
    provider = Provider()
    async with opened(home, provider) as agent:
        await agent.chat("Hi")
    assert provider.states == ["pending"]


async def test_a_turn_sees_the_prompts_as_they_are_when_it_begins(home: Path) -> None:
    provider = Provider()
    async with opened(home, provider) as agent:
        await agent.chat("Hi")
        (home / "profile.toml").write_text('name = "Lena"\n', encoding="utf-8")
        path = home / "personas/ada/memory/memory.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# Memory\n\nThe bicycle is blue.\n", encoding="utf-8")
        await agent.chat("Hi again")
    assert "The bicycle is blue." not in provider.payloads[0]
    assert "The bicycle is blue." in provider.payloads[1]


async def test_what_comes_to_mind_is_told(home: Path) -> None:
    with open_memories(home, parts=Parts(environ={})) as memories:
        await memories.remember(MemoryDraft("The bicycle of Lena is blue.", trust=Trust.OWNER))
    provider = Provider()
    async with opened(home, provider) as agent:
        await agent.chat("Which colour has the bicycle of Lena?")
    assert "The bicycle of Lena is blue." in provider.payloads[0]


async def test_what_is_composed_is_what_goes_out(home: Path) -> None:
    provider = Provider()
    async with opened(home, provider) as agent:
        rendering = agent.render("Hi")
        result = await agent.chat("Hi")
    assert provider.payloads == [rendering.body().decode()]
    assert result.rendering.digest == rendering.digest


async def test_the_answer_is_heard_and_stands_in_the_result(home: Path) -> None:
    async with opened(home, Provider()) as agent:
        result = await agent.chat("Hi")
    assert result.reply.text == "Hello!"


async def test_what_the_answer_asks_for_is_done_and_its_outcome_recorded(home: Path) -> None:
    async with opened(home, Provider(CALL, then=ANSWER)) as agent:
        result = await agent.chat("Note: milk")
    (outcome,) = result.outcomes
    assert (outcome.action.type, outcome.state) == ("note", "done")


async def test_what_came_of_it_is_told_and_the_same_turn_goes_on_to_an_answer(home: Path) -> None:
    provider = Provider(CALL, then=ANSWER)
    async with opened(home, provider) as agent:
        result = await agent.chat("Note: milk")
        turns = agent.history()
    assert (result.text, result.stop, len(result.steps)) == ("Hello!", "answer", 2)
    assert "kept as 7" not in provider.payloads[0]
    assert "kept as 7" in provider.payloads[1]
    assert [turn.role for turn in turns] == ["user", "assistant", "user", "assistant"]


async def test_the_turn_ends_in_one_entry_that_binds_what_was_told_and_said(home: Path) -> None:
    async with opened(home, Provider()) as agent:
        result = await agent.chat("Hi")
        turns = agent.history()
        replayed = agent.replay(result.entry.index)
    assert result.entry.kind == "turn"
    assert [turn.state for turn in turns] == ["complete", "complete"]
    assert replayed.identical


async def test_a_turn_that_nobody_answers_ends_in_an_entry_too(home: Path) -> None:
    provider = Provider(error=ProviderUnreachable("nobody is there"))
    async with opened(home, provider) as agent:
        with pytest.raises(ProviderUnreachable):
            await agent.chat("Hi")
        turns = agent.history()
    assert [turn.state for turn in turns] == ["failed"]
