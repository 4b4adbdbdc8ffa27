"""When nobody answers, an earlier answer may be given once more; never by stealth."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest
from tests.constants import constants_set

from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.errors import ProviderUnreachable
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.home.system import RandomIds
from mentis.ledger.chain import make_stamp
from mentis.ports.clock import FixedClock
from mentis.record.record import open_record
from mentis.settings.sections import FallbackSettings
from mentis.values.entry import Draft
from mentis.values.rendering import Rendering
from mentis.values.reply import Delta, EndDelta, TextDelta
from mentis.values.route import Route

pytestmark = pytest.mark.anyio
ON = {"MENTIS_FALLBACK__REPEAT_SECONDS": "600"}


class Failing:
    """Answers from a script until it is told to fail."""

    def __init__(self, *replies: str) -> None:
        self._script = ScriptedProvider(replies)
        self.down = False

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        if self.down:
            raise ProviderUnreachable("nobody is there")
        async with self._script.open(rendering, route) as events:
            yield events


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


def open_agent(home: Path, provider: Failing, environ: dict[str, str], *, step: int = 1) -> Agent:
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC), timedelta(seconds=step))
    return Agent.open(home, parts=Parts(provider=provider, clock=clock, environ=environ))


async def test_the_earlier_answer_is_given_and_marked_everywhere(home: Path) -> None:
    provider = Failing("Paris.")
    async with open_agent(home, provider, ON) as agent:
        live = await agent.chat("Capital of France?")
        provider.down = True
        heard = list[Delta]()
        result = await agent.chat("Capital of France?", on_delta=heard.append)
        again = await agent.chat("Capital of France?")
        assert agent.verify().intact
    assert (result.reply.text, result.reply.stop) == ("Paris.", "repeated")
    assert result.repeats == again.repeats == live.entry.index
    assert heard == [TextDelta("Paris."), EndDelta("repeated")]
    assert [note.code for note in result.reply.notes] == ["repeated"]
    assert [passed.failure for passed in result.passed_over] == ["provider-unreachable"]
    turn = cast("dict[str, object]", result.entry.body["turn"])
    assert (turn["failure"], turn["repeats"]) == ("provider-unreachable", live.entry.index)


async def test_what_was_done_since_does_not_crowd_out_what_was_said(home: Path) -> None:
    provider = Failing("Paris.")
    async with open_agent(home, provider, ON) as agent:
        live = await agent.chat("Capital of France?")
    with open_record(home) as record:
        acts = [Draft("act", "act", {"n": n}) for n in range(20)]
        record.store.append(record.agent, acts, make_stamp(FixedClock().now, RandomIds().salt))
    provider.down = True
    with constants_set(FallbackSettings, repeat_turns=1):
        async with open_agent(home, provider, ON) as agent:
            assert (await agent.chat("Capital of France?")).repeats == live.entry.index


@pytest.mark.parametrize(
    ("message", "session", "step", "seconds"),
    [
        ("Something else?", "main", 1, 600),
        ("Capital of France?", "other", 1, 600),
        ("Capital of France?", "main", 400, 600),
        ("Capital of France?", "main", 1, 0),
    ],
    ids=["another message", "another conversation", "too old", "switched off"],
)
async def test_otherwise_the_failure_is_told(
    home: Path, *, message: str, session: str, step: int, seconds: int
) -> None:
    provider, environ = Failing("Paris."), {"MENTIS_FALLBACK__REPEAT_SECONDS": str(seconds)}
    async with open_agent(home, provider, environ, step=step) as agent:
        await agent.chat("Capital of France?")
        provider.down = True
        with pytest.raises(ProviderUnreachable):
            await agent.chat(message, session=session)
