"""Tables that somebody changed: nothing is written or read through them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from mentis.errors import StoreDamaged
from mentis.ports.clock import FixedClock
from mentis.ports.entries import Stamp
from mentis.stores.rows import COLUMNS
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.stores.sqlite.migrations import APPLICATION_ID, MIGRATIONS, VERSION
from mentis.stores.sqlite.revisions import SqliteRevisions
from mentis.stores.states import States
from mentis.values.cognition import USER_ROOT, CognitionState, Goal, GoalTree, L1Entry
from mentis.values.entry import Draft
from mentis.values.trust import Trust

SWALLOW = "CREATE TRIGGER t BEFORE INSERT ON ledger BEGIN SELECT raise(ignore); END"
# As it was, but without the key that keeps an entry from standing there twice.
REBUILT = (
    "CREATE TABLE other AS SELECT * FROM ledger",
    "DROP TABLE ledger",
    "ALTER TABLE other RENAME TO ledger",
)


def note(n: int) -> Draft:
    return Draft("note", "test", {"n": n})


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def make_version(path: Path, version: int) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for step in MIGRATIONS[:version]:
            step(connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {version}")


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize(
    ("statements", "named"),
    [
        ([SWALLOW], "not ours: trigger 't'"),
        (["CREATE VIEW v AS SELECT 1"], "not ours: view 'v'"),
        (["CREATE INDEX i ON ledger (time)"], "not ours: index 'i'"),
        (["CREATE TABLE more (x)"], "not ours: table 'more'"),
        (["ALTER TABLE ledger ADD COLUMN more TEXT"], "changed: table 'ledger'"),
        (["DROP INDEX ledger_delivery"], "missing: index 'ledger_delivery'"),
        (["ALTER TABLE ledger RENAME TO honest"], "missing: .*table 'ledger'"),
        (REBUILT, "changed: table 'ledger'"),
    ],
)
def test_a_file_with_other_tables_is_refused_and_left_as_it_is(
    path: Path, statements: Sequence[str], named: str, readonly: bool
) -> None:
    Database(path).close()
    change(path, *statements)
    before = path.read_bytes()
    with pytest.raises(StoreDamaged, match=named):
        Database(path, readonly=readonly)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("table", "old", "new"),
    [
        ("turns", "PRIMARY KEY", '"PRIMARY" "KEY"'),
        ("ledger", "hash TEXT NOT NULL", 'hash TEXT "NOT" "NULL"'),
        ("ledger", "hash TEXT NOT NULL", "hash TEXT\u00a0NOT\u00a0NULL"),
        ("ledger", "hash TEXT NOT NULL", "hash TEXT\u2003NOT NULL"),
        ("ledger", "hash TEXT NOT NULL", '"hash" TEXT NOT NULL'),
    ],
)
def test_a_key_word_that_sqlite_takes_for_a_name_is_another_table(
    path: Path, table: str, old: str, new: str
) -> None:
    Database(path).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        query = "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = ?"
        connection.execute(query, (old, new, table))
    with pytest.raises(StoreDamaged, match=f"changed: table '{table}'"):
        Database(path)


def test_layout_and_the_quotes_of_a_renamed_table_make_no_difference(path: Path) -> None:
    Database(path).close()
    change(path, "ALTER TABLE turns RENAME TO t", "ALTER TABLE t RENAME TO turns")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = replace(sql, char(10), char(13, 9))")
    Database(path).close()


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize("version", range(1, VERSION + 1))
def test_a_file_of_any_version_is_compared_with_that_version(
    path: Path, version: int, readonly: bool
) -> None:
    make_version(path, version)
    with Database(path, readonly=readonly) as database:
        ledger = SqliteLedger(database)
        assert (ledger.checkpoints("ada"), list(ledger.hashes("ada"))) == ((), [])
        assert ledger.turns("ada", "main") == ()


@pytest.mark.parametrize("version", [-1, *range(VERSION)])
def test_a_file_that_says_another_version_than_it_has_is_refused(path: Path, version: int) -> None:
    Database(path).close()
    change(path, f"PRAGMA user_version = {version}")
    with pytest.raises(StoreDamaged, match="does not have the tables"):
        Database(path)


def test_what_analyze_leaves_is_no_table_of_somebody_else(path: Path, stamp: Stamp) -> None:
    with Database(path) as database:
        SqliteLedger(database).append("ada", [note(1)], stamp)
    change(path, "ANALYZE")
    with Database(path) as database:
        assert SqliteLedger(database).count("ada") == 1


def test_a_trigger_that_comes_while_the_file_is_open_stops_the_next_append_and_reading(
    path: Path, database: Database, stamp: Stamp
) -> None:
    ledger = SqliteLedger(database)
    ledger.append("ada", [note(1)], stamp)
    change(path, SWALLOW)
    with pytest.raises(StoreDamaged, match="trigger 't'"):
        ledger.append("ada", [note(2)], stamp)
    with pytest.raises(StoreDamaged, match="trigger 't'"):
        list(ledger.entries("ada"))
    change(path, "DROP TRIGGER t")
    assert ledger.append("ada", [note(2)], stamp)[0].index == 1


def test_an_entry_that_the_database_swallows_was_not_recorded(
    database: Database, stamp: Stamp
) -> None:
    ledger = SqliteLedger(database)
    ledger.append("ada", [note(1)], stamp)
    # Of this connection alone, so nothing of it is in the file.
    database.read(
        "CREATE TEMP TRIGGER t BEFORE INSERT ON main.ledger BEGIN SELECT raise(ignore); END"
    )
    with pytest.raises(StoreDamaged, match="did not keep entry 1"):
        ledger.append("ada", [note(2)], stamp)
    assert ledger.count("ada") == 1


def test_a_second_row_of_one_number_is_found_also_between_two_batches(
    database: Database, stamp: Stamp
) -> None:
    ledger = SqliteLedger(database)
    ledger.append("ada", [note(n) for n in range(300)], stamp)
    # A table of this connection stands before the one in the file, which stays as it is.
    database.read("CREATE TEMP TABLE ledger AS SELECT * FROM main.ledger")
    database.read("INSERT INTO temp.ledger SELECT * FROM main.ledger WHERE idx = 255")
    with pytest.raises(StoreDamaged, match="several times"):
        list(ledger.entries("ada"))


def test_a_number_that_nothing_can_follow_is_damage(path: Path, stamp: Stamp) -> None:
    with Database(path) as database:
        SqliteLedger(database).append("ada", [note(1), note(2)], stamp)
    change(path, "UPDATE ledger SET idx = 9223372036854775807 WHERE idx = 1")
    with Database(path) as database:
        ledger = SqliteLedger(database)
        assert len(list(ledger.hashes("ada"))) == 2
        with pytest.raises(StoreDamaged, match="no ledger has as many"):
            ledger.append("ada", [note(3)], stamp)


def test_the_columns_are_those_of_an_entry(database: Database) -> None:
    names = [row[1] for row in database.read("PRAGMA table_xinfo(ledger)")]
    assert tuple(names) == COLUMNS


OLD_STATE = """
INSERT INTO states VALUES ('ada', 7, '{"goals":[{"id":"g","text":"see","weight":0.5,"children":[
{"id":"h","text":"hear","weight":1.0,"children":[],"lineage":"untrusted"}],"lineage":"self"}],
"l1_memory":["a note"],"revision":7}')
"""


def test_states_of_an_older_file_become_the_first_of_their_revisions(path: Path) -> None:
    make_version(path, 6)
    change(path, OLD_STATE, "INSERT INTO states VALUES ('bob', 2, 'broken')")
    with Database(path) as database:
        states = States(SqliteRevisions(database), FixedClock())
        below = (Goal("h", "hear", 1000, lineage=Trust.UNTRUSTED),)
        user = Goal(USER_ROOT, "user goals", children=(Goal("g", "see", 500, below),))
        entries = (L1Entry("a note"),)
        assert states.load("ada") == CognitionState(GoalTree(user=user), entries, 1)
        states.save("ada", CognitionState(revision=2), expected=1)
        with pytest.raises(StoreDamaged, match="`bob`, revision 1, cannot be read"):
            states.load("bob")
