"""Turns that were killed between their steps, closed by the next process with what is known."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
from tests.rounds import ASK, GUEST, LETTER, Rounds, approve, asking_home, calls, opened, says

from mentis.values.part import MediaPart, ToolResultPart

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ROOT = str(Path(__file__).parents[2])
_BEGINNING = """
import os, signal, sys
import anyio
sys.path.insert(0, sys.argv[2])
from tests.rounds import *
from mentis import Agent, Parts, tool

home = sys.argv[1]

class Killer(Rounds):
    def open(self, rendering, route):
        if not self._rounds:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().open(rendering, route)
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return asking_home(tmp_path / "home")


def killed(home: Path, main: str) -> None:
    """Run this in a process of its own, which dies when its provider has no answer left."""
    script = f"{_BEGINNING}\n{main}\nanyio.run(main)\n"
    done = subprocess.run(
        [sys.executable, "-c", script, str(home), ROOT], check=False, env=os.environ
    )
    assert done.returncode == -signal.SIGKILL


async def test_two_turns_of_a_session_that_were_killed_at_once_are_closed_each_with_its_own_steps(
    home: Path,
) -> None:
    killed(
        home,
        """
class Waits(Rounds):
    def __init__(self, *rounds):
        super().__init__(*rounds)
        self.stepped = anyio.Event()

    @asynccontextmanager
    async def open(self, rendering, route):
        if not self._rounds:
            self.stepped.set()
            await anyio.sleep_forever()
        async with super().open(rendering, route) as events:
            yield events

async def main():
    begins = Waits(calls(PARIS, text="I begin."))
    async with anyio.create_task_group() as tasks:
        async with opened(home, begins) as first, opened(
            home, Killer(calls(BERLIN, text="Let me look."))
        ) as second:
            tasks.start_soon(first.start_conversation)
            await begins.stepped.wait()
            await second.chat("How warm is it in Berlin?")
""",
    )
    async with opened(home, Rounds(says("Well."))) as agent:
        await agent.chat("And?")
        assert agent.verify().intact
        said = [turn.text for turn in agent.history() if turn.text]
        told = json.dumps([str(turn.parts) for turn in agent.history()])
    assert sorted(said) == sorted(
        ["How warm is it in Berlin?", "Let me look.", "I begin.", "And?", "Well."]
    )
    assert "17 degrees in Berlin" in told
    assert "17 degrees in Paris" in told


async def test_results_of_the_caller_are_kept_when_the_turn_that_brought_them_is_killed(
    home: Path,
) -> None:
    async with opened(home, Rounds(calls(ASK))) as agent:
        await agent.chat("How far is the moon?")
    killed(
        home,
        """
async def main():
    async with opened(home, Killer(calls(BERLIN))) as agent:
        await agent.chat(results={"x": "384,400 km"})
""",
    )
    provider = Rounds(says("Far, and warm."))
    async with opened(home, provider) as agent:
        await agent.chat("Well?")
        assert agent.verify().intact
    told = json.dumps(provider.messages(0))
    assert told.count("384,400 km") == 1
    assert "17 degrees in Berlin" in told


async def test_what_a_killed_resumed_turn_was_told_is_no_news_again(home: Path) -> None:
    async with opened(home, Rounds(calls(LETTER), says("I asked."))) as agent:
        waited = await agent.chat(GUEST)
    key = waited.pending[0].key
    approve(home, key)
    killed(
        home,
        """
async def main():
    async with opened(home, Killer(calls(BERLIN))) as agent:
        await agent.resume()
""",
    )
    async with opened(home, Rounds(says("Hello."))) as agent:
        await agent.chat("Hello?")
        assert await agent.resume() is None
        turns = [entry for entry in agent.entries() if entry.kind == "turn"]
        assert agent.verify().intact
    closed = turns[-2]
    assert cast("dict[str, object]", closed.body["turn"])["failure"] == "left_behind"
    assert [entry.body.get("told") for entry in turns[-2:]] == [[key], None]


async def test_a_call_for_the_caller_in_a_killed_step_can_still_be_answered(home: Path) -> None:
    killed(
        home,
        """
@tool
def dies() -> str:
    \"\"\"Ends it all.\"\"\"
    os.kill(os.getpid(), signal.SIGKILL)

async def main():
    provider = Rounds(calls(ASK, ("d", "dies", {})))
    async with Agent.open(home, tools=[dies, LOOKUP], provider=provider) as agent:
        await agent.chat("How far is the moon?")
""",
    )
    provider = Rounds(says("Far."))
    async with opened(home, provider) as agent:
        result = await agent.chat(results={"x": "384,400 km"})
        assert agent.replay(result.entry.index).identical
        assert agent.verify().intact
    told = {one["tool_call_id"]: one["content"] for one in provider.messages(0)[-2:]}
    assert "384,400 km" in told["x"]
    assert "unknown" in told["d"]


async def test_a_picture_of_a_killed_step_is_kept_with_its_result(home: Path) -> None:
    killed(
        home,
        """
@tool
def draw() -> list[object]:
    \"\"\"Draws a picture.\"\"\"
    return ["Here it is.", b"\\x89PNG\\r\\n\\x1a\\n" + bytes(100)]

async def main():
    provider = Killer(calls(("d", "draw", {})))
    async with Agent.open(home, tools=[draw], provider=provider) as agent:
        await agent.chat("Draw a picture.")
""",
    )
    async with opened(home, Rounds(says("A picture."))) as agent:
        await agent.chat("Well?")
        assert agent.verify().intact
        record = agent._parts.record  # pyright: ignore[reportPrivateUsage]  # marks are nobody's
        assert record.ledger.marks(record.agent, "step") == ()
        parts = [part for turn in agent.history() for part in turn.parts]
    (picture,) = [part for part in parts if isinstance(part, MediaPart)]
    assert (picture.mime, len(picture.data or b"")) == ("image/png", 108)
    (result,) = [part for part in parts if isinstance(part, ToolResultPart)]
    assert (result.text, result.media) == ("Here it is.", 1)
