"""An agent to loop with: a real home, a scripted primary, and a clock that nobody waits for."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from mentis.act.functions import act
from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.loop.loop import Loop
from mentis.loop.sources import LoopChoice
from mentis.ports.sense_source import SenseSource
from mentis.settle.output_ir import write_output_ir
from mentis.values.cognition import Sense
from mentis.values.entry import Uptime
from mentis.values.json import JsonObject

QUIET = write_output_ir({"acts": [], "goal-tree-patch": [], "l1-memory-patch": []})
SLEEP = '[acts]\nbuiltin = ["sleep"]\n'
GOAL: JsonObject = {
    "op": "sprout",
    "parent_node_id": "user-root",
    "node_id": "g",
    "summary": "See Rome",
    "weight": 3,
}


def answer(*acts: object, goals: Iterable[object] = (), memory: Iterable[object] = ()) -> str:
    return write_output_ir(
        {"acts": [*acts], "goal-tree-patch": [*goals], "l1-memory-patch": [*memory]}
    )


def wants(name: str, endpoint: str = "python", **payload: object) -> dict[str, object]:
    return {"endpoint_id": endpoint, "neural_signal_descriptor_id": name, "payload": payload}


def sleeps(seconds: int) -> dict[str, object]:
    return wants("sleep", "builtin", seconds=seconds)


@act
def note(text: str) -> str:
    """Note something."""
    return f"noted {text}"


class Paced:
    """A clock, and the pause of a loop: whoever waits moves it on."""

    def __init__(self) -> None:
        self.passed = 0.0
        self.waits: list[float] = []

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.passed)

    def monotonic(self) -> float:
        return self.passed

    def uptime(self) -> Uptime:
        return Uptime("paced", round(self.passed * 1000))

    async def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.passed += seconds

    def ring(self) -> None:
        pass


@dataclass
class Life:
    agent: Agent
    clock: Paced
    provider: ScriptedProvider
    home: Path

    @property
    def asked(self) -> int:
        return len(self.provider.sent)

    def told(self, number: int = -1) -> str:
        return self.provider.sent[number].body().decode()

    def loop(self, *sources: SenseSource, ticks: int, folders: tuple[Path, ...] = ()) -> Loop:
        choice = LoopChoice(10.0, ticks, folders)
        return self.agent.loop(sources, choice=choice, pause=self.clock)


@dataclass
class Where:
    home: Path

    @asynccontextmanager
    async def live(self, *replies: str) -> AsyncGenerator[Life]:
        clock, scripted = Paced(), ScriptedProvider(replies)
        parts = Parts(provider=scripted, clock=clock, handlers=(note,))
        async with Agent.open(self.home, parts=parts) as agent:
            yield Life(agent, clock, scripted, self.home)


def made(folder: Path, *tables: str) -> Where:
    home = create_home(folder / "home")
    toml = (home / "mentis.toml").read_text(encoding="utf-8").replace("[routes]", "")
    route = '[routes.default]\nbackend = "scripted"\nreplies = ["x"]\n'
    route += "facts = {native_tools = false}\n"
    route += "[turn]\nmax_steps = 1\n"  # a script has one answer for each talk
    text = toml + route + SLEEP + "\n".join(tables)
    (home / "mentis.toml").write_text(text, encoding="utf-8")
    return Where(home)


def put(folder: Path, name: str, content: str = "", **payload: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(content or json.dumps(payload), encoding="utf-8")
    return path


def sense(name: str, text: str = "hello") -> Sense:
    return Sense(name, "input", {"text": text})
