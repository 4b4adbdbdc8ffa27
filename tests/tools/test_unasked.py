"""A message is kept before anything is done for it, also where nobody could ever be asked."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import anyio
import pytest

from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.errors import ComposeError
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.tools.acting import ActRunner
from mentis.values.entry import Entry

pytestmark = pytest.mark.anyio
SMALL = {
    "MENTIS_ROUTES__DEFAULT__CONTEXT_TOKENS": "3000",
    "MENTIS_ROUTES__DEFAULT__MAX_TOKENS": "200",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


def opened(home: Path, *replies: str, **environ: str) -> Agent:
    return Agent.open(home, parts=Parts(provider=ScriptedProvider(replies), environ=environ))


def turn_of(entry: Entry) -> dict[str, object]:
    return cast("dict[str, object]", entry.body["turn"])


async def test_a_message_that_fits_into_no_prompt_is_kept_as_failed(home: Path) -> None:
    async with opened(home, "Hello.", "Short, then.", **SMALL) as agent:
        await agent.chat("Hi")
        with pytest.raises(ComposeError):
            await agent.chat("word " * 4000)
        turns, last = agent.history(), agent.entries()[-1]
        assert [(turn.role, turn.state) for turn in turns] == [
            ("user", "complete"),
            ("assistant", "complete"),
            ("user", "failed"),
        ]
        told = {"session": "main", "number": 2, "stop": "error", "failure": "compose"}
        assert turn_of(last) == told
        edited = await agent.edit(2, "Shorter")
        assert edited.reply.text == "Short, then."
        assert agent.verify().intact
        # Neither itself nor what came to nothing is told as history.
        past = [turn.text for turn in edited.composed.request.conversation_history]
        assert past == ["Hi", "Hello."]
        assert agent.replay(edited.entry.index).identical


async def test_a_message_that_was_broken_off_while_tools_start_is_kept(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(home, "Here I am.") as agent:
        with monkeypatch.context() as patched, anyio.CancelScope() as scope:

            async def never(*_: object) -> None:
                scope.cancel()
                await anyio.sleep_forever()

            patched.setattr(ActRunner, "begin", never)
            await agent.chat("Will I be kept?")
        (turn,) = agent.history()
        assert (turn.text, turn.state) == ("Will I be kept?", "failed")
        assert turn_of(agent.entries()[-1])["stop"] == "interrupted"
        again = await agent.regenerate()
        assert again.reply.text == "Here I am."
        assert agent.verify().intact


async def test_what_nobody_said_leaves_an_entry_when_its_prompt_cannot_be_made(home: Path) -> None:
    environ = {**SMALL, "MENTIS_ROUTES__DEFAULT__CONTEXT_TOKENS": "300"}
    async with opened(home, **environ) as agent:
        with pytest.raises(ComposeError):
            await agent.start_conversation()
        assert agent.history() == ()
        assert turn_of(agent.entries()[-1])["inner"] == "first_message"
        assert agent.verify().intact
