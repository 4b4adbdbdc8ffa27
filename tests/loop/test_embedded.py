"""Twenty ticks of the loop on the embedded model, with files as senses."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import pytest

from mentis.act.functions import act
from mentis.app.agent import Agent
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.loop.sources import LoopChoice
from mentis.values.trust import Trust

from .living import Paced, put

pytestmark = [pytest.mark.anyio, pytest.mark.model]
TICKS, LATE = 20, 5  # ticks, and how many of them have something to think about
ENVIRON = {
    "MENTIS_RUN__SENSES": "1",
    **os.environ,
    "MENTIS_ROUTES__DEFAULT__THREADS": "1",
    "MENTIS_ROUTES__DEFAULT__TEMPERATURE": "0",
    "MENTIS_CORTEX__SECONDS": "600",
    "MENTIS_CORTEX__PRIMARY_TOKENS": "64",
}
SENSES = (
    "Remember that my name is Bo.",
    "Use lights: hall, on.",
    "Turn on the light in the kitchen.",
    "It rains.",
)


@act
def lights(room: Literal["kitchen", "hall"], on: bool) -> str:
    """Switch the lights of a room."""
    return "done"


class Arriving(Paced):
    """Something comes late: each thought of the model takes seconds."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    async def wait(self, seconds: float) -> None:
        await super().wait(seconds)
        if self.passed == (TICKS - LATE) * 10.0:
            for number, text in enumerate(SENSES):
                put(self._folder, f"{number}.json", text=text)


@pytest.mark.slow
async def test_twenty_ticks_of_the_embedded_model_end_consistent_and_verified(
    tmp_path: Path,
) -> None:
    home = create_home(tmp_path / "home")
    clock = Arriving(home / "senses" / "ada")
    parts = Parts(clock=clock, handlers=(lights,), environ=ENVIRON)
    async with Agent.open(home, parts=parts) as agent:
        choice = LoopChoice(10.0, TICKS, trust=Trust.OWNER)
        report = await agent.loop(choice=choice, pause=clock).run()
        assert (report.ticks, report.failed, report.senses) == (TICKS, 0, len(SENSES))
        assert len(SENSES) <= report.thought <= LATE
        assert report.patches > 0
        assert report.acts > 0
        last: Any = [entry for entry in agent.entries() if entry.kind == "turn"][-1].body
        assert (await agent.backlog()).left == last.get("next", {"senses": 0})["senses"]
        assert last["tick"]["revision"] <= report.patches
        assert agent.verify().intact
    assert list((home / "senses" / "ada").iterdir()) == []
