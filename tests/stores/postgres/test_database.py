"""The server: found, refused, gone, back, and shared by many."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from mentis.codec.forms import to_json
from mentis.errors import (
    BadInput,
    EngineMissing,
    MentisError,
    SettingsError,
    StoreConflict,
    StoreDamaged,
    StoreDown,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreTooNew,
    UsageError,
)
from mentis.ledger.verify import verify_chain
from mentis.ports.entries import Stamp
from mentis.stores.postgres.database import CONNECTIONS, PostgresDatabase
from mentis.stores.postgres.faults import translate
from mentis.stores.postgres.ledger import PostgresLedger
from mentis.stores.postgres.memories import PostgresMemories
from mentis.stores.postgres.migrations import MIGRATIONS
from mentis.values.cognition import Memory
from mentis.values.entry import Draft
from mentis.values.memories import MemoryListing
from mentis.values.part import TextPart
from mentis.values.turn import Turn

if TYPE_CHECKING:
    import psycopg

TRIGGER = """
CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER t BEFORE INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION f()
"""


def note(n: int) -> Draft:
    return Draft("note", "test", {"n": n})


def test_what_was_kept_is_there_when_the_database_is_opened_again(
    postgres_url: str, schema: str, stamp: Stamp
) -> None:
    for n in range(2):
        with PostgresDatabase(postgres_url, schema=schema) as database:
            PostgresLedger(database).append("ada", [note(n)], stamp)
            assert PostgresLedger(database).count("ada") == n + 1


def test_a_newer_schema_is_refused_and_left_as_it_is(
    postgres_url: str, schema: str, postgres: PostgresDatabase
) -> None:
    with postgres.session() as connection:
        connection.execute("UPDATE version SET number = 99")
    with pytest.raises(StoreTooNew, match="has schema 99"):
        PostgresDatabase(postgres_url, schema=schema)


def go_back(connection: psycopg.Connection[Any], version: int) -> None:
    """To an empty schema as it was then."""
    for (table,) in connection.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    ).fetchall():
        if table != "version":
            connection.execute(f"DROP TABLE {table}".encode())
    for step in MIGRATIONS[:version]:
        for statement in step:
            connection.execute(statement.encode())
    connection.execute("UPDATE version SET number = %s", (version,))


def test_memories_that_were_there_before_lists_are_listed(
    postgres_url: str, schema: str, postgres: PostgresDatabase
) -> None:
    kept = Memory("a", "Tea at five", kind="fact", time="2026-01-03")
    with postgres.session() as connection:
        go_back(connection, 6)
        row = ("ada", "a", to_json(kept).decode(), "", None, 1)
        connection.execute("INSERT INTO memories VALUES (%s, %s, %s, %s, %s, %s)", row)
    with PostgresDatabase(postgres_url, schema=schema) as database:
        listing = MemoryListing(kinds=("fact",), words=("tea",), order="newest")
        assert PostgresMemories(database).page("ada", listing) == (kept,)


def test_a_lease_that_somebody_held_is_still_held_when_leases_have_purposes(
    postgres_url: str, schema: str, postgres: PostgresDatabase
) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    with postgres.session() as connection:
        go_back(connection, 5)  # when an agent had one lease
        for agent in ("ada", "ada#health"):
            row = (agent, "watcher elsewhere:7 a", 7, (now + timedelta(seconds=30)).isoformat(), 0)
            connection.execute("INSERT INTO leases VALUES (%s, %s, %s, %s, %s)", row)
    with PostgresDatabase(postgres_url, schema=schema) as database:
        ledger = PostgresLedger(database)
        held = ledger.lease("ada", "consume")
        assert held is not None
        assert (held.owner, held.fence) == ("watcher elsewhere:7 a", 7)
        assert ledger.take_lease("ada", "consume", "me", now=now, seconds=30) == held
        assert database.read("SELECT count(*) FROM leases") == [(1,)]


def test_many_at_once_make_one_schema(postgres_url: str, schema: str) -> None:
    with ThreadPoolExecutor(4) as pool, ExitStack() as stack:
        futures = [pool.submit(PostgresDatabase, postgres_url, schema=schema) for _ in range(4)]
        for future in futures:
            stack.enter_context(future.result())


def test_two_connections_to_one_chain_take_turns(
    postgres_url: str, schema: str, stamp: Stamp
) -> None:
    # Two databases, as two processes have them: they share no lock of ours.
    with (
        PostgresDatabase(postgres_url, schema=schema) as one,
        PostgresDatabase(postgres_url, schema=schema) as two,
        ThreadPoolExecutor(8) as pool,
    ):
        ledgers = [PostgresLedger(one), PostgresLedger(two)]
        for n in range(40):
            pool.submit(ledgers[n % 2].append, "ada", [note(n)], stamp)
        pool.shutdown()
        verdict = verify_chain("ada", ledgers[0].entries("ada"))
    assert (verdict.findings, verdict.entries) == ((), 40)


def test_who_waits_too_long_for_the_chain_is_told_so(
    postgres_url: str, schema: str, postgres: PostgresDatabase, stamp: Stamp
) -> None:
    key = "SELECT pg_advisory_lock(hashtextextended(current_schema() || '/ada', 0))"
    with (
        PostgresDatabase(postgres_url, schema=schema, busy_seconds=0.05) as hasty,
        postgres.session() as connection,
    ):
        connection.execute(key)
        with pytest.raises(StoreLocked, match="another process is writing"):
            PostgresLedger(hasty).append("ada", [note(1)], stamp)
        # Another agent's chain is free.
        PostgresLedger(hasty).append("bob", [note(1)], stamp)
        connection.execute("SELECT pg_advisory_unlock_all()")


def test_a_chain_that_somebody_else_holds_does_not_hold_up_the_others(
    postgres: PostgresDatabase, stamp: Stamp
) -> None:
    key = "SELECT pg_advisory_lock(hashtextextended(current_schema() || '/ada', 0))"
    ledger = PostgresLedger(postgres)
    with ThreadPoolExecutor(8) as pool, postgres.session() as connection:
        connection.execute(key)
        held = [pool.submit(ledger.append, "ada", [note(n)], stamp) for n in range(4)]
        for n in range(4):
            ledger.append("bob", [note(n)], stamp)
        assert not any(append.done() for append in held)
        connection.execute("SELECT pg_advisory_unlock_all()")
    assert (ledger.count("ada"), ledger.count("bob")) == (4, 4)


def test_a_row_the_server_refuses_is_refused_to_the_one_who_brings_it(
    postgres: PostgresDatabase, stamp: Stamp
) -> None:
    ledger = PostgresLedger(postgres)
    drafts = [note(n) for n in range(15)] + [Draft("note", "no text\0 for PostgreSQL", {})]
    with ThreadPoolExecutor(16) as pool:
        appends = [
            pool.submit(ledger.append, f"agent-{n % 4}", [draft], stamp)
            for n, draft in enumerate(drafts)
        ]
    failed = [append.exception() for append in appends]
    assert [n for n, error in enumerate(failed) if error] == [15]
    assert isinstance(failed[15], MentisError)
    assert sum(ledger.count(agent) for agent in ledger.agents()) == 15


def test_snapshots_take_no_place_from_those_who_write(
    postgres_url: str, schema: str, stamp: Stamp
) -> None:
    with PostgresDatabase(postgres_url, schema=schema, busy_seconds=0.05) as database:
        ledger = PostgresLedger(database)
        with ExitStack() as stack:
            stills = [stack.enter_context(ledger.snapshot()) for _ in range(CONNECTIONS + 1)]
            ledger.append("ada", [note(1)], stamp)
            assert (ledger.count("ada"), stills[0].count("ada")) == (1, 0)
    with pytest.raises(UsageError, match="is closed"), ledger.snapshot():
        pass


def test_connections_the_server_ended_are_replaced(
    postgres: PostgresDatabase, stamp: Stamp
) -> None:
    ledger = PostgresLedger(postgres)
    ledger.append("ada", [note(1)], stamp)
    with postgres.session() as connection:
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> %s"
        with postgres.session() as second:
            mine = connection.info.backend_pid
            connection.execute(f"{others} AND pid = %s", (mine, second.info.backend_pid))
    ledger.append("ada", [note(2)], stamp)
    assert ledger.count("ada") == 2


def test_a_connection_that_is_lost_on_the_way_keeps_nothing_and_the_next_append_works(
    postgres_url: str, schema: str, postgres: PostgresDatabase, stamp: Stamp
) -> None:
    ledger = PostgresLedger(postgres)
    ledger.append("ada", [note(1)], stamp)

    def cut(agent: str, head: object, draft: Draft) -> object:
        with PostgresDatabase(postgres_url, schema=schema) as other:
            other.read(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND state = 'idle in transaction'"
            )
        return stamp(agent, None, draft)

    with pytest.raises(StoreDown):
        ledger.append("ada", [note(2)], cut)  # pyright: ignore[reportArgumentType]  # see above
    ledger.append("ada", [note(3)], stamp)
    assert [entry.body["n"] for entry in ledger.entries("ada")] == [1, 3]


def test_a_server_that_is_not_there_is_down_and_the_password_is_not_told() -> None:
    with pytest.raises(StoreDown) as caught:
        PostgresDatabase("postgresql://me:hunter2@127.0.0.1:1/none", busy_seconds=2)
    assert caught.value.message.startswith("PostgreSQL 127.0.0.1/none: there is no connection")
    assert "hunter2" not in repr(caught.value.as_problem())


@pytest.mark.parametrize("url", ["http://x/hunter2", "not an address hunter2"])
def test_an_address_that_is_none_is_a_matter_of_settings(url: str) -> None:
    with pytest.raises(SettingsError, match="is not the address") as caught:
        PostgresDatabase(url)
    assert "hunter2" not in repr(caught.value.as_problem())


def test_a_database_that_does_not_exist_is_told_by_its_name(postgres_url: str) -> None:
    with pytest.raises(StoreDown, match='"nowhere" does not exist'):
        PostgresDatabase(postgres_url.replace("/postgres?", "/nowhere?"))


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(EngineMissing) as caught:
        PostgresDatabase("postgresql:///x")
    assert "mentis[postgres]" in caught.value.hint


def test_a_closed_database_says_so(postgres: PostgresDatabase) -> None:
    postgres.close()
    with pytest.raises(UsageError, match="is closed"):
        postgres.read("SELECT 1")


def test_tables_that_are_gone_are_damage(postgres: PostgresDatabase, stamp: Stamp) -> None:
    with postgres.session() as connection:
        connection.execute("DROP TABLE ledger")
    with pytest.raises(StoreDamaged):
        PostgresLedger(postgres).append("ada", [note(1)], stamp)


def test_a_changed_row_is_named_by_verification(postgres: PostgresDatabase, stamp: Stamp) -> None:
    ledger = PostgresLedger(postgres)
    ledger.append("ada", [note(n) for n in range(4)], stamp)
    with postgres.session() as connection:
        connection.execute("UPDATE ledger SET source = 'somebody' WHERE idx = 2")
    (finding, *_) = verify_chain("ada", ledger.entries("ada")).findings
    assert (finding.index, finding.column) == (2, "hash")


def test_more_than_the_connections_there_are_wait_for_one(
    postgres: PostgresDatabase, stamp: Stamp
) -> None:
    ledger = PostgresLedger(postgres)
    with ThreadPoolExecutor(40) as pool:
        for n in range(40):
            pool.submit(ledger.append, f"agent-{n}", [note(n)], stamp)
    assert len(ledger.agents()) == 40


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (None, StoreDown),
        ("08006", StoreDown),
        ("57P01", StoreDown),
        ("53300", StoreDown),
        ("53100", StoreFull),
        ("55P03", StoreLocked),
        ("40001", StoreLocked),
        ("28P01", SettingsError),
        ("22021", BadInput),
        ("23505", StoreConflict),
        ("42P01", StoreDamaged),
        ("25006", StoreError),
        ("XX000", StoreError),
    ],
)
def test_every_failure_of_the_server_becomes_one_of_ours(
    code: str | None, kind: type[MentisError]
) -> None:
    translated = translate(Exception("words\nmore"), code=code, where="PostgreSQL x/y")
    assert type(translated) is kind
    assert translated.message.startswith("PostgreSQL x/y: ")
    assert "more" not in translated.message


def test_what_the_driver_refuses_to_send_is_no_server_that_is_down(
    postgres: PostgresDatabase,
) -> None:
    with pytest.raises(BadInput, match="cannot be kept there"):
        PostgresLedger(postgres).find_delivery("ada", "a\0b")


def test_a_lease_survives_the_round_trip_with_its_zone(postgres: PostgresDatabase) -> None:
    now = datetime(2026, 1, 1, 12, 30, 0, 123456, tzinfo=UTC)
    ledger = PostgresLedger(postgres)
    assert ledger.take_lease("ada", "consume", "one", now=now, seconds=1.5) == ledger.lease(
        "ada", "consume"
    )


def test_what_the_server_keeps_of_an_erased_value_is_told(
    postgres: PostgresDatabase, stamp: Stamp
) -> None:
    ledger = PostgresLedger(postgres)
    ledger.append("ada", [Draft("note", "test", {"secret": "s"})], stamp)
    assert ledger.remains() == ()
    ledger.erase("ada", 0, ["secret"], draft=Draft("erasure", "test", {}), stamp=stamp)
    told = " ".join(ledger.remains())
    assert all(word in told for word in ("VACUUM FULL", "write-ahead log", "backups"))


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("CREATE RULE r AS ON INSERT TO ledger DO INSTEAD NOTHING", "ledger has 'rule r'"),
        ("ALTER TABLE ledger ENABLE ROW LEVEL SECURITY", "with row security"),
        ("ALTER TABLE dropped ADD COLUMN more TEXT", "dropped has 'column more text'"),
        ("CREATE INDEX i ON ledger (time)", "INDEX i"),
        ("ALTER TABLE ledger DROP CONSTRAINT ledger_pkey", "ledger lacks .* ledger_pkey"),
        ("ALTER TABLE ledger RENAME TO l; CREATE VIEW ledger AS SELECT * FROM l", "ledger has"),
        ("CREATE TABLE child () INHERITS (ledger)", "ledger has 'inheritance'"),
        ("ALTER TABLE ledger ADD CHECK (idx < 9)", "ledger has 'constraint"),
        (TRIGGER, "ledger has 'trigger t'"),
        ("CREATE RULE r AS ON DELETE TO marks DO INSTEAD NOTHING", "marks has 'rule r'"),
        ("DROP INDEX memory_content", "memories lacks .* memory_content"),
        ("CREATE RULE r AS ON DELETE TO memory_vectors DO INSTEAD NOTHING", "memory_vectors has"),
        ("DROP TABLE memory_standing", "memory_standing lacks 'table'"),
    ],
)
def test_tables_that_somebody_changed_are_refused(
    postgres_url: str, schema: str, postgres: PostgresDatabase, *, statement: str, named: str
) -> None:
    PostgresDatabase(postgres_url, schema=schema).close()
    with postgres.session() as connection:
        connection.execute(statement.encode())
    with pytest.raises(StoreDamaged, match=named):
        PostgresDatabase(postgres_url, schema=schema)


AFTERWARDS = """
CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS
'BEGIN UPDATE ledger SET time = ''x'' WHERE agent = NEW.agent AND idx = NEW.idx; RETURN NEW; END';
CREATE TRIGGER t AFTER INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION f()
"""


@pytest.mark.parametrize("statement", [TRIGGER, AFTERWARDS])
def test_an_entry_that_a_trigger_swallows_or_changes_was_not_recorded(
    postgres: PostgresDatabase, stamp: Stamp, statement: str
) -> None:
    ledger = PostgresLedger(postgres)
    ledger.append("ada", [note(1)], stamp)
    with postgres.session() as connection:
        connection.execute(statement.encode())
    with pytest.raises(StoreDamaged, match="did not keep entry 1"):
        ledger.append("ada", [note(2)], stamp)
    assert ledger.count("ada") == 1


@pytest.mark.parametrize(
    "instead", ["NOTHING", "INSERT INTO leases VALUES ('x', 'x', 1, 'x', 0, 'consume')"]
)
def test_a_rule_cannot_come_between_an_entry_and_the_ledger(
    postgres: PostgresDatabase, stamp: Stamp, instead: str
) -> None:
    ledger = PostgresLedger(postgres)
    ledger.append("ada", [note(1)], stamp)
    with postgres.session() as connection:
        connection.execute(f"CREATE RULE r AS ON INSERT TO ledger DO INSTEAD {instead}".encode())
    (entry,) = ledger.append("ada", [note(2)], stamp)
    assert (ledger.find("ada", 1), ledger.lease("x", "consume")) == (entry, None)


READY = "UPDATE pg_index SET indisready = %s WHERE indexrelid = %s::regclass"


@pytest.mark.parametrize("index", ["ledger_delivery", "ledger_pkey"])
def test_a_row_that_its_index_does_not_know_is_damage_though_it_can_be_read(
    postgres: PostgresDatabase, stamp: Stamp, index: str
) -> None:
    ledger = PostgresLedger(postgres)
    ledger.append("ada", [Draft("note", "test", {}, delivery=f"mail-{n}") for n in range(4)], stamp)
    ledger.append("ada", [Draft("note", "test", {})], stamp)
    assert ledger.damage() == ()
    with postgres.session() as connection:
        connection.execute(READY, (False, index))
        connection.execute("UPDATE ledger SET delivery = 'mail-9' WHERE idx = 2")
        connection.execute(READY, (True, index))
    assert ledger.damage() == (f"ledger: rows missing from index {index}: 1",)


def test_a_turn_that_its_index_does_not_know_is_damage_as_well(
    postgres: PostgresDatabase,
) -> None:
    ledger = PostgresLedger(postgres)
    for text in ("one", "two"):
        ledger.add_turn("ada", "s", Turn("user", (TextPart(text),)))
    assert ledger.damage() == ()
    with postgres.session() as connection:
        connection.execute(READY, (False, "turns_pkey"))
        connection.execute("UPDATE turns SET number = 7 WHERE number = 1")
        connection.execute(READY, (True, "turns_pkey"))
    assert ledger.damage() == ("turns: rows missing from index turns_pkey: 1",)
