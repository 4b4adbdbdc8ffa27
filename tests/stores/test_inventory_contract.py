"""What is kept beside a record is bound by its entries, whichever database it lies in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mentis.home.create import create_home
from mentis.library.shelf import Shelf
from mentis.ports.entries import Stamp
from mentis.ports.ids import CountingIds
from mentis.record.home_files import open_home_files
from mentis.record.verify_inventory import InventoryCheck
from mentis.stores.files.home import Home
from mentis.stores.postgres.database import PostgresDatabase
from mentis.stores.postgres.ledger import PostgresLedger
from mentis.stores.postgres.memories import PostgresMemories
from mentis.stores.postgres.migrations import TAKES_INVENTORY
from mentis.stores.sql_ledger import SqlLedger
from mentis.stores.sql_memories import SqlMemories
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.stores.sqlite.memories import SqliteMemories
from mentis.stores.sqlite.revisions import SqliteRevisions
from mentis.values.cognition import Memory, Revision
from mentis.values.digest import digest
from mentis.values.entry import Draft
from mentis.values.inventory import KIND

AGENT = "home/ada"
NOW = "2026-01-01T00:00:00.000000Z"
Run = Callable[[str], object]


@pytest.fixture(params=["sqlite", "postgres"])
def parts(request: pytest.FixtureRequest, database: Database) -> tuple[SqlLedger, SqlMemories, Run]:
    """A ledger, the memories beside it, and a way past both of them."""
    if request.param == "sqlite":

        def run(statement: str) -> None:
            with database.write() as connection:
                connection.execute(statement)

        return SqliteLedger(database), SqliteMemories(database), run
    server: PostgresDatabase = request.getfixturevalue("postgres")

    def run_there(statement: str) -> None:
        with server.session() as connection:
            connection.execute(statement.encode())

    ledger = PostgresLedger(server, beside=SqliteLedger(database).inventory)
    return ledger, PostgresMemories(server), run_there


def _say(ledger: SqlLedger, stamp: Stamp, kind: str = "turn") -> None:
    ledger.append(AGENT, [Draft(kind, "runtime", {"n": 1})], stamp)


def _checked(ledger: SqlLedger, folder: Path | None = None) -> InventoryCheck:
    with ledger.snapshot() as still:
        check = InventoryCheck(AGENT, still, folder=folder)
        for entry in still.entries(AGENT):
            check.take(entry)
        check.compare()
    return check


def test_an_entry_binds_what_was_kept_in_both_databases(
    parts: tuple[SqlLedger, SqlMemories, Run], database: Database, stamp: Stamp
) -> None:
    ledger, memories, run = parts
    memories.remember(AGENT, Memory("cello", "Lena plays the cello.", time=NOW))
    text = "- Calm."
    key = "memory:ada/soul.md"
    revision = Revision(key, 1, text, digest(text.encode()), NOW, "write")
    SqliteRevisions(database).save(revision)
    assert len(_checked(ledger).notes) == 1
    _say(ledger, stamp)
    kinds = [one.kind for one in ledger.entries(AGENT)]
    assert kinds.count(KIND) == len(ledger.inventories)
    assert kinds[-1] == "turn"
    check = _checked(ledger)
    assert (check.findings, check.notes) == ([], [])
    _say(ledger, stamp)
    assert ledger.count(AGENT) == len(kinds) + 1
    run("UPDATE memories SET memory = replace(memory, 'cello.', 'drums.')")
    (found,) = _checked(ledger).findings
    assert found.message.startswith("memory cello is not as entry")
    memories.forget(AGENT, "cello")
    assert _checked(ledger).findings == []
    _say(ledger, stamp)
    assert _checked(ledger).notes == []


def test_what_is_known_by_its_delivery_binds_nothing(
    parts: tuple[SqlLedger, SqlMemories, Run], stamp: Stamp
) -> None:
    ledger, memories, _ = parts
    memories.remember(AGENT, Memory("cello", "Lena plays the cello.", time=NOW))
    ledger.append(AGENT, [Draft("turn", "runtime", {"n": 1}, delivery="one")], stamp)
    _say(ledger, stamp, "window")
    assert [one.kind for one in ledger.entries(AGENT)] == ["turn", "window"]


@pytest.fixture(params=["sqlite", "postgres"])
def alone(request: pytest.FixtureRequest, database: Database) -> SqlLedger:
    """A ledger whose database notes files, too."""
    if request.param == "sqlite":
        return SqliteLedger(database)
    return PostgresLedger(request.getfixturevalue("postgres"))


def test_files_of_a_home_are_bound_in_either_database(
    alone: SqlLedger, tmp_path: Path, stamp: Stamp
) -> None:
    home, shelf = create_home(tmp_path / "home"), Shelf(tmp_path / "home" / "prompts")
    files = open_home_files(
        Home(home), AGENT, shelf, alone, skills=lambda: None, secret=b"of the home"
    )
    assert files is not None

    def notes() -> list[str]:
        check = _checked(alone, home)
        assert check.findings == []
        return check.notes

    def turn() -> list[str]:
        files.note(lambda: b"16 bytes of salt")
        _say(alone, stamp)
        return [one.kind for one in alone.entries(AGENT)]

    assert turn() == ["turn"]
    (home / "profile.toml").write_text('name = "Lena"\n', encoding="utf-8")
    assert notes() == ["profile.toml changed since it was noted first, not yet recorded"]
    assert turn() == ["turn", KIND, "turn"]
    (home / "profile.toml").unlink()
    (home / "prompts").mkdir()
    (home / "prompts" / "own.json").write_text('{"one": {}, "two": {}}', encoding="utf-8")
    shelf.current()
    assert notes() == [
        "profile.toml is gone since entry 1, not yet recorded",
        "prompts/own.json is new, not yet recorded",
    ]
    assert turn()[3:] == [KIND, "turn"]
    (home / "prompts" / "own.json").write_text('{"one": {}, "two": {"a": 1}}', encoding="utf-8")
    shelf.current()
    changed = "prompts/own.json changed since entry 3 (`two` changed), not yet recorded"
    assert notes() == [changed]
    assert turn()[5:] == [KIND, "turn"]
    assert notes() == []
    assert turn()[7:] == ["turn"]


def test_memories_of_an_older_schema_wait_for_the_first_entry(
    postgres_url: str, schema: str, stamp: Stamp
) -> None:
    older = f"{schema}_older"
    with PostgresDatabase(postgres_url, schema=older) as server:
        memories = PostgresMemories(server)
        memories.remember(AGENT, Memory("cello", "She plays.", time=NOW))
        with server.session() as connection:
            connection.execute(
                "DROP TABLE inventory, inventory_lists, blobs, files, inbox, rings, workers"
            )
            connection.execute("UPDATE version SET number = %s", (TAKES_INVENTORY,))
    with PostgresDatabase(postgres_url, schema=older) as server:
        ledger = PostgresLedger(server)
        _say(ledger, stamp)
        assert [one.kind for one in ledger.entries(AGENT)] == [KIND, "turn"]
        check = _checked(ledger)
    assert (check.findings, check.notes) == ([], [])


def test_salts_come_from_whoever_opens_the_database(tmp_path: Path) -> None:
    with Database(tmp_path / "mentis.db", salts=CountingIds().salt) as database:
        memories = SqliteMemories(database)
        for name in ("cello", "violin"):
            memories.remember(AGENT, Memory(name, f"She plays the {name}.", time=NOW))
        salts = database.read("SELECT salt FROM inventory ORDER BY number")
    assert [int(salt, 16) for (salt,) in salts] == [1, 2]
