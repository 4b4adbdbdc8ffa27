"""Two machines at one session of a record on a server: one at a time, and no late writer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import anyio
import pytest

from mentis.app.agent import Agent
from mentis.app.home_move import move_home
from mentis.call.scripted import ScriptedProvider
from mentis.disk import processes
from mentis.errors import LeaseHeld
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ledger.tenure import SECONDS
from mentis.ports.clock import SettableClock
from mentis.record.record import open_record
from mentis.record.verify_home import verify_home
from mentis.values.rendering import Rendering
from mentis.values.route import Route

pytestmark = pytest.mark.anyio


class Held(ScriptedProvider):
    """Answers once it is let."""

    def __init__(self, *replies: str) -> None:
        super().__init__(replies)
        self.asked, self.answer = anyio.Event(), anyio.Event()

    @asynccontextmanager
    async def open(self, rendering: Rendering, route: Route) -> AsyncGenerator[AsyncIterator[str]]:
        self.asked.set()
        await self.answer.wait()
        async with super().open(rendering, route) as events:
            yield events


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    with monkeypatch.context() as patch:
        patch.setattr(processes, "_machine", lambda: "another-machine")
        yield patch


@pytest.mark.parametrize("frozen", [False, True])
async def test_a_second_machine_waits_or_goes_on_for_the_first_which_then_writes_nothing(
    tmp_path: Path, postgres_url: str, elsewhere: pytest.MonkeyPatch, *, frozen: bool
) -> None:
    home, clock = create_home(tmp_path / "home"), SettableClock()
    move_home(home, postgres_url, schema=f"shared_{frozen}".lower())
    first, second = Held("One."), ScriptedProvider(["Two."])
    refused = list[LeaseHeld]()

    async def far() -> None:
        try:
            await one.chat("From far")
        except LeaseHeld as error:
            refused.append(error)

    async with (
        Agent.open(home, parts=Parts(provider=first, clock=clock)) as one,
        Agent.open(home, parts=Parts(provider=second, clock=clock)) as two,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(far)
        await first.asked.wait()
        elsewhere.undo()
        if frozen:  # what it wrote is all that is known of it
            clock.pass_by(timedelta(seconds=SECONDS + 1))
            for lock in (home / "owners" / "turns").iterdir():
                lock.unlink()
            await two.chat("From here")
            first.answer.set()
        else:
            tasks.start_soon(two.chat, "From here")
            first.answer.set()
    with open_record(home, readonly=True) as record:
        told = [one.text for one in record.ledger.turns(record.agent, "main")]
        states = [one.state for one in record.ledger.turns(record.agent, "main")]
    if frozen:
        assert (told, len(refused)) == (["From far", "From here", "Two."], 1)
        assert states[0] == "failed"
    else:
        assert (told, refused) == (["From far", "One.", "From here", "Two."], [])
    assert [finding for one in verify_home(home) for finding in one.findings] == []
