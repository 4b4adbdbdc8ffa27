"""What is special about the ledger in a file: old ones, what is erased, network disks, syncs."""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mentis.errors import HomeError, StoreError
from mentis.ledger.verify import verify_chain
from mentis.ports.entries import Stamp
from mentis.stores.rows import COLUMNS, to_row
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.stores.sqlite.migrations import APPLICATION_ID, MIGRATIONS, VERSION
from mentis.stores.sqlite.mounts import file_system, refuse_network
from mentis.values.entry import Draft

NOW = datetime(2026, 1, 1, tzinfo=UTC)
APPENDER = Path(__file__).with_name("appender.py")
SECRET = "a-text-that-stands-nowhere-else"  # noqa: S105 - not one


def make_old(path: Path, stamp: Stamp) -> None:
    """A file as the first version left it."""
    entry = stamp("ada", None, Draft("note", "test", {"n": 1}))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        MIGRATIONS[0](connection)
        connection.execute("PRAGMA journal_mode = WAL")
        marks = ", ".join("?" for _ in COLUMNS)
        connection.execute(f"INSERT INTO ledger VALUES ({marks})", to_row(entry))  # noqa: S608 - constants
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 1")


def test_an_old_file_opens_and_has_everything_new(path: Path, stamp: Stamp) -> None:
    make_old(path, stamp)
    with Database(path) as database:
        ledger = SqliteLedger(database)
        ledger.keep_checkpoint("ada", 1, "one")
        assert (ledger.count("ada"), ledger.checkpoints("ada")) == (1, ((1, "one"),))
        assert database.read("PRAGMA user_version") == [(VERSION,)]


def test_an_old_file_can_be_read_without_being_changed(path: Path, stamp: Stamp) -> None:
    make_old(path, stamp)
    before = path.read_bytes()
    with Database(path, readonly=True) as database:
        ledger = SqliteLedger(database)
        assert verify_chain("ada", ledger.entries("ada")).entries == 1
        assert len(list(ledger.hashes("ada"))) == 1
        assert (ledger.checkpoints("ada"), ledger.lease("ada", "consume")) == ((), None)
    assert path.read_bytes() == before


def make_leased(path: Path, owner: str) -> None:
    """A file as it was when an agent had one lease, with one that somebody holds."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for step in MIGRATIONS[:8]:
            step(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        expires = (NOW + timedelta(seconds=30)).isoformat()
        for agent, name in (("ada", owner), ("ada#health", "health")):
            row = (agent, name, 7, expires, 0)
            connection.execute("INSERT INTO leases VALUES (?, ?, ?, ?, ?)", row)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 8")


def test_a_lease_that_somebody_held_is_still_held_when_leases_have_purposes(path: Path) -> None:
    make_leased(path, "watcher elsewhere:7 a")
    with Database(path) as database:
        ledger = SqliteLedger(database)
        held = ledger.lease("ada", "consume")
        assert held is not None
        assert (held.owner, held.fence) == ("watcher elsewhere:7 a", 7)
        assert ledger.take_lease("ada", "consume", "me", now=NOW, seconds=30) == held
        later = NOW + timedelta(minutes=1)
        assert ledger.take_lease("ada", "consume", "me", now=later, seconds=30).fence == 8
        assert database.read("SELECT count(*) FROM leases") == [(1,)]


def test_a_lease_of_a_file_that_is_only_read_is_seen_in_it(path: Path) -> None:
    make_leased(path, "watcher elsewhere:7 a")
    before = path.read_bytes()
    with Database(path, readonly=True) as database:
        held = SqliteLedger(database).lease("ada", "consume")
    assert held is not None
    assert (held.fence, path.read_bytes()) == (7, before)


def test_what_is_erased_or_dropped_stands_in_no_file_any_more(path: Path, stamp: Stamp) -> None:
    with Database(path) as database:
        ledger = SqliteLedger(database)
        drafts = [Draft("note", "test", {"secret": SECRET * 200}) for _ in range(3)]
        ledger.append("ada", drafts, stamp)
        assert stands_in_files(path)
        ledger.erase("ada", 2, ["secret"], draft=Draft("erasure", "test", {}), stamp=stamp)
        ledger.drop_before("ada", 2)
        assert not stands_in_files(path)
        assert ledger.remains() == ()


def test_what_a_reader_holds_up_is_said_to_remain(path: Path, stamp: Stamp) -> None:
    with Database(path, busy_seconds=0.01) as database:
        ledger = SqliteLedger(database)
        ledger.append("ada", [Draft("note", "test", {"secret": SECRET})], stamp)
        reader = sqlite3.connect(path, isolation_level=None)
        with closing(reader):
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM ledger").fetchall()
            ledger.erase("ada", 0, ["secret"], draft=Draft("erasure", "test", {}), stamp=stamp)
            (place,) = ledger.remains()
            assert "mentis.db-wal" in place
            assert stands_in_files(path)
        ledger.drop_before("ada", 0)
        assert ledger.remains() == ()
        assert not stands_in_files(path)


def test_whoever_waits_to_empty_the_log_keeps_no_writer_out(
    path: Path, monkeypatch: pytest.MonkeyPatch, stamp: Stamp
) -> None:
    with Database(path, busy_seconds=0.2) as database, Database(path, busy_seconds=0) as other:
        ledger, written = SqliteLedger(database), list[int]()
        ledger.append("ada", [Draft("note", "test", {"secret": SECRET})], stamp)

        def write(_seconds: float) -> None:
            (entry,) = SqliteLedger(other).append("ada", [Draft("note", "test", {})], stamp)
            written.append(entry.index)

        monkeypatch.setattr("mentis.stores.sqlite.database.time.sleep", write)
        with ledger.snapshot() as still:
            assert not database.fold()
            assert still.count("ada") == 1
        assert written == list(range(1, len(written) + 1)) != []
        assert database.fold()


def stands_in_files(path: Path) -> bool:
    return any(SECRET.encode() in file.read_bytes() for file in path.parent.iterdir())


MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
31 22 0:27 / /net rw shared:2 - nfs4 server:/export rw
32 22 0:28 / /net/with\\040space rw shared:3 - ext4 /dev/vdb rw
33 22 0:29 / /over rw - ext4 /dev/vdc rw
34 33 0:30 / /over rw - fuse.sshfs host: rw
broken line
"""


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("/srv/x/mentis.db", "ext4"),
        ("/net/home/mentis.db", "nfs4"),
        ("/net/with space/mentis.db", "ext4"),
        ("/network/mentis.db", "ext4"),
        ("/over/mentis.db", "fuse.sshfs"),
    ],
)
def test_the_file_system_is_that_of_the_nearest_mount(tmp_path: Path, file: str, kind: str) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS, encoding="utf-8")
    assert file_system(Path(file), mounts) == kind
    assert file_system(Path(file), tmp_path / "none") is None


def test_a_database_on_a_network_file_system_is_refused(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS, encoding="utf-8")
    with pytest.raises(HomeError, match="network file system \\(nfs4\\)") as caught:
        refuse_network(Path("/net/home/mentis.db"), mounts)
    assert "local disk" in caught.value.hint
    refuse_network(Path("/srv/x/mentis.db"), mounts)


def test_after_a_failed_write_the_file_is_opened_anew(database: Database, stamp: Stamp) -> None:
    ledger = SqliteLedger(database)
    ledger.append("ada", [Draft("note", "test", {"n": 1})], stamp)

    def fail() -> None:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
        with database.write() as connection:
            connections.append(connection)
            raise error

    connections: list[sqlite3.Connection] = []
    with pytest.raises(StoreError, match="disk I/O error"):
        fail()
    ledger.append("ada", [Draft("note", "test", {"n": 2})], stamp)
    with database.write() as connection:
        assert connection is not connections[0]
    assert verify_chain("ada", ledger.entries("ada")).entries == 2


@pytest.mark.needs_ptrace
def test_an_append_is_one_sync_and_so_is_a_batch_and_a_group_and_a_lease_is_none(
    tmp_path: Path,
) -> None:
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    report = tmp_path / "trace"
    command = [strace, "-f", "-e", "trace=fsync,fdatasync,write", "-o", str(report)]
    command += [sys.executable, str(APPENDER), str(tmp_path / "mentis.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "ptrace" in done.stderr.lower():
        pytest.skip(f"strace may not trace here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    expected = {"single": 10, "batch": 1, "leases": 0, "after": 1, "group": 2}
    assert syncs_between_marks(report.read_text()) == expected


def syncs_between_marks(trace: str) -> dict[str, int]:
    """Syncs between what the program said: `begin NAME` and `end NAME`."""
    counts: dict[str, int] = {}
    current: str | None = None
    for line in trace.splitlines():
        if said := re.search(r'write\(1, "(begin|end) (\w+)', line):
            current = said[2] if said[1] == "begin" else None
            counts.setdefault(said[2], 0)
        elif current and re.search(r" f(data)?sync\(", line):
            counts[current] += 1
    return counts
