"""A message whose process is gone: closed as failed by the next one, and by nobody before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ports.provider import Provider
from mentis.values.rendering import Rendering
from mentis.values.route import Route

pytestmark = pytest.mark.anyio


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


def opened(home: Path, *replies: str, provider: Provider | None = None) -> Agent:
    return Agent.open(home, parts=Parts(provider=provider or ScriptedProvider(replies), environ={}))


class Calling(ScriptedProvider):
    """Lets something happen before it answers."""

    def __init__(self, meanwhile: Callable[[], Awaitable[object]], *replies: str) -> None:
        super().__init__(replies)
        self._meanwhile = meanwhile

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        await self._meanwhile()
        async with super().open(rendering, route) as events:
            yield events


_KILLED = """
import asyncio, os, signal, sys
from contextlib import asynccontextmanager
from pathlib import Path
import anyio
from mentis.app.agent import Agent
from mentis.app.wiring import Parts

class Killer:
    @asynccontextmanager
    async def open(self, rendering, route):
        os.kill(os.getpid(), signal.SIGKILL)
        yield

async def main():
    async with Agent.open(Path(sys.argv[1]), parts=Parts(provider=Killer())) as agent:
        await agent.chat("Are you there?")
anyio.run(main)
"""


async def test_a_message_whose_process_was_killed_is_recorded_as_failed_by_the_next(
    home: Path,
) -> None:
    done = subprocess.run(  # noqa: ASYNC221  # nothing else runs
        [sys.executable, "-c", _KILLED, str(home)], check=False, env=os.environ
    )
    assert done.returncode == -signal.SIGKILL
    async with opened(home, "Yes.") as agent:
        assert [turn.state for turn in agent.history()] == ["pending"]
        result = await agent.chat("Hello?")
        assert [turn.state for turn in agent.history()] == ["failed", "complete", "complete"]
        left, _ = agent.entries()
        assert agent.sessions()[0].unanswered == (0,)
        assert agent.verify().intact
    assert left.body["turn"] == {"session": "main", "number": 0, "failure": "left_behind"}
    notes = [note.reason for note in result.composed.trace.degraded]
    assert "turn 0 was begun and never answered; entry 0 says so" in notes


async def test_a_message_that_another_agent_is_answering_is_not_taken_for_left_behind(
    home: Path,
) -> None:
    async with opened(home, "Me too.") as other:
        provider = Calling(lambda: other.chat("And you?"), "Yes.")
        async with opened(home, provider=provider) as agent:
            await agent.chat("Are you there?")
        assert [turn.state for turn in other.history()] == ["complete"] * 4
        assert len(other.entries()) == 2
        assert other.verify().intact
