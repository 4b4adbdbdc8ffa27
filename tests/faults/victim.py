"""Processes to be killed or lied to, made on demand by one that has loaded everything already.

Commands come on standard input, one JSON line each: {"act": NAME, "folder": PATH}. For each a child
is forked (this process itself never opens a database), gets ready, says `ready PID`, waits for
SIGUSR1, acts, and says what it reached; then `end STATUS` follows. It waits by a call that nobody
counts, so that the first call of an act is always the same one.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Generator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

from mentis.errors import MentisError
from mentis.ledger import keeping
from mentis.ledger.chain import format_time, make_stamp
from mentis.ledger.channel.consumer import Consumer, Refusal
from mentis.ledger.channel.folder import StatusFolder
from mentis.ledger.channel.operations import OperationsLog
from mentis.ledger.channel.writer import write_draft, write_pending
from mentis.ledger.keeping import LedgerHandle
from mentis.ledger.signature import encode_key
from mentis.ledger.tenure import Tenure
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.ports.ledger_store import LedgerStore
from mentis.ports.signer import SeededSigner
from mentis.stores.keys import create_key
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.checkpoint import Pin
from mentis.values.entry import Draft

Act: TypeAlias = Callable[[Path], Generator[None]]
SIGNER = SeededSigner()
PIN = Pin("example.org/test", encode_key(SIGNER.public))
BATCH = 4
DRAFT = json.dumps({"goal": "x" * 300}).encode()


def say(words: str) -> None:
    os.write(1, f"{words}\n".encode())


def later() -> tuple[FixedClock, CountingIds]:
    """A clock and ids that are the same in every child."""
    ids = CountingIds()
    return FixedClock(datetime(2026, 6, 1, tzinfo=UTC), timedelta(seconds=1)), ids


def tell(step: Callable[[], str]) -> bool:
    try:
        say(step())
    except MentisError as error:
        say(f"refused {error.code}: {error.message}")
        return False
    return True


def append(store: LedgerStore, count: int = 1) -> list[str | None]:
    """The deliveries of what is kept now. Asked again it is the same: the deliveries say so."""
    clock, ids = later()
    text = {"text": "x" * (3000 if count == 1 else 300)}
    drafts = [Draft("note", "victim", text, delivery=f"one-{n}") for n in range(count)]
    made = store.append("ada", drafts, make_stamp(clock.now, ids.salt))
    return [entry.delivery for entry in made]


def keep(store: LedgerStore, count: int = 1) -> bool:
    """Append, and on failure append again."""

    def step() -> str:
        return f"kept {' '.join(map(str, append(store, count)))}"

    return tell(step) or tell(step)


def warm(path: Path) -> Generator[None]:
    """The database is open, and something was appended: what a process does all day."""
    with Database(path / "mentis.db", busy_seconds=0.1) as database:
        store = SqliteLedger(database)
        clock, ids = later()
        stamp = make_stamp(clock.now, ids.salt)
        store.append("ada", [Draft("note", "warm", {}, delivery="warm")], stamp)
        yield
        keep(store)
        yield


def batch(path: Path) -> Generator[None]:
    with Database(path / "mentis.db", busy_seconds=0.1) as database:
        store = SqliteLedger(database)
        store.count("ada")
        yield
        keep(store, BATCH)
        yield


def whole(path: Path) -> Generator[None]:
    """A life: open (with what a killed process left), append, fold, close."""
    yield

    def step() -> str:
        with Database(path / "mentis.db", busy_seconds=0.1) as database:
            keep(SqliteLedger(database))
            database.fold()
        return "closed"

    if not tell(step):
        tell(step)


def erase(path: Path) -> Generator[None]:
    with Database(path / "mentis.db", busy_seconds=0.1) as database:
        store = SqliteLedger(database)
        clock, ids = later()
        stamp = make_stamp(clock.now, ids.salt)
        ledger = LedgerHandle(store, "ada", PIN)
        store.count("ada")
        yield

        def step() -> str:
            keeping.erase(ledger, 1, ["text"], reason="asked", signer=SIGNER, stamp=stamp)
            return "erased"

        tell(step)
        yield


def consumer_of(store: LedgerStore, folder: StatusFolder) -> Consumer:
    clock, ids = later()

    def judge(content: bytes) -> Draft | Refusal:
        return Draft("window", "pending_status_auto", {"window": json.loads(content)})

    return Consumer(
        agent="ada",
        folder=folder,
        store=store,
        judge=judge,
        stamp=make_stamp(clock.now, ids.salt),
        tenure=Tenure(store, clock, agent="ada", owner="watcher elsewhere:1 test", seconds=9000),
        clock=clock,
        ids=ids,
        log=OperationsLog(folder.log, lambda: format_time(clock.now())),
    )


def consume(store: LedgerStore, folder: StatusFolder) -> None:
    def step() -> str:
        done = consumer_of(store, folder).consume()
        if done.fault is not None:
            raise done.fault
        return f"consumed {len(done.added)} known {done.known} refused {len(done.refused)}"

    if not tell(step):
        tell(step)


def deliver(path: Path, *, slot: bool = False) -> Generator[None]:
    """Writer and watcher in one: a draft goes into the spool, or the slot, and comes out of it."""
    folder = StatusFolder(path / "status" / "ada")
    folder.make()
    clock, ids = later()
    with Database(path / "mentis.db", busy_seconds=0.1) as database:
        store = SqliteLedger(database)
        consumer_of(store, folder).consume()
        yield

        def step() -> str:
            if slot:
                write_pending(folder, DRAFT)
            else:
                write_draft(folder, DRAFT, clock=clock, ids=ids, delivery="one-0")
            return "written"

        tell(step)
        consume(store, folder)
        yield


def through_slot(path: Path) -> Generator[None]:
    return deliver(path, slot=True)


def short(path: Path) -> Generator[None]:
    """Files may not grow beyond each of these sizes: writes really end half way."""
    with Database(path / "mentis.db", busy_seconds=0.1) as database:
        store = SqliteLedger(database)
        clock, ids = later()
        stamp = make_stamp(clock.now, ids.salt)
        store.append("ada", [Draft("note", "warm", {}, delivery="warm")], stamp)
        yield
        log = path / "mentis.db-wal"
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        for n, more in enumerate(range(0, 9000, 411)):
            resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size + more, hard))
            draft = Draft("note", "victim", {"text": "x" * 3000}, delivery=f"one-{n}")

            def step(draft: Draft = draft) -> str:
                (entry,) = store.append("ada", [draft], stamp)
                return f"kept {entry.delivery}"

            done = tell(step)
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
            if not done:
                tell(step)


def busy(path: Path) -> Generator[None]:
    """Writes, and folds now and then, until somebody has seen enough."""
    yield
    with Database(path / "mentis.db", busy_seconds=5) as database:
        store = SqliteLedger(database)
        clock, ids = later()
        stamp = make_stamp(clock.now, ids.salt)
        for n in range(120):
            store.append("ada", [Draft("note", "busy", {"n": n, "text": "x" * 900})], stamp)
            if n % 12 == 11:
                database.fold()
            say(f"at {n}")


def key(path: Path) -> Generator[None]:
    yield

    def step() -> str:
        return f"made {create_key(path / 'keys' / 'signing.pem').public_text}"

    if not tell(step):
        tell(step)


def fork(path: Path) -> Generator[None]:
    """What must never be done: a connection goes on in a child."""
    with Database(path / "mentis.db") as database:
        store = SqliteLedger(database)
        append(store)
        yield
        if child := os.fork():
            os.waitpid(child, 0)
            keep(store)
        else:
            keep(store)
            os._exit(0)


ACTS: dict[str, Act] = {
    "busy": busy,
    "warm": warm,
    "batch": batch,
    "whole": whole,
    "erase": erase,
    "spool": deliver,
    "slot": through_slot,
    "short": short,
    "key": key,
    "fork": fork,
}


def play(act: str, folder: str) -> None:
    """One child. Where only parents may trace, it lets anybody of the same user do it."""
    ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(-1), 0, 0, 0)
    try:
        running = ACTS[act](Path(folder))
        next(running)
        say(f"ready {os.getpid()}")
        signal.sigwait({signal.SIGUSR1})
        next(running, None)
        os._exit(0)  # not by its end: closing would do the files good
    except MentisError as error:
        say(f"ended {error.code}: {error.message}")
    except KeyboardInterrupt:
        say("interrupted")
    except BaseException:  # noqa: BLE001 - the test is told of it
        say(f"bug {traceback.format_exc()!r}")


def main() -> None:
    # Whoever runs the tests in the background has it ignored, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if not child:
            play(order["act"], order["folder"])
            os._exit(0)
        _, status = os.waitpid(child, 0)
        say(f"end {os.waitstatus_to_exitcode(status)}")


if __name__ == "__main__":
    sys.exit(main())
