"""Agent tasks: an intent, a world before, limits, recorded replies, and an oracle that looks at the
world afterwards. What counts is the world, not what the agent says of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mentis.act.functions import act
from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.errors import ActFailed
from mentis.home.parts import Parts
from mentis.loop.sources import LoopChoice
from mentis.ports.act_handler import ActHandler
from mentis.ports.sense_source import ListedSenses
from mentis.values.cognition import Sense
from mentis.values.entry import Entry
from mentis.values.trust import Trust

from .living import Paced, made

pytestmark = pytest.mark.anyio
CASES: dict[str, Any] = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((Path(__file__).parent / "cases").glob("*.json"))
}


def acts_in(world: Path) -> tuple[ActHandler, ...]:
    """Everything the agent can do there; names are plain, so it never leaves the world."""

    def found(name: str) -> Path:
        path = world / os.path.basename(name)  # noqa: PTH119  # whatever it says, only a name
        if not path.is_file():
            raise ActFailed(f"there is no file {name!r}", state="refused")
        return path

    @act
    def read(name: str) -> str:
        """Read a file."""
        return found(name).read_text(encoding="utf-8")

    @act
    def add_line(name: str, line: str) -> str:
        """Add a line to a file."""
        path = found(name)
        path.write_text(path.read_text(encoding="utf-8") + f"{line}\n", encoding="utf-8")
        return "added"

    @act(external_effects=True)
    def remove(name: str) -> str:
        """Remove a file."""
        found(name).unlink()
        return "removed"

    return read, add_line, remove


@pytest.mark.parametrize("name", CASES)
async def test_the_world_is_as_the_oracle_wants_it(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    limits, oracle, clock = case["limits"], case["oracle"], Paced()
    world = tmp_path / "world"
    world.mkdir()
    for file, text in case["world"].items():
        (world / file).write_text(text, encoding="utf-8")
    trust = Trust.OWNER if case["owner"] else Trust.UNTRUSTED
    senses = [Sense(f"s{n}", "message", one, trust, "post") for n, one in enumerate(case["senses"])]
    provider = ScriptedProvider(case["replies"])
    parts = Parts(provider=provider, clock=clock, handlers=acts_in(world))
    async with Agent.open(made(tmp_path).home, parts=parts) as agent:
        choice = LoopChoice(10.0, limits["ticks"])
        loop = agent.loop([ListedSenses([tuple(senses)])], choice=choice, pause=clock)
        report = await loop.run()
        entries = agent.entries()
        assert agent.verify().intact
        state = (await agent.tick()).state  # its script is over, so this changes nothing
    assert {one.name: one.read_text(encoding="utf-8") for one in world.iterdir()} == oracle["world"]
    assert [one.text for one in state.l1_memory] == oracle["memory"]
    assert list(_came_to(entries)) == oracle["acts"]
    assert sum(_stage(one) == "waiting" for one in entries) == oracle["waiting"]
    assert report.acts <= limits["acts"]
    assert len(provider.sent) <= limits["calls"]


def _stage(entry: Entry) -> str:
    told: Any = entry.body
    return str(told["act"]["stage"]) if entry.kind == "act" else ""


def _came_to(entries: tuple[Entry, ...]) -> Iterator[str]:
    for entry in entries:
        told: Any = entry.body
        if _stage(entry) == "outcome":
            yield f"{told['act']['type']} {told['act']['state']}"
        elif _stage(entry) == "waiting":
            yield f"{told['act']['type']} waiting"
