"""Processes that act and are killed at a chosen step, made by one that has loaded everything.

Commands come on standard input, one JSON line each: {"folder": PATH, "step": N}. For each a child
is forked, acts, and is killed right before its N-th step (0: never, and it says after which steps
something was on disk); `end STATUS` follows. A step is a line of ours that runs, in any thread.

Forking is safe here: this process itself has never opened a database and has one thread.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

import anyio

import mentis
from mentis.act import entries
from mentis.act.dispatch import Dispatcher
from mentis.act.journal import Journal
from mentis.act.registry import Registry
from mentis.home.system import RandomIds, SystemClock
from mentis.ledger.chain import make_stamp
from mentis.ports.screener import ListedScreener
from mentis.recovery.acts import Recovery, RecoveryResult
from mentis.stores.files.accepted_acts import AcceptedFile
from mentis.stores.files.blobs import FileBlobs
from mentis.stores.files.owners import Owner, Owners
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.act import ActCall, ActSpec, Decision, WaitingAct
from mentis.values.action import Action, Outcome
from mentis.values.entry import Entry
from mentis.values.tool import ToolDeclaration

AGENT = "home/ada"
OURS = (str(Path(mentis.__file__).parent), __file__)
ACTIONS = (
    Action("write", {"n": 1}),
    Action("door", {"n": 2}),
    Action("fly", {}),
    Action("door", {"n": 3}),
    Action("put", {"n": 4}),
    Action("ask", {"n": 5}),
)
SPECS = (
    ActSpec(ToolDeclaration("write", "Writes a line.", external_effects=True)),
    ActSpec(ToolDeclaration("door", "Writes a line.", external_effects=True), endpoint="door"),
    ActSpec(ToolDeclaration("put", "Writes a line.", idempotent=True)),
    ActSpec(ToolDeclaration("ask", "Writes a line.", external_effects=True)),
)


class Writing:
    """What it does can be seen: one line with the key of the call, written at once."""

    def __init__(self, spec: ActSpec, effects: Path) -> None:
        self.spec = spec
        self._effects = effects

    async def handle(self, call: ActCall) -> Outcome:
        await anyio.lowlevel.checkpoint()
        file = os.open(self._effects, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, f"{call.action.type} {call.key}\n".encode())
        os.close(file)
        text = "x" * (20_000 if call.action.type == "put" else 20)  # one of them becomes a blob
        return Outcome(call.action, "done", text=text)


def judge(call: ActCall, spec: ActSpec) -> Decision:
    return Decision("wait", "ask", "always asked") if spec.name == "ask" else Decision("allow")


class Noted(SqliteLedger):
    """Notes after which step each append was on disk."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.steps: Callable[[], int] = lambda: 0
        self.kept: list[int] = []

    def append(self, *args: Any, **rest: Any) -> tuple[Entry, ...]:  # noqa: ANN401 - as they are
        made = super().append(*args, **rest)
        self.kept.append(self.steps())
        return made


def accepted_in(folder: Path) -> AcceptedFile:
    """What a person said yes to, outside of the home."""
    return AcceptedFile(folder.with_name(f"{folder.name}.config"), folder)


class Life:
    """One process on the folder: everything from the database to the dispatcher."""

    def __init__(self, folder: Path) -> None:
        ids, clock = RandomIds(), SystemClock()
        self.owners = Owners(folder / "owners")
        self.owner: Owner = self.owners.enter(ids.new_id())
        self.database = Database(folder / "mentis.db")
        self.ledger = Noted(self.database)
        self.stamp = make_stamp(clock.now, ids.salt)
        self.registry = Registry([Writing(spec, folder / "effects") for spec in SPECS])
        journal = Journal(
            self.ledger,
            self.stamp,
            FileBlobs(folder / "blobs"),
            agent=AGENT,
            owner=self.owner.name,
            screener=ListedScreener({}),
            accepted=accepted_in(folder),
        )
        self.dispatcher = Dispatcher(self.registry, journal, clock=clock, ids=ids)
        self.recovery = Recovery(
            self.dispatcher, self.owners.alive, judge=lambda call, spec: Decision("allow")
        )

    async def start(self) -> list[RecoveryResult]:
        return [await self.recovery.recover(), await self.recovery.run_approved()]

    async def act(self) -> list[Outcome]:
        outcomes: list[Outcome] = []
        await self.dispatcher.dispatch(
            ACTIONS, judge=judge, mode="chat", session="s", outcomes=outcomes
        )
        return outcomes

    def close(self) -> None:
        self.database.close()
        self.owner.close()


def count_steps(last: int) -> Callable[[], int]:
    """Count every line of ours that runs from now on; the process dies before the last one."""
    steps = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:  # noqa: ANN401 - itself
        nonlocal steps
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        if event == "line":
            steps += 1
            if steps == last:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    threading.settrace(trace)
    sys.settrace(trace)
    return lambda: steps


async def live(folder: Path, last: int) -> str:
    life = Life(folder)
    life.ledger.steps = count_steps(last)
    await life.recovery.run_approved()
    await life.act()
    return " ".join(map(str, life.ledger.kept))


def warm() -> None:
    """Load what is loaded on first use, so that no child has to."""
    for module in ("anyio._backends._asyncio", "filelock", "jsonschema_rs", "rfc8785"):
        import_module(module)
    call = ActCall(ACTIONS[0], "warm", AGENT)
    waiting = WaitingAct(
        call, "", source="", external_effects=True, decision=Decision("wait"), since="", expires=""
    )
    entries.waiting_act(entries.waiting_mark(waiting))
    entries.open_act(entries.open_mark(call, SPECS[0], "", "warm"))


def main() -> None:
    warm()
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if not child:
            try:
                say(f"kept {anyio.run(live, Path(order['folder']), order['step'])}")
            except BaseException:  # noqa: BLE001 - the test is told of it
                say(f"bug {traceback.format_exc()!r}")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        say(f"end {os.waitstatus_to_exitcode(status)}")


def say(words: str) -> None:
    os.write(1, f"{words}\n".encode())


if __name__ == "__main__":
    sys.exit(main())
