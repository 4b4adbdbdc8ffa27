"""Real processes on one database: together, killed, and in each other's way."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from mentis.errors import StoreLocked
from mentis.ledger.verify import verify_chain
from mentis.ports.entries import Stamp
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.entry import Draft

WRITER = Path(__file__).with_name("writer.py")
HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


def start_writer(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(WRITER), str(path), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_processes_that_append_at_the_same_time_make_one_whole_chain(path: Path) -> None:
    # The file is not there yet: they also race to create it.
    writers = [start_writer(path, name, 50) for name in ("one", "two")]
    acknowledged = [int(line) for writer in writers for line in writer.communicate()[0].split()]
    assert [writer.returncode for writer in writers] == [0, 0]
    assert sorted(acknowledged) == list(range(100))

    with Database(path) as database:
        entries = list(SqliteLedger(database).entries("ada"))
    assert verify_chain("ada", entries).findings == ()
    assert Counter(entry.source for entry in entries) == {"one": 50, "two": 50}


@pytest.mark.parametrize("survived", [1, 7, 40])
def test_a_killed_writer_leaves_a_whole_chain_with_every_acknowledged_entry(
    path: Path, survived: int, stamp: Stamp
) -> None:
    with start_writer(path, "victim", 1_000_000) as writer:
        assert writer.stdout is not None
        acknowledged = [int(line) for line in islice(writer.stdout, survived)]
        writer.kill()
        acknowledged += [int(line) for line in writer.stdout if line.endswith("\n")]

    with Database(path) as database:
        ledger = SqliteLedger(database)
        verdict = verify_chain("ada", ledger.entries("ada"))
        assert verdict.findings == ()
        # At most the entry on its way when the signal came was kept without being acknowledged.
        assert verdict.entries - len(acknowledged) in {0, 1}
        ledger.append("ada", [Draft("note", "after", {})], stamp)
        assert verify_chain("ada", ledger.entries("ada")).intact


def test_a_database_held_by_another_process_is_locked_and_can_still_be_read(
    path: Path, stamp: Stamp
) -> None:
    with Database(path, busy_seconds=0.01) as database:
        ledger = SqliteLedger(database)
        ledger.append("ada", [Draft("note", "test", {"n": 1})], stamp)
        command = [sys.executable, "-c", HOLDER, str(path)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            with pytest.raises(StoreLocked) as caught:
                ledger.append("ada", [Draft("note", "test", {"n": 2})], stamp)
            assert len(list(ledger.entries("ada"))) == 1
            holder.communicate("")
        assert "store.busy_seconds" in caught.value.hint
        assert caught.value.facts == {"path": str(path)}
        ledger.append("ada", [Draft("note", "test", {"n": 2})], stamp)
        assert verify_chain("ada", ledger.entries("ada")).entries == 2
