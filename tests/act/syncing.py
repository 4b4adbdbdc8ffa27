"""Does one act, then two of one endpoint, on a ledger in a file, and says when.

Usage: syncing.py FOLDER. Run under strace by the tests, which look at the syncs in between.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio

from mentis.act.dispatch import Dispatcher
from mentis.act.journal import Journal
from mentis.act.registry import Registry
from mentis.home.system import RandomIds, SystemClock
from mentis.ledger.chain import make_stamp
from mentis.ports.screener import ListedScreener
from mentis.stores.files.blobs import FileBlobs
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.act import ActCall, ActSpec, Decision
from mentis.values.action import Action, Outcome
from mentis.values.entry import Draft
from mentis.values.tool import ToolDeclaration


def say(word: str) -> None:
    os.write(1, f"{word}\n".encode())


class Saying:
    spec = ActSpec(ToolDeclaration("say", "Says that it is done."), endpoint="here")

    async def handle(self, call: ActCall) -> Outcome:
        say("doing")
        return Outcome(call.action, "done", text="said")


async def main(folder: Path) -> None:
    clock, ids = SystemClock(), RandomIds()
    stamp = make_stamp(clock.now, ids.salt)
    with Database(folder / "mentis.db") as database:
        ledger = SqliteLedger(database)
        ledger.append("ada", [Draft("note", "test", {})], stamp)  # this starts the log file
        journal = Journal(
            ledger,
            stamp,
            FileBlobs(folder / "blobs"),
            agent="ada",
            owner="a.b",
            screener=ListedScreener({}),
        )
        dispatcher = Dispatcher(Registry([Saying()]), journal, clock=clock, ids=ids)

        async def act(count: int) -> None:
            await dispatcher.dispatch(
                [Action("say", {"n": n}) for n in range(count)],
                judge=lambda call, spec: Decision("allow"),
                mode="chat",
                session="s",
                outcomes=[],
            )

        say("begin")
        await act(1)
        say("next")
        await act(2)
        say("end")


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]))
