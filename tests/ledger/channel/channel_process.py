"""Real processes of the file channel, run by the tests with the real clock.

watch DATABASE FOLDER [die-after-commit]   consume until SIGTERM; print a line per entry
write FOLDER THREADS DRAFTS                that many threads write that many drafts each
slot FOLDER COUNT                          replace the single slot that many times
"""

from __future__ import annotations

import json
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio

from mentis.disk.processes import owner_name
from mentis.errors import LeaseHeld
from mentis.home.system import RandomIds, SystemClock
from mentis.ledger.chain import format_time, make_stamp
from mentis.ledger.channel.consumer import Consumer, Refusal
from mentis.ledger.channel.folder import StatusFolder
from mentis.ledger.channel.operations import OperationsLog
from mentis.ledger.channel.watch import watch_until_signal
from mentis.ledger.channel.writer import write_draft, write_pending
from mentis.ledger.tenure import Tenure
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.entry import Draft, Entry

CLOCK, IDS = SystemClock(), RandomIds()


def judge(content: bytes) -> Draft | Refusal:
    return Draft("window", "pending_status_auto", {"window": json.loads(content)})


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def watch(database: str, folder: str, *rest: str) -> int:
    def added(entry: Entry, line: str) -> None:
        if rest:
            os.kill(os.getpid(), signal.SIGKILL)
        say(line)

    with Database(Path(database), busy_seconds=60) as opened:
        store, status = SqliteLedger(opened), StatusFolder(Path(folder))
        owner = owner_name("watcher", IDS.new_id()[:8])
        consumer = Consumer(
            agent="ada",
            folder=status,
            store=store,
            judge=judge,
            stamp=make_stamp(CLOCK.now, IDS.salt),
            tenure=Tenure(store, CLOCK, agent="ada", owner=owner),
            clock=CLOCK,
            ids=IDS,
            log=OperationsLog(status.log, lambda: format_time(CLOCK.now())),
            on_added=added,
        )
        try:
            anyio.run(watch_until_signal, consumer)
        except LeaseHeld as held:
            say(f"held: {held.message}")
            return 1
    return 0


def write(folder: str, threads: str, drafts: str) -> int:
    status = StatusFolder(Path(folder))

    def writer(number: int) -> None:
        for n in range(int(drafts)):
            content = json.dumps({"writer": f"{os.getpid()}-{number}", "n": n}).encode()
            write_draft(status, content, clock=CLOCK, ids=IDS)

    with ThreadPoolExecutor(int(threads)) as pool:
        list(pool.map(writer, range(int(threads))))
    return 0


def slot(folder: str, count: str) -> int:
    for n in range(int(count)):
        write_pending(StatusFolder(Path(folder)), json.dumps({"n": n, "fill": "x" * 9000}).encode())
    return 0


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    sys.exit({"watch": watch, "write": write, "slot": slot}[command](*arguments))
