"""A turn or a tick that is killed at each of its writes, and the next process in the same home.

A write is a commit of SQLite or a file that gets its name: both are seen from outside, so that no
name of the inside stands here. For each one a child is forked and dies just before
it; another one then looks, goes on, and says what it found. Forking is safe here: this process has
one thread, and what it opened to have everything loaded is closed again.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from mentis import Agent, Sense, ToolDeclaration, create_home
from mentis.ports.act_handler import RecordingHandler
from mentis.ports.screener import ListedScreener
from mentis.record import home_files
from mentis.stores import sql_inventory
from mentis.testing import ScriptedProvider
from mentis.values.act import ActCall
from mentis.values.action import Outcome

from .stage import SECRET, GoldenClock, GoldenIds, parts_of, steady_digest, steady_salt

SETTINGS = """
[routes.default]
backend = "scripted"
model = "none"
replies = ["x"]
context_tokens = 60000
facts = {native_tools = false}
[recall]
embedder = "off"
"""
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
MARK = ToolDeclaration("mark", "Marks something.", TEXT, external_effects=True)
CALL = '<tool_call>{"name": "mark", "arguments": {"text": "x"}}</tool_call>'
WANTED = (
    '{"endpoint_id": "python", "neural_signal_descriptor_id": "mark", "payload": {"text": "x"}}'
)
THOUGHT = (
    f"<output-ir>\n<acts>[{WANTED}]</acts>\n<goal-tree-patch>[]</goal-tree-patch>\n"
    '<l1-memory-patch>[{"op": "append", "value": "Asked."}]</l1-memory-patch>\n</output-ir>'
)
QUIET = (
    "<output-ir>\n<acts>[]</acts>\n<goal-tree-patch>[]</goal-tree-patch>\n"
    "<l1-memory-patch>[]</l1-memory-patch>\n</output-ir>"
)
REPLIES = {"turn": (CALL, "Done.", "Yes."), "tick": (THOUGHT, QUIET, QUIET)}
WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE")


class Writes:
    """Counts writes, and dies before the one with the number `last`; 0 lives on."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.count = 0

    def watch(self) -> None:
        real = sqlite3.connect

        def connect(*args: Any, **named: Any) -> sqlite3.Connection:  # noqa: ANN401  # all of its
            connection = real(*args, **named)
            connection.set_trace_callback(self._traced())
            return connection

        sqlite3.connect = connect  # pyright: ignore[reportAttributeAccessIssue]  # all go through it
        sys.addaudithook(self._heard)

    def _heard(self, event: str, _args: tuple[object, ...]) -> None:
        if event in ("os.rename", "os.link"):
            self._another()

    def _traced(self) -> Callable[[str], None]:
        wrote = False

        def trace(statement: str) -> None:
            nonlocal wrote
            wrote = wrote or statement.lstrip().startswith(WRITES)
            if wrote and statement.startswith("COMMIT"):
                wrote = False
                self._another()

        return trace

    def _another(self) -> None:
        self.count += 1
        if self.count == self.last:
            os.kill(os.getpid(), signal.SIGKILL)


class Marking(RecordingHandler):
    """Its effect is a line in a file, so that it is seen whoever dies."""

    def __init__(self, effects: Path, *, die: bool) -> None:
        super().__init__(MARK, "marked")
        self.effects = effects
        self.die = die

    async def handle(self, call: ActCall) -> Outcome:
        file = os.open(self.effects, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, b"x\n")
        os.close(file)
        if self.die:
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().handle(call)


class LaterIds(GoldenIds):
    """Those of the second process: no name is given twice."""

    def new_id(self) -> str:
        return super().new_id().replace("id-", "later-")


def opened(home: Path, *replies: str, ids: GoldenIds, die: bool = False) -> Agent:
    parts = parts_of(
        provider=ScriptedProvider(replies),
        clock=GoldenClock(),
        ids=ids,
        secret=SECRET,
        screener=ListedScreener({}),
        handlers=(Marking(home.parent / "effects", die=die),),
    )
    return Agent.open(home, parts=parts)


async def live(home: Path, kind: str, moment: str) -> None:
    """One turn or tick, with the act it asks for, after one that is over."""
    writes = Writes(int(moment) if moment.isdecimal() else 0)
    writes.watch()
    async with opened(home, *REPLIES[kind], ids=GoldenIds(), die=moment == "act") as agent:
        await go(agent, kind)
    tell({"writes": writes.count})


async def go(agent: Agent, kind: str) -> None:
    if kind == "turn":
        await agent.chat("Mark it.")
    else:
        await agent.tick([Sense("s1", "message", {"text": "Mark it."})])


async def look(home: Path, kind: str) -> None:
    """What the next process finds and makes of it."""
    async with opened(home, *REPLIES[kind][1:], ids=LaterIds()) as agent:
        before = agent.verify()
        found = [shown(turn) for turn in agent.history()]
        if kind == "turn":
            await agent.chat("Still there?")
        else:
            await agent.tick([Sense("s2", "message", {"text": "Still there?"})])
        after = agent.verify()
        entries = agent.entries()
        replays = [agent.replay(one.index).identical for one in entries if "inputs" in one.body]
        history = [shown(turn) for turn in agent.history()]
    effects = home.parent / "effects"
    tell(
        {
            "before": [finding.message for finding in before.findings],
            "after": [finding.message for finding in after.findings],
            "replays": replays,
            "effects": len(effects.read_text().splitlines()) if effects.exists() else 0,
            "state": {
                "found": found,
                "history": history,
                "entries": [{"kind": one.kind, "body": bare(one.body)} for one in entries],
            },
        }
    )


def bare(body: Any) -> dict[str, Any]:  # noqa: ANN401  # of an entry
    """Without what a digest says of all the rest, and what the cache was expected to hold."""
    return {key: one for key, one in body.items() if key not in ("cache", "clock")}


def shown(turn: Any) -> str:  # noqa: ANN401  # a turn of a conversation
    return f"{turn.role} {turn.kind} {turn.state} {turn.text}"


def in_child(work: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:  # noqa: BLE001  # told by its exit code
            print(f"{error!r}", file=sys.stderr, flush=True)  # noqa: T201
            os._exit(1)
    return os.waitpid(child, 0)[1]


def tell(found: object) -> None:
    os.write(1, f"{json.dumps(found)}\n".encode())


def copied(folder: Path, name: str) -> Path:
    """The home and what is kept outside of it, which knows how far its record had come."""
    copy = shutil.copytree(folder / "made", folder / name)
    for known in copy.glob("config/ledgers/*/*.home"):
        known.unlink()  # else it would know that it is a copy, and be read only
    os.environ["MENTIS_CONFIG"] = str(copy / "config")
    return copy / "home"


def main(folder: Path, kind: str, stride: int) -> None:
    """Each `stride`-th write; then inside the act, and a life to its end."""
    os.environ["MENTIS_CONFIG"] = str(folder / "made" / "config")
    sql_inventory.random_salt = steady_salt
    home_files.digest_file = steady_digest
    made = create_home(folder / "made" / "home")
    with (made / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write(SETTINGS)
    scratch = copied(folder, "scratch")
    # To its end, in this process: it loads everything, and says how many writes there are.
    writes = Writes(0)
    writes.watch()

    async def warm() -> None:
        async with opened(scratch, *REPLIES[kind], ids=GoldenIds()) as agent:
            await go(agent, kind)

    anyio.run(warm)
    for moment in [*map(str, range(1, writes.count + 1, stride)), "act", "none"]:
        home = copied(folder, moment)
        status = in_child(lambda home=home, moment=moment: anyio.run(live, home, kind, moment))
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        tell({"moment": moment, "killed": killed})
        in_child(lambda home=home: anyio.run(look, home, kind))
