"""Appends to a ledger one by one, as a batch, and from many threads, takes leases, and says when.

Usage: appender.py DATABASE. Run under strace by the tests, which count the syncs in between.
"""

from __future__ import annotations

import secrets
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

from mentis.ledger.chain import make_stamp
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.entry import Before, Draft, Entry

DRAFT = Draft("note", "test", {"text": "x" * 200})


def say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def main(path: str) -> None:
    stamp = make_stamp(lambda: datetime.now(UTC), lambda: secrets.token_bytes(16))
    started, go = Event(), Event()

    def slow(agent: str, head: Before | None, draft: Draft) -> Entry:
        started.set()
        go.wait()
        return stamp(agent, head, draft)

    with Database(Path(path)) as database, ThreadPoolExecutor(64) as pool:
        ledger = SqliteLedger(database)
        ledger.append("ada", [DRAFT], stamp)  # the first one also starts the log file
        say("begin single")
        for _ in range(10):
            ledger.append("ada", [DRAFT], stamp)
        say("end single")
        say("begin batch")
        ledger.append("ada", [DRAFT] * 50, stamp)
        say("end batch")
        say("begin leases")
        for _ in range(10):
            now = datetime.now(UTC)
            lease = ledger.take_lease("ada", "run", "me", now=now, seconds=30)
            ledger.release_lease(ledger.renew_lease(lease, now=now, seconds=30))
        say("end leases")
        say("begin after")
        ledger.append("ada", [DRAFT], stamp)
        say("end after")
        say("begin group")
        first = pool.submit(ledger.append, "ada", [DRAFT], slow)
        started.wait()
        # Sixty-three come while the first is at work: one commit for it, one for all of them.
        others = [pool.submit(ledger.append, f"agent-{n % 7}", [DRAFT], stamp) for n in range(63)]
        while ledger.waiting < 63:
            pass
        go.set()
        for done in (first, *others):
            done.result()
        say("end group")


if __name__ == "__main__":
    main(sys.argv[1])
