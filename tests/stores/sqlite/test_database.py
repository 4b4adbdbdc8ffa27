"""The database file: opened, checked, refused, full, and read-only."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from mentis.errors import (
    HomeUnwritable,
    MentisError,
    StoreConflict,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreTooNew,
    UsageError,
)
from mentis.ledger.verify import verify_chain
from mentis.ports.entries import Stamp
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.faults import translate
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.stores.sqlite.migrations import APPLICATION_ID, VERSION
from mentis.values.entry import Before, Draft, Entry

NOBODY = 65534


def note(n: int) -> Draft:
    return Draft("note", "test", {"n": n})


def fill(path: Path, stamp: Stamp, count: int = 3) -> None:
    with Database(path) as database:
        SqliteLedger(database).append("ada", [note(n) for n in range(count)], stamp)


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def pragma(database: Database, name: str) -> object:
    return database.read(f"PRAGMA {name}")[0][0]


@contextmanager
def unprivileged() -> Generator[None]:
    """Permissions do not bind root, so root steps down for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@contextmanager
def sealed(directory: Path) -> Generator[None]:
    """Nothing in it can be written and nothing can be added."""
    for file in directory.iterdir():
        file.chmod(0o444)
    directory.chmod(0o555)
    try:
        with unprivileged():
            yield
    finally:
        directory.chmod(0o755)


@pytest.fixture
def open_directory() -> Generator[Path]:
    """Unlike `tmp_path`, one whose parents anybody may enter."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_new_database_is_durable_and_says_whose_it_is(database: Database) -> None:
    assert pragma(database, "journal_mode") == "wal"
    assert pragma(database, "synchronous") == 2
    assert pragma(database, "foreign_keys") == 1
    assert pragma(database, "application_id") == APPLICATION_ID
    assert pragma(database, "user_version") == VERSION


def test_what_was_kept_is_there_when_the_database_is_opened_again(path: Path, stamp: Stamp) -> None:
    fill(path, stamp)
    with Database(path) as database:
        assert verify_chain("ada", SqliteLedger(database).entries("ada")).entries == 3


def insert_twice(database: Database) -> None:
    with database.write() as connection:
        connection.execute("INSERT INTO revisions VALUES ('ada', 1, '', '', '', '', '')")
        connection.execute("INSERT INTO revisions VALUES ('ada', 1, '', '', '', '', '')")


def test_a_row_in_a_place_already_taken_is_a_conflict_and_takes_the_change_back(
    database: Database,
) -> None:
    with pytest.raises(StoreConflict):
        insert_twice(database)
    assert database.read("SELECT * FROM revisions") == []


def test_a_change_that_is_interrupted_is_taken_back_and_the_next_one_works(
    database: Database,
) -> None:
    def interrupted() -> None:
        with database.write() as connection:
            connection.execute("INSERT INTO revisions VALUES ('ada', 1, '', '', '', '', '')")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert database.read("SELECT * FROM revisions") == []
    with database.write() as connection:
        connection.execute("INSERT INTO revisions VALUES ('ada', 1, '', '', '', '', '')")
    assert database.read("SELECT key FROM revisions") == [("ada",)]


def test_a_transaction_inside_a_transaction_is_an_error_and_keeps_nothing(
    database: Database,
) -> None:
    with pytest.raises(StoreError), database.write(), database.write():
        pass
    with database.write():
        pass


def test_a_database_of_a_newer_version_is_refused_and_left_alone(path: Path, stamp: Stamp) -> None:
    fill(path, stamp)
    change(path, f"PRAGMA user_version = {VERSION + 1}")
    before = path.read_bytes()
    for readonly in (False, True):
        with pytest.raises(StoreTooNew) as caught:
            Database(path, readonly=readonly)
        assert caught.value.hint == "upgrade Mentis"
        assert (caught.value.facts["found"], caught.value.facts["known"]) == (VERSION + 1, VERSION)
    assert path.read_bytes() == before


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize("content", [b"garbage" * 1000, b"SQLite format 3\x00" + b"\xff" * 4080])
def test_a_file_that_is_no_database_is_refused_and_left_alone(
    path: Path, content: bytes, *, readonly: bool
) -> None:
    path.write_bytes(content)
    with pytest.raises(StoreDamaged) as caught:
        Database(path, readonly=readonly)
    assert str(path) in caught.value.message
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "statement", ["CREATE TABLE t (x)", "PRAGMA application_id = 7", "PRAGMA user_version = 1"]
)
def test_a_database_of_another_program_is_refused_and_left_alone(
    path: Path, statement: str
) -> None:
    change(path, statement)
    before = path.read_bytes()
    for readonly in (False, True):
        with pytest.raises(StoreDamaged, match="another program made it"):
            Database(path, readonly=readonly)
    assert path.read_bytes() == before


def test_nothing_is_written_through_a_link_and_what_it_leads_to_stays_as_it_is(
    path: Path, tmp_path: Path
) -> None:
    victim = tmp_path / "victim.txt"
    path.symlink_to(victim)
    for content in (None, b"", b"precious"):
        if content is not None:
            victim.write_bytes(content)
            victim.chmod(0o644)
        with pytest.raises(StoreError, match="is a link"):
            Database(path)
        assert (victim.read_bytes() if victim.exists() else None) == content
    assert victim.stat().st_mode & 0o777 == 0o644


def test_only_a_file_that_is_ours_is_taken_away_from_others(path: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.db"
    foreign.write_bytes(b"garbage" * 1000)
    Database(path).close()
    for file in (path, foreign):
        file.chmod(0o644)
    Database(path).close()
    with pytest.raises(StoreDamaged):
        Database(foreign)
    assert [file.stat().st_mode & 0o777 for file in (path, foreign)] == [0o600, 0o644]


def test_a_damaged_page_is_reported_as_damage(path: Path, stamp: Stamp) -> None:
    fill(path, stamp, count=200)
    content = bytearray(path.read_bytes())
    content[8192:] = b"\xff" * (len(content) - 8192)
    path.write_bytes(content)
    with Database(path) as database:
        verdict = verify_chain("ada", SqliteLedger(database).entries("ada"))
        with pytest.raises(StoreDamaged):
            SqliteLedger(database).append("ada", [note(1)], stamp)
    assert not verdict.intact
    assert "could not be read further" in verdict.findings[-1].message


def test_a_directory_that_does_not_exist_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(HomeUnwritable, match="cannot be opened for writing"):
        Database(tmp_path / "none" / "mentis.db")


def test_a_directory_in_place_of_the_database_cannot_be_written(path: Path) -> None:
    path.mkdir()
    with pytest.raises(HomeUnwritable):
        Database(path)


def test_no_space_left_is_reported_and_the_chain_goes_on_when_there_is_space_again(
    database: Database, stamp: Stamp
) -> None:
    ledger = SqliteLedger(database)
    ledger.append("ada", [note(1)], stamp)
    large = Draft("note", "test", {"text": "x" * 200_000})
    pages = pragma(database, "page_count")
    database.read(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreFull) as caught:
        ledger.append("ada", [note(2), large], stamp)
    assert caught.value.hint == "free some space and try again"
    assert verify_chain("ada", ledger.entries("ada")).entries == 1

    database.read("PRAGMA max_page_count = 1000000")
    ledger.append("ada", [note(2), large], stamp)
    verdict = verify_chain("ada", ledger.entries("ada"))
    assert (verdict.findings, verdict.entries) == ((), 3)


def test_in_a_sealed_directory_reading_works_and_writing_is_refused(
    open_directory: Path, stamp: Stamp
) -> None:
    path = open_directory / "mentis.db"
    fill(path, stamp)
    with sealed(open_directory):
        with pytest.raises(HomeUnwritable):
            Database(path)
        with Database(path, readonly=True) as database:
            ledger = SqliteLedger(database)
            verdict = verify_chain("ada", ledger.entries("ada"))
            with pytest.raises(HomeUnwritable):
                ledger.append("ada", [note(9)], stamp)
    assert (verdict.findings, verdict.entries) == ((), 3)
    assert [file.name for file in open_directory.iterdir()] == ["mentis.db"]


def test_a_new_database_cannot_be_made_in_a_sealed_directory(open_directory: Path) -> None:
    with sealed(open_directory), pytest.raises(HomeUnwritable):
        Database(open_directory / "mentis.db")


def test_changes_that_only_the_log_holds_are_read_in_a_sealed_directory_too(
    open_directory: Path, tmp_path: Path, stamp: Stamp
) -> None:
    source = tmp_path / "mentis.db"
    with Database(source) as database:
        SqliteLedger(database).append("ada", [note(1)], stamp)
        # Still open: the entry is in the -wal file only.
        for name in ("mentis.db", "mentis.db-wal"):
            shutil.copy(tmp_path / name, open_directory / name)
    before = {file.name: file.read_bytes() for file in open_directory.iterdir()}
    with (
        sealed(open_directory),
        Database(open_directory / "mentis.db", readonly=True) as database,
        database.snapshot(),
    ):
        assert SqliteLedger(database).agents() == ("ada",)
    assert {file.name: file.read_bytes() for file in open_directory.iterdir()} == before


def test_of_a_torn_log_in_a_sealed_directory_whole_changes_are_read(
    open_directory: Path, tmp_path: Path, stamp: Stamp
) -> None:
    with Database(tmp_path / "mentis.db") as database:
        for number in (1, 2):
            SqliteLedger(database).append("ada", [note(number)], stamp)
        shutil.copy(tmp_path / "mentis.db", open_directory)
        wal = (tmp_path / "mentis.db-wal").read_bytes()
    (open_directory / "mentis.db-wal").write_bytes(wal[:-100])
    with sealed(open_directory), Database(open_directory / "mentis.db", readonly=True) as database:
        assert SqliteLedger(database).count("ada") == 1


def test_reading_alone_does_not_write_to_a_database_in_use(
    database: Database, path: Path, stamp: Stamp
) -> None:
    SqliteLedger(database).append("ada", [note(1)], stamp)
    with Database(path, readonly=True) as other:
        assert len(list(SqliteLedger(other).entries("ada"))) == 1
        with pytest.raises(HomeUnwritable):
            SqliteLedger(other).append("ada", [note(2)], stamp)


def test_reading_alone_waits_for_nobody_who_keeps_the_database_to_himself(
    path: Path, stamp: Stamp
) -> None:
    fill(path, stamp)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("UPDATE ledger SET source = source")
        with pytest.raises(StoreLocked):
            Database(path, busy_seconds=0.01, readonly=True)


def test_reading_alone_makes_no_database(path: Path) -> None:
    with pytest.raises(StoreError, match="there is no database at"):
        Database(path, readonly=True)
    assert not path.exists()


def test_reading_alone_refuses_an_empty_file(path: Path) -> None:
    path.touch()
    with pytest.raises(StoreDamaged, match="it is empty"):
        Database(path, readonly=True)


def test_a_path_with_odd_characters_can_be_read(tmp_path: Path, stamp: Stamp) -> None:
    path = tmp_path / "a ?b#c%41 ü.db"
    fill(path, stamp)
    with Database(path, readonly=True) as database:
        assert SqliteLedger(database).agents() == ("ada",)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_BUSY_SNAPSHOT, StoreLocked),
        (sqlite3.SQLITE_LOCKED, StoreLocked),
        (sqlite3.SQLITE_FULL, StoreFull),
        (sqlite3.SQLITE_IOERR_SHMSIZE, StoreFull),
        (sqlite3.SQLITE_CORRUPT_INDEX, StoreDamaged),
        (sqlite3.SQLITE_NOTADB, StoreDamaged),
        (sqlite3.SQLITE_READONLY_DIRECTORY, HomeUnwritable),
        (sqlite3.SQLITE_CANTOPEN_ISDIR, HomeUnwritable),
        (sqlite3.SQLITE_CONSTRAINT_UNIQUE, StoreConflict),
        (sqlite3.SQLITE_IOERR_FSYNC, StoreError),
        (0, StoreError),
    ],
)
def test_every_failure_of_sqlite_becomes_one_of_ours(code: int, kind: type[MentisError]) -> None:
    error = sqlite3.OperationalError("words")
    if code:
        error.sqlite_errorcode = code
    translated = translate(error, Path("mentis.db"))
    assert type(translated) is kind
    assert "mentis.db" in translated.message


def test_a_closed_database_says_so(path: Path) -> None:
    database = Database(path)
    database.close()
    with pytest.raises(UsageError, match="closed"):
        database.read("SELECT 1")


def restore(path: Path, backup: Path) -> None:
    """As one puts a backup in its place: the file under another name first, then renamed."""
    for name in ("-wal", "-shm"):
        path.with_name(path.name + name).unlink(missing_ok=True)
    shutil.copy(backup, path.with_name("coming"))
    path.with_name("coming").rename(path)


def test_a_file_that_was_replaced_is_neither_written_nor_read_any_more(
    path: Path, tmp_path: Path, stamp: Stamp
) -> None:
    fill(path, stamp, 1)
    backup = Path(shutil.copy(path, tmp_path / "backup.db"))
    with Database(path) as database:
        ledger = SqliteLedger(database)
        ledger.append("ada", [note(1)], stamp)
        restore(path, backup)
        with pytest.raises(StoreError, match="was replaced or removed while it was open"):
            ledger.append("ada", [note(2)], stamp)
        assert (ledger.count("ada"), database.replaced) == (1, 1)
        restore(path, backup)
        with pytest.raises(StoreError, match="was replaced or removed while it was open"):
            ledger.count("ada")
        ledger.append("ada", [note(3)], stamp)
    with Database(path) as database:
        assert [entry.body["n"] for entry in SqliteLedger(database).entries("ada")] == [0, 3]


@pytest.mark.parametrize("gone_first", [False, True])
def test_a_file_that_was_replaced_after_a_failure_of_the_disk_is_noticed(
    path: Path, tmp_path: Path, stamp: Stamp, *, gone_first: bool
) -> None:
    fill(path, stamp, 1)
    backup = Path(shutil.copy(path, tmp_path / "backup.db"))
    failed = sqlite3.OperationalError("disk I/O error")
    failed.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
    with Database(path) as database:
        ledger = SqliteLedger(database)
        ledger.append("ada", [note(1)], stamp)
        database.fault(failed)
        assert (ledger.count("ada"), database.replaced) == (2, 0)
        database.fault(failed)
        if gone_first:
            path.unlink()
            with pytest.raises(StoreError, match="was replaced or removed"):
                ledger.count("ada")
        restore(path, backup)
        with pytest.raises(StoreError, match="was replaced or removed"):
            ledger.append("ada", [note(2)], stamp)
        assert (ledger.count("ada"), database.replaced) == (1, 1)


def test_what_is_replaced_in_the_middle_of_a_change_takes_nothing(
    path: Path, tmp_path: Path, stamp: Stamp
) -> None:
    fill(path, stamp, 1)
    backup = Path(shutil.copy(path, tmp_path / "backup.db"))
    with Database(path) as database:

        def late(agent: str, head: Before | None, draft: Draft) -> Entry:
            restore(path, backup)
            return stamp(agent, head, draft)

        with pytest.raises(StoreError, match="was replaced or removed"):
            SqliteLedger(database).append("ada", [note(1)], late)
        assert SqliteLedger(database).count("ada") == 1


def test_where_the_open_file_was_removed_no_empty_one_is_made(path: Path, stamp: Stamp) -> None:
    with Database(path) as database:
        ledger = SqliteLedger(database)
        ledger.append("ada", [note(0)], stamp)
        path.rename(path.with_name("moved.db"))
        for _ in range(2):
            with pytest.raises(StoreError, match="was replaced or removed"):
                ledger.append("ada", [note(1)], stamp)
        assert not path.exists()
        path.with_name("moved.db").rename(path)
        ledger.append("ada", [note(1)], stamp)
        assert ledger.count("ada") == 2
