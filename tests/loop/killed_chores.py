"""A loop that is killed at a delivery or an afterthought, and the next one on the same home.

As in `killed.py`: each lives in a child of its own, and this process opens no database.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

sys.path.insert(0, str(Path(__file__).parent))

from killed import dying, in_child  # found by the line above
from living import Paced, made, note

from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.home.parts import Parts
from mentis.loop.sources import LoopChoice
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.tools.acts import open_acts
from mentis.values.rendering import Rendering
from mentis.values.route import Route

TABLES = (
    'ask = ["note"]\n',  # goes on with the table [acts]
    "[features]\nnachgedankeEnabled = true\n[afterthought]\nmode = 'hoch'\n",
    "[run]\nafterthoughts = 1\n",
)
ASKS = '{"actions": [{"type": "note", "payload": {"text": "it"}}]}'


class Talking(ScriptedProvider):
    """Notes it when told to; whenever it thinks about a talk, it wants to write once more."""

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        told = rendering.payload["messages"]
        last = json.dumps(told[-1] if isinstance(told, list) else told)
        reply = ASKS if "Note it." in last else "Yes. [afterthought_ok]"
        async with ScriptedProvider([reply]).open(rendering, route) as events:
            yield events


def opened(home: Path) -> Agent:
    return Agent.open(home, parts=Parts(provider=Talking(), clock=Paced(), handlers=(note,)))


async def prepare(home: Path, what: str) -> None:
    async with opened(home) as agent:
        await agent.chat("Note it." if what == "delivery" else "Hi")
        if what != "delivery":
            return
        with open_acts(home, parts=Parts(clock=Paced(), handlers=(note,))) as acts:
            acts.approve(acts.pending()[0][0].call.key, by="robin")
        await agent.deliverable_outcomes()  # it is done now, and not told


async def live(home: Path, moment: str) -> dict[str, object]:
    when, _, place = moment.partition(" ")
    async with opened(home) as agent:
        if moment:
            number, before = int(place), when == "before"
            SqliteLedger.append = dying(SqliteLedger.append, number, before=before)
        loop = agent.loop(choice=LoopChoice(10.0, 60), pause=agent.clock)  # pyright: ignore[reportArgumentType]  # it is paced
        await loop.run()
        turns: list[Any] = [entry.body.get("turn") or {} for entry in agent.entries()]
        inner = [one.get("inner", "") for one in turns]
        return {
            "inner": inner,
            "owed": len(await agent.deliverable_outcomes()),
            "intact": agent.verify().intact,
            "kinds": [turn.kind for turn in agent.history() if turn.role == "assistant"],
        }


def main(folder: Path, moments: Sequence[str]) -> None:
    for number, moment in enumerate(moments):
        what, _, place = moment.partition(" ")
        home = made(folder / str(number), *TABLES).home
        in_child(lambda home=home, what=what: anyio.run(prepare, home, what))
        status = in_child(lambda home=home, place=place: anyio.run(live, home, place))
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL

        def tell(home: Path = home, moment: str = moment, *, killed: bool = killed) -> None:
            line = json.dumps({"moment": moment, "killed": killed, **anyio.run(live, home, "")})
            os.write(1, f"{line}\n".encode())

        in_child(tell)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
