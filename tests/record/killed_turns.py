"""A talk that is killed after each write of its stores, and the next process in the same home.

For every write a child is forked and dies right after it, in a session of its own; another one then
looks, talks on, and says in a JSON line what it found. The last line is of a talk that nobody
killed. Forking is safe here: this process has one thread, and the one database that it opened, to
have everything loaded, is closed again.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import anyio

from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.home.parts import Parts
from mentis.stores.sql_ledger import SqlLedger
from mentis.values.part import TextPart
from mentis.values.turn import Turn

REPLIES = ("One.", "Hm. [afterthought_ok]", "And one more.")


class Killing:
    """Dies right after the write with this number, of any store of a turn."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.writes: list[str] = []
        self.armed = False

    def watch(self) -> None:
        """Before anything is opened."""
        SqlLedger.append = self._counted("append", SqlLedger.append)
        SqlLedger.add_turn = self._counted("add_turn", SqlLedger.add_turn)

    def _counted(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def write(*args: object, **rest: object) -> object:
            made = real(*args, **rest)
            self.writes.extend([name] if self.armed else [])
            if self.armed and len(self.writes) == self.last:
                tell(name)
                os.kill(os.getpid(), signal.SIGKILL)
            return made

        return write


def opened(home: Path, *replies: str) -> Agent:
    return Agent.open(home, parts=Parts(provider=ScriptedProvider(replies)))


async def talk(home: Path, session: str, last: int) -> None:
    killing = Killing(last)
    killing.watch()
    async with opened(home, *REPLIES) as agent:
        agent_parts = agent._parts  # pyright: ignore[reportPrivateUsage]  # as a process that died left it
        begun = Turn("user", (TextPart("Hello?"),), state="pending")
        agent_parts.record.ledger.add_turn(agent_parts.who.agent, session, begun)
        killing.armed = True
        await agent.chat("a", session=session)
        agent.set_title("A talk", session=session)
        await agent.afterthought(session=session)


async def look(home: Path, session: str) -> dict[str, object]:
    async with opened(home, "Yes.") as agent:
        before = agent.verify()
        found = [_told(turn) for turn in agent.history(session=session)]
        await agent.chat("Still there?", session=session)
        told = [cast("Any", entry.body["turn"]) for entry in agent.entries()]
        asked = [one for one in told if one["session"] == session and "inner" not in one]
        return {
            "before": [finding.message for finding in before.findings],
            "found": found,
            "turns": [_told(turn) for turn in agent.history(session=session)],
            "asked": [one["number"] for one in asked],
            "after": agent.verify().intact,
        }


async def replay(home: Path) -> list[bool]:
    async with opened(home) as agent:
        kept = [entry.index for entry in agent.entries() if "inputs" in entry.body]
        return [agent.replay(index).identical for index in kept]


def _told(turn: Turn) -> str:
    return f"{turn.kind} {turn.state} {turn.text}"


def in_child(work: Callable[[], object]) -> bool:
    """Whether it lived to its end."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:  # noqa: BLE001  # told by its exit code
            print(f"{error!r}", file=sys.stderr, flush=True)  # noqa: T201
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def tell(found: object) -> None:
    os.write(1, f"{json.dumps(found)}\n".encode())


def main(home: Path, scratch: Path) -> None:
    anyio.run(talk, scratch, "warm", 0)
    last, ended = 0, False
    while not ended:
        last += 1
        session = f"s{last}"
        ended = in_child(lambda s=session, n=last: anyio.run(talk, home, s, n))
        in_child(lambda session=session: tell(anyio.run(look, home, session)))
    in_child(lambda: tell(anyio.run(replay, home)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
