"""A loop that is killed at a chosen moment, and the next one that finds what it left.

For each moment a child is forked and dies there; then another one lives on the same home to the
end. One JSON line each says what the second one found and what both did. Forking is safe here:
this process has one thread and has opened no database.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import anyio

sys.path.insert(0, str(Path(__file__).parent))

from living import QUIET, answer, made, put, wants  # found by the line above

from mentis.act.functions import act
from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.home.parts import Parts
from mentis.loop.folder import SenseFolder
from mentis.loop.sources import LoopChoice
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.rendering import Rendering
from mentis.values.route import Route

UNTOLD = b"ended before it could say what came of it"
APPENDS = ("thought", "intent", "outcome", "tick")


class Obeying(ScriptedProvider):
    """Marks when it is told to, and is quiet otherwise."""

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        reply = answer(wants("mark", text="x")) if b"Mark it." in rendering.body() else QUIET
        self.sent.append(rendering)
        async with ScriptedProvider([reply]).open(rendering, route) as events:
            yield events


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dying(real: Callable[..., Any], place: int, *, before: bool) -> Callable[..., Any]:
    """Dies around the call with this number."""
    count = 0

    def call(*args: object, **rest: object) -> object:
        nonlocal count
        count += 1
        if count == place and before:
            die()
        result = real(*args, **rest)
        if count == place:
            die()
        return result

    return call


def arm(moment: str) -> None:
    when, _, what = moment.partition(" ")
    before = when == "before"
    if what in APPENDS:
        place = APPENDS.index(what) + 1
        SqliteLedger.append = dying(SqliteLedger.append, place, before=before)
    elif what == "letting go":
        SenseFolder._let_go = dying(SenseFolder._let_go, 1, before=before)  # pyright: ignore[reportPrivateUsage]  # the moment


async def live(home: Path, moment: str) -> dict[str, object]:
    effects, found = home.parent / "effects", dict[str, object]()

    @act(external_effects=True)
    def mark(text: str) -> str:
        """Mark something."""
        file = os.open(effects, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, f"{text}\n".encode())
        os.close(file)
        if moment == "in act":
            die()
        return "marked"

    provider = Obeying()
    async with Agent.open(home, parts=Parts(provider=provider, handlers=(mark,))) as agent:
        arm(moment)
        loop = agent.loop(choice=LoopChoice(interval=0.0, ticks=4))
        await loop.run()
        entries = agent.entries()
        found["intact"] = agent.verify().intact
        found["taken"] = [one for entry in entries for one in _list(entry.body.get("taken"))]
        found["stages"] = [_stage(entry.body) for entry in entries if entry.kind == "act"]
        found["told"] = any(UNTOLD in sent.body() for sent in provider.sent)
        found["marked"] = any(b"marked" in sent.body() for sent in provider.sent)
        found["cut_off"] = sum(_noop(entry.body) == "cut_off" for entry in entries)
        found["asked"] = len(provider.sent)
    found["effects"] = len(effects.read_text().splitlines()) if effects.exists() else 0
    found["waiting"] = len(list((home / "senses" / "ada").iterdir()))
    return found


def _list(found: object) -> Sequence[str]:
    return cast("Sequence[str]", found or ())


def _stage(body: Any) -> str:  # noqa: ANN401  # of an entry
    return str(body["act"]["stage"])


def _noop(body: Any) -> str:  # noqa: ANN401  # of an entry
    return str(body.get("tick", {}).get("noop", ""))


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


def main(folder: Path, moments: Sequence[str]) -> None:
    for number, moment in enumerate(moments):
        home = made(folder / str(number)).home
        put(home / "senses" / "ada", "a.json", text="Mark it.")
        status = in_child(lambda home=home, moment=moment: anyio.run(live, home, moment))
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL

        def tell(home: Path = home, moment: str = moment, *, killed: bool = killed) -> None:
            found = anyio.run(live, home, "")
            line = json.dumps({"moment": moment, "killed": killed, **found})
            os.write(1, f"{line}\n".encode())

        in_child(tell)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
