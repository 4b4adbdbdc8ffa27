"""Five hundred ticks: what is left afterwards is consistent, verified and bounded."""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path
from typing import cast

import pytest

from mentis.app.agent import Agent
from mentis.call.recorder import Recorder, RecordingProvider
from mentis.call.scripted import ScriptedProvider
from mentis.home.parts import Parts
from mentis.loop.sources import LoopChoice
from mentis.ports.ids import CountingIds
from mentis.ports.sense_source import ListedSenses
from mentis.values.cognition import Sense
from mentis.values.entry import Entry
from mentis.values.inventory import read_items
from mentis.values.trust import Trust

from .living import GOAL, QUIET, Paced, answer, made, note, sense, wants

pytestmark = pytest.mark.anyio
TICKS, SENSES = 500, 100
GROWTH = 24.0  # megabytes
PRUNE = {"op": "prune", "node_id": "g"}
FORGET = {"op": "remove", "index": 0}
SCRIPT = (
    answer(wants("note", text="one"), goals=[GOAL]),
    answer(memory=[{"op": "append", "value": "It rains."}]),
    "no output at all",
    answer(wants("fly", to="Mars"), goals=[PRUNE], memory=[FORGET]),
    answer(wants("note", text="two")),
    QUIET,
)


def resident() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


def own(name: str, text: str = "hello") -> Sense:
    return replace(sense(name, text), trust=Trust.OWNER)


async def lived(home: Path, parts: Parts) -> tuple[Entry, ...]:
    """Two loops of one agent: what the first half needed is enough for the second."""
    clock = parts.clock
    assert isinstance(clock, Paced)
    # By the owner: while outside text is heard, nothing that stands goes.
    batches = [(own(f"s{number}", f"It is {number}."),) for number in range(SENSES)]
    source, half = ListedSenses(batches), LoopChoice(10.0, TICKS // 2)
    async with Agent.open(home, parts=parts) as agent:
        first = await agent.loop([source], choice=half, pause=clock).run()
        before = resident()
        source = ListedSenses([(own(f"late{one}"),) for one in range(40)])
        second = await agent.loop([source], choice=half, pause=clock).run()
        assert first.ticks + second.ticks == TICKS
        assert first.senses + second.senses == SENSES + 40
        assert first.acts + second.acts >= 40
        assert first.patches + second.patches >= 60
        assert first.failed + second.failed == 0
        assert resident() - before < GROWTH
        assert agent.verify().intact
        return agent.entries()


@pytest.mark.slow
async def test_five_hundred_ticks_end_consistent_and_replay_to_the_same_ledger(
    tmp_path: Path,
) -> None:
    tape, secret = tmp_path / "tape", bytes(32)
    recorded = RecordingProvider(ScriptedProvider([*islice(cycle(SCRIPT), TICKS)]), Recorder(tape))
    first = Parts(recorded, Paced(), CountingIds(), handlers=(note,), secret=secret)
    entries = await lived(made(tmp_path / "a").home, first)
    turns = [entry for entry in entries if entry.kind == "turn"]
    assert len(turns) >= 140
    home = made(tmp_path / "b").home
    toml = (home / "mentis.toml").read_text(encoding="utf-8")
    play = 'backend = "replay"\nmodel = "script"\nreplays = "scripted"\nmatch = "body"\n'
    play += f'folder = "{tape}"\n'
    toml = toml.replace('backend = "scripted"\nreplies = ["x"]\n', play)
    (home / "mentis.toml").write_text(toml, encoding="utf-8")
    again = Parts(None, Paced(), CountingIds(), handlers=(note,), secret=secret)
    replayed = await lived(home, again)
    # The route has another name; everything that was told, said, done and kept is the same.
    assert [_bound(entry) for entry in replayed] == [_bound(entry) for entry in entries]


def _bound(entry: Entry) -> object:
    if entry.kind == "inventory":  # the leaf of a revision is salted
        told = cast("dict[str, object]", entry.body["inventory"])
        return entry.time, [(one.kind, one.name, one.number) for one in read_items(told["items"])]
    if entry.kind != "turn":
        return entry.time, entry.body
    return entry.time, *(entry.body.get(name) for name in ("tick", "digests", "next", "taken"))
