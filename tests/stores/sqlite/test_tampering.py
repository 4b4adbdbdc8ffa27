"""Rows somebody changed behind our back: named by verification, never taken as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from mentis.errors import StoreDamaged
from mentis.ledger.verify import verify_chain
from mentis.ports.clock import FixedClock
from mentis.ports.entries import Stamp
from mentis.record.verify import find_damage, verify_agent
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.stores.sqlite.memories import SqliteMemories
from mentis.stores.sqlite.revisions import SqliteRevisions
from mentis.stores.states import States
from mentis.values.cognition import CognitionState, Memory
from mentis.values.entry import Draft
from mentis.values.part import TextPart
from mentis.values.turn import Turn
from mentis.values.turn_writes import TurnWrites


@pytest.fixture
def ledger(database: Database, stamp: Stamp) -> SqliteLedger:
    ledger = SqliteLedger(database)
    drafts = [Draft("note", "test", {"text": str(n)}, delivery=f"mail-{n}") for n in range(5)]
    ledger.append("ada", drafts, stamp)
    return ledger


def change(database: Database, statement: str) -> None:
    with database.write() as connection:
        connection.execute(statement)


@pytest.mark.parametrize(
    ("assignment", "column"),
    [
        ("time = '2026-01-01T00:00:02.000001Z'", "hash"),
        ("source = 'somebody'", "hash"),
        ("source = CAST(x'ff' AS TEXT)", "hash"),
        ("kind = 'other'", "hash"),
        ("ruleset = ''", "hash"),
        ("prev = NULL", "prev"),
        ("fields = '{}'", "hash"),
        ("fields = '{\"text\": 1}'", "fields"),
        ("hash = upper(hash)", "hash"),
        ("hash = x'00'", "hash"),
        ("body = replace(body, '2', '3')", "body"),
        ("body = CAST(x'7b22ff223a317d' AS TEXT)", "body"),
        ('body = \'{"text":"3",\' || substr(body, 2)', "body"),
        ("body = '{\"text\":NaN}'", "body"),
        ("body = '{'", "body"),
        ("body = '[]'", "body"),
        (f"body = '{'[' * 100_000}'", "body"),
        ("body = x'00'", "body"),
        ("salts = '{}'", "salts"),
        ("salts = 'x'", "salts"),
        ("recipe = 'mentis-2'", "recipe"),
        ("delivery = 'mail-9'", "delivery"),
        ("delivery = NULL", "delivery"),
        ("delivery = 7.5", "delivery"),
    ],
)
def test_a_changed_cell_is_found_and_named(
    database: Database, ledger: SqliteLedger, assignment: str, column: str
) -> None:
    change(database, f"UPDATE ledger SET {assignment} WHERE idx = 2")  # noqa: S608 - the test's own
    findings = verify_chain("ada", ledger.entries("ada")).findings
    assert (2, column) in {(finding.index, finding.column) for finding in findings}


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        ("DELETE FROM ledger WHERE idx = 2", 2),
        ("DELETE FROM ledger WHERE idx = 0", 0),
        ("UPDATE ledger SET idx = 9 WHERE idx = 2", 2),
        ("UPDATE ledger SET idx = -9 WHERE idx = 2", 0),
        ("UPDATE ledger SET idx = 1.5 WHERE idx = 2", 2),
        ("UPDATE ledger SET idx = 'two' WHERE idx = 2", 2),
        ("UPDATE ledger SET agent = 'bob' WHERE idx = 2", 2),
    ],
)
def test_a_row_that_is_gone_or_moved_is_found(
    database: Database, ledger: SqliteLedger, statement: str, index: int
) -> None:
    change(database, statement)
    findings = verify_chain("ada", ledger.entries("ada")).findings
    assert findings[0].index == index


def test_a_row_moved_to_another_agent_is_found_there_too(
    database: Database, ledger: SqliteLedger
) -> None:
    change(database, "UPDATE ledger SET agent = 'bob' WHERE idx = 2")
    assert not verify_chain("bob", ledger.entries("bob")).intact


@pytest.mark.parametrize(
    ("index", "table", "cell"),
    [
        ("ledger_delivery", "ledger", b"mail-2"),
        ("sqlite_autoindex_ledger_1", "ledger", b"ada"),
        ("sqlite_autoindex_turns_1", "turns", b"main"),
    ],
)
@pytest.mark.usefixtures("ledger")
def test_an_index_that_no_longer_fits_its_table_is_found_though_every_row_is_whole(
    path: Path, index: str, table: str, cell: bytes
) -> None:
    with Database(path) as database:
        ledger = SqliteLedger(database)
        ledger.add_turn("ada", "main", Turn("user", (TextPart("Hello?"),)))
        assert find_damage(ledger, ledger) == ()
        database.fold()
        statement = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        ((page,),) = database.read(statement, (index,))
    bend(path, page, cell)
    with Database(path, readonly=True) as database:
        ledger = SqliteLedger(database)
        found = find_damage(ledger, ledger)
        assert found[0].message.startswith(f"{table}: ")
        assert {(one.column, one.attack) for one in found} == {("database", "unreadable")}
        verdict = verify_agent("ada", ledger, ledger)
        assert (verdict.intact, verdict.trusted) == (False, None)
        assert set(found) <= set(verdict.findings)


def bend(path: Path, page: int, cell: bytes) -> None:
    """One bit of one cell, in this page alone."""
    content = bytearray(path.read_bytes())
    size = int.from_bytes(content[16:18], "big")
    at = content.index(cell, (page - 1) * size, page * size)
    content[at] ^= 0x20
    path.write_bytes(content)


def test_turns_memories_and_states_that_were_changed_are_refused(database: Database) -> None:
    ledger, memories = SqliteLedger(database), SqliteMemories(database)
    states = States(SqliteRevisions(database), FixedClock())
    ledger.add_turn("ada", "s", Turn("user", (TextPart("hi"),)))
    memories.remember("ada", Memory("m", "text"))
    states.save("ada", CognitionState(revision=1), expected=0)
    change(database, "UPDATE turns SET turn = '{}'")
    change(database, "UPDATE memories SET memory = 'x'")
    change(database, "UPDATE revisions SET content = '{\"unknown\": 1}'")
    with pytest.raises(StoreDamaged, match="a turn of session `s` of `ada`"):
        ledger.turns("ada", "s")
    with pytest.raises(StoreDamaged, match="a memory of `ada`"):
        memories.memories("ada")
    with pytest.raises(StoreDamaged, match="the state of `ada`, revision 1, cannot be read"):
        states.load("ada")
    change(database, "UPDATE revisions SET content = x'00ff'")
    with pytest.raises(StoreDamaged, match="something else than texts"):
        states.history("ada")


def test_a_message_that_was_made_unreadable_keeps_no_entry_out_of_the_record(
    database: Database, stamp: Stamp
) -> None:
    ledger = SqliteLedger(database)
    ledger.add_turn("ada", "s", Turn("user", (TextPart("hi"),), state="pending"))
    change(database, "UPDATE turns SET turn = '{}'")
    answer = Turn("assistant", (TextPart("yes"),))
    writes = TurnWrites("s", 0, "complete", (answer,))
    ledger.append("ada", [Draft("note", "test", {})], stamp, turns=writes)
    assert ledger.count("ada") == 1
    assert database.read("SELECT count(*) FROM turns")[0] == (2,)
    with pytest.raises(StoreDamaged, match="a turn of session `s` of `ada`"):
        ledger.turns("ada", "s")
