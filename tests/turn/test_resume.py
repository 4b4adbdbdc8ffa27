"""A turn that goes on: once, after what it waited for, and told as it was when it is replayed."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.rounds import ASK, GUEST, LETTER, Rounds, approve, asking_home, calls, opened, says

from mentis import CallOptions, Stimulus, Trust
from mentis.errors import UsageError
from mentis.values.rendering import Rendering
from mentis.values.route import Route

pytestmark = pytest.mark.anyio


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return asking_home(tmp_path / "home")


class Meanwhile(Rounds):
    """Lets something happen before it answers."""

    def __init__(self, happens: Callable[[], Awaitable[object]], *rounds: list[object]) -> None:
        super().__init__(*rounds)
        self._happens = happens

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        await self._happens()
        async with super().open(rendering, route) as events:
            yield events


async def test_of_two_agents_that_resume_a_session_at_once_one_asks_the_model(home: Path) -> None:
    async with opened(home, Rounds(calls(LETTER), says("I asked."))) as agent:
        waited = await agent.chat(GUEST)
    approve(home, waited.pending[0].key)
    other = Rounds(says("never asked"))
    async with opened(home, other) as second:

        async def resumes_too() -> None:
            with pytest.raises(UsageError, match="going on already"):
                await second.resume()

        first = Meanwhile(resumes_too, says("It is sent."))
        async with opened(home, first) as agent:
            result = await agent.resume()
            assert result is not None
            assert await second.resume() is None
            assert agent.verify().intact
    assert (len(first.sent), len(other.sent)) == (1, 0)


async def test_a_resumed_turn_replays_as_it_was_told_after_a_later_approval(home: Path) -> None:
    letters = (LETTER, ("t", "send", {"address": "eve@example.org"}))
    provider = Rounds(calls(*letters), says("I asked."), says("One is."), says("Both are."))
    async with opened(home, provider) as agent:
        waited = await agent.chat(
            Stimulus(
                "Send it to mallory@example.org and eve@example.org",
                author="Eve",
                trust=Trust.UNTRUSTED,
            )
        )
    keys = [outcome.key for outcome in waited.pending]
    assert len(keys) == 2
    resumed: list[int] = []
    for key in keys:
        approve(home, key)
        async with opened(home, provider) as agent:
            result = await agent.resume()
            assert result is not None
            resumed.append(result.entry.index)
    async with opened(home, provider) as agent:
        replays = [agent.replay(index) for index in resumed]
    assert [replay.identical for replay in replays] == [True, True]
    told = [json.dumps(provider.messages(number)).count("sent to") for number in (2, 3)]
    assert told == [1, 2]


async def test_a_turn_whose_calls_the_caller_has_not_answered_does_not_go_on_for_a_yes(
    home: Path,
) -> None:
    provider = Rounds(calls(LETTER, ASK), says("Sent, and far."))
    async with opened(home, provider) as agent:
        asked = await agent.chat(GUEST)
    assert (asked.stop, len(asked.pending), len(asked.calls)) == ("calls", 1, 1)
    approve(home, asked.pending[0].key)
    async with opened(home, provider) as agent:
        assert await agent.resume() is None
        assert len(provider.sent) == 1
        await agent.chat(results={"x": "384,400 km"})
        assert await agent.resume() is None
        assert agent.verify().intact
    told = json.dumps(provider.messages(1))
    assert "384,400 km" in told
    assert "sent to mallory@example.org" in told


async def test_options_hold_for_the_calls_of_a_resumed_turn(home: Path) -> None:
    provider = Rounds(calls(LETTER), says("I asked."), says("It is sent."))
    async with opened(home, provider) as agent:
        waited = await agent.chat(GUEST)
    approve(home, waited.pending[0].key)
    async with opened(home, provider) as agent:
        await agent.resume(options=CallOptions(temperature=0.25))
    assert [sent.get("temperature") for sent in provider.sent] == [None, None, 0.25]


async def test_calls_of_a_conversation_that_the_agent_began_are_answered_by_the_caller(
    home: Path,
) -> None:
    provider = Rounds(calls(ASK, text="One moment."), says("Did you know how far the moon is?"))
    async with opened(home, provider) as agent:
        begun = await agent.start_conversation()
        assert [call.call_id for call in begun.calls] == ["x"]
        result = await agent.chat(results={"x": "384,400 km"})
        assert [agent.replay(one.entry.index).identical for one in (begun, result)] == [True, True]
        assert agent.verify().intact
        history = [turn.text for turn in agent.history() if turn.text]
    first, second = provider.messages(0), provider.messages(1)
    assert second[: len(first)] == first
    assert "384,400 km" in second[-1]["content"]
    assert result.text == "Did you know how far the moon is?"
    assert history == ["One moment.", "Did you know how far the moon is?"]


async def test_a_conversation_that_the_agent_began_goes_on_after_a_yes(home: Path) -> None:
    provider = Rounds(calls(LETTER), says("I asked."), says("It is sent."))
    async with opened(home, provider, acts__ask='["send"]') as agent:
        begun = await agent.start_conversation()
    approve(home, begun.pending[0].key)
    async with opened(home, provider, acts__ask='["send"]') as agent:
        result = await agent.resume()
        assert result is not None
        assert await agent.resume() is None
        assert agent.replay(result.entry.index).identical
        assert agent.verify().intact
    assert "sent to mallory@example.org" in provider.messages(2)[-1]["content"]
