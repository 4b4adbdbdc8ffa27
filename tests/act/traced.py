"""Does ten acts, each alone, and says when.

Usage: traced.py DATABASE. Run under strace by a test, which counts the syncs in between.
"""

from __future__ import annotations

import secrets
import sys
from datetime import UTC, datetime
from pathlib import Path

import anyio

from mentis.act.dispatch import Dispatcher
from mentis.act.functions import act
from mentis.act.journal import Journal
from mentis.act.registry import Registry
from mentis.ledger.chain import make_stamp
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.stores.memory import BlobsInMemory
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.act import Decision
from mentis.values.action import Action, Outcome


@act
async def note(text: str) -> str:
    """Keep a note."""
    return text


def say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


async def main(path: str) -> None:
    stamp = make_stamp(lambda: datetime.now(UTC), lambda: secrets.token_bytes(16))
    with Database(Path(path)) as database:
        journal = Journal(SqliteLedger(database), stamp, BlobsInMemory(), agent="ada", owner="me")
        dispatcher = Dispatcher(Registry([note]), journal, clock=FixedClock(), ids=CountingIds())

        async def once() -> None:
            outcomes: list[Outcome] = []
            await dispatcher.dispatch(
                [Action("note", {"text": "size"})],
                judge=lambda _call, _spec: Decision("allow"),
                mode="chat",
                session="main",
                outcomes=outcomes,
            )
            if [outcome.state for outcome in outcomes] != ["done"]:
                raise AssertionError(outcomes)

        await once()  # the first one also starts the log file
        say("begin acts")
        for _ in range(10):
            await once()
        say("end acts")


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
