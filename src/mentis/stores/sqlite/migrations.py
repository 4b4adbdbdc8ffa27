"""The schema, as numbered steps. A step is never changed once released; a new one follows it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from typing import Any

from mentis.stores.memory_rows import LIST_COLUMNS, list_cells_of
from mentis.stores.sql_inventory import Salts, noted_rows

# "MNTS", in the header of every database file of ours.
APPLICATION_ID = 0x4D4E5453


def _create_tables(connection: sqlite3.Connection) -> None:
    for statement in _TABLES:
        connection.execute(statement)


_TABLES = (
    """
    CREATE TABLE ledger (
        agent TEXT NOT NULL,
        idx INTEGER NOT NULL,
        time TEXT NOT NULL,
        source TEXT NOT NULL,
        kind TEXT NOT NULL,
        ruleset TEXT,
        prev TEXT,
        fields TEXT NOT NULL,
        hash TEXT NOT NULL,
        body TEXT NOT NULL,
        salts TEXT NOT NULL,
        recipe TEXT NOT NULL,
        delivery TEXT,
        PRIMARY KEY (agent, idx),
        UNIQUE (agent, hash),
        UNIQUE (agent, delivery)
    )
    """,
    """
    CREATE TABLE turns (
        id INTEGER PRIMARY KEY,
        agent TEXT NOT NULL,
        session TEXT NOT NULL,
        number INTEGER NOT NULL,
        turn TEXT NOT NULL,
        UNIQUE (agent, session, number)
    )
    """,
    """
    CREATE TABLE memories (
        agent TEXT NOT NULL,
        id TEXT NOT NULL,
        memory TEXT NOT NULL,
        PRIMARY KEY (agent, id)
    )
    """,
    """
    CREATE TABLE states (
        agent TEXT NOT NULL PRIMARY KEY,
        revision INTEGER NOT NULL,
        state TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE revisions (
        key TEXT NOT NULL,
        number INTEGER NOT NULL,
        content TEXT NOT NULL,
        digest TEXT NOT NULL,
        time TEXT NOT NULL,
        words TEXT NOT NULL,
        PRIMARY KEY (key, number)
    )
    """,
)


def _add_media(connection: sqlite3.Connection) -> None:
    """The bytes of attachments, each content once, and which part of which turn they are."""
    for statement in _MEDIA:
        connection.execute(statement)


_MEDIA = (
    """
    CREATE TABLE media (
        agent TEXT NOT NULL,
        digest TEXT NOT NULL,
        data BLOB NOT NULL,
        PRIMARY KEY (agent, digest)
    )
    """,
    """
    CREATE TABLE turn_media (
        agent TEXT NOT NULL,
        session TEXT NOT NULL,
        number INTEGER NOT NULL,
        part INTEGER NOT NULL,
        digest TEXT NOT NULL,
        PRIMARY KEY (agent, session, number, part)
    )
    """,
)


def _add_rotation_checkpoints_and_leases(connection: sqlite3.Connection) -> None:
    for name, columns in _LATER_TABLES.items():
        connection.execute(f"CREATE TABLE {name} ({columns})")


def _lighten_ledger(connection: sqlite3.Connection) -> None:
    """Every index is one more page for a sync to write. The chain itself keeps hashes apart."""
    for statement in _LIGHTER_LEDGER:
        connection.execute(statement)


_LIGHTER_LEDGER = (
    """
    CREATE TABLE lighter (
        agent TEXT NOT NULL,
        idx INTEGER NOT NULL,
        time TEXT NOT NULL,
        source TEXT NOT NULL,
        kind TEXT NOT NULL,
        ruleset TEXT,
        prev TEXT,
        fields TEXT NOT NULL,
        hash TEXT NOT NULL,
        body TEXT NOT NULL,
        salts TEXT NOT NULL,
        recipe TEXT NOT NULL,
        delivery TEXT,
        PRIMARY KEY (agent, idx)
    )
    """,
    "INSERT INTO lighter SELECT * FROM ledger ORDER BY agent, idx",
    "DROP TABLE ledger",
    "ALTER TABLE lighter RENAME TO ledger",
    """
    CREATE UNIQUE INDEX ledger_delivery ON ledger (agent, delivery) WHERE delivery IS NOT NULL
    """,
)

# What a dropped entry leaves: its hash for proofs, and the delivery that is never taken again.
_LATER_TABLES = {
    "dropped": """
        agent TEXT NOT NULL,
        idx INTEGER NOT NULL,
        hash TEXT NOT NULL,
        delivery TEXT,
        PRIMARY KEY (agent, idx),
        UNIQUE (agent, delivery)
    """,
    "checkpoints": """
        id INTEGER PRIMARY KEY,
        agent TEXT NOT NULL,
        size INTEGER NOT NULL,
        note TEXT NOT NULL
    """,
    "leases": """
        agent TEXT NOT NULL PRIMARY KEY,
        owner TEXT NOT NULL,
        fence INTEGER NOT NULL,
        expires TEXT NOT NULL,
        released INTEGER NOT NULL
    """,
}


def _add_marks(connection: sqlite3.Connection) -> None:
    """What stands open beside the ledger, set and taken away together with its entries."""
    connection.execute(f"CREATE TABLE marks ({_MARKS}) WITHOUT ROWID")


_MARKS = """
    agent TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (agent, kind, key)
"""


def _extend_memories(connection: sqlite3.Connection) -> None:
    """Memories learn what they are the same as and when they changed; vectors lie beside them."""
    connection.execute("ALTER TABLE memories ADD COLUMN text TEXT NOT NULL DEFAULT ''")
    connection.execute("ALTER TABLE memories ADD COLUMN content TEXT")
    connection.execute("ALTER TABLE memories ADD COLUMN revision INTEGER NOT NULL DEFAULT 1")
    connection.execute("CREATE INDEX memory_content ON memories (agent, content, id)")
    connection.execute("CREATE INDEX memory_revision ON memories (agent, revision)")
    connection.execute("""
        CREATE TABLE memory_vectors (
            agent TEXT NOT NULL,
            fingerprint TEXT NOT NULL,
            id TEXT NOT NULL,
            text TEXT NOT NULL,
            vector BLOB NOT NULL,
            revision INTEGER NOT NULL,
            PRIMARY KEY (agent, fingerprint, id)
        )
    """)
    connection.execute("""
        CREATE TABLE memory_standing (
            agent TEXT NOT NULL PRIMARY KEY,
            revision INTEGER NOT NULL,
            forgotten INTEGER NOT NULL
        )
    """)
    connection.execute("INSERT INTO memory_standing SELECT DISTINCT agent, 1, 0 FROM memories")
    for agent, name, memory in connection.execute(
        "SELECT agent, id, memory FROM memories"
    ).fetchall():
        told = hashlib.sha256(json.loads(memory)["text"].encode()).hexdigest()
        statement = "UPDATE memories SET text = ? WHERE agent = ? AND id = ?"
        connection.execute(statement, (f"sha256:{told}", agent, name))


def _keep_every_state(connection: sqlite3.Connection) -> None:
    """States become revisions, so that each is kept. Weights were shares of 1."""
    for agent, state in connection.execute("SELECT agent, state FROM states").fetchall():
        content = _newer_state(state)
        connection.execute(
            "INSERT INTO revisions (key, number, content, digest, time, words)"
            " SELECT ?, 1, ?, ?, strftime('%Y-%m-%dT%H:%M:%S.000000Z'), 'migrated'",
            (f"state:{agent}", content, f"sha256:{hashlib.sha256(content.encode()).hexdigest()}"),
        )
    connection.execute("DROP TABLE states")


def _newer_state(text: str) -> str:
    """A state that cannot be read stays as it is; whoever loads it is told."""
    try:
        state = json.loads(text)
        waiting: list[dict[str, Any]] = [*state["goals"]]
        while waiting:
            goal = waiting.pop()
            goal["weight"] = round(goal["weight"] * 1000)
            waiting += goal["children"]
        entries = [{"text": entry} for entry in state["l1_memory"]]
    except (ValueError, KeyError, TypeError):
        return text
    user = {"id": "user-root", "text": "user goals", "weight": 0, "children": state["goals"]}
    return json.dumps({"goals": {"user": user}, "l1_memory": entries, "revision": 1})


def _name_endings(connection: sqlite3.Connection) -> None:
    """By which ending a turn was written, so that none is carried over twice."""
    connection.execute("ALTER TABLE turns ADD COLUMN ending TEXT")


def _name_purposes_of_leases(connection: sqlite3.Connection) -> None:
    """One lease for each agent and purpose; there was one, to consume, and one to ask for health.

    Whoever holds it keeps it.
    """
    connection.execute("ALTER TABLE leases RENAME TO former_leases")
    connection.execute(f"CREATE TABLE leases ({_LEASES}) WITHOUT ROWID")
    connection.execute(f"{_FORMER_LEASES} FROM former_leases WHERE agent NOT LIKE '%#health'")
    connection.execute("DROP TABLE former_leases")


_LEASES = """
    agent TEXT NOT NULL,
    purpose TEXT NOT NULL,
    owner TEXT NOT NULL,
    fence INTEGER NOT NULL,
    expires TEXT NOT NULL,
    released INTEGER NOT NULL,
    PRIMARY KEY (agent, purpose)
"""
_FORMER_LEASES = (
    "INSERT INTO leases (agent, purpose, owner, fence, expires, released)"
    " SELECT agent, 'consume', owner, fence, expires, released"
)


def _list_memories(connection: sqlite3.Connection) -> None:
    """What lists of memories are made by, in columns and an index, so that a page reads a page."""
    for name in LIST_COLUMNS:
        connection.execute(f"ALTER TABLE memories ADD COLUMN {name} TEXT NOT NULL DEFAULT ''")
    rows = connection.execute("SELECT agent, id, memory FROM memories").fetchall()
    columns = ", ".join(f"{name} = ?" for name in LIST_COLUMNS)
    connection.executemany(
        f"UPDATE memories SET {columns} WHERE agent = ? AND id = ?",  # noqa: S608 - constants
        [(*list_cells_of(memory), agent, name) for agent, name, memory in rows],
    )
    connection.execute("CREATE INDEX memory_list ON memories (agent, state, time, id, kind, worth)")


def _name_authors(connection: sqlite3.Connection) -> None:
    """Who saved a revision; nobody knows it of older ones."""
    connection.execute("ALTER TABLE revisions ADD COLUMN author TEXT NOT NULL DEFAULT ''")


def _take_inventory(connection: sqlite3.Connection) -> None:
    """What is kept beside the record waits for the entry that binds it, what is there already
    too.
    """
    for statement in _INVENTORY:
        connection.execute(statement)


def _note_all(connection: sqlite3.Connection, salts: Salts) -> None:
    memories = connection.execute("SELECT agent, id, memory FROM memories ORDER BY agent, id")
    revisions = connection.execute(
        "SELECT key, number, content, digest, time, words, author FROM revisions"
        " ORDER BY key, number"
    )
    connection.executemany(
        "INSERT INTO inventory (scope, kind, name, salt, leaf, bound) VALUES (?, ?, ?, ?, ?, '')",
        list(noted_rows(memories.fetchall(), revisions.fetchall(), salts)),
    )


# A number is never given twice, so the later of two notes has the greater one. `bound` is the agent
# whose record lists it; a gone item has neither salt nor leaf.
_INVENTORY = (
    """
    CREATE TABLE inventory (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        scope TEXT NOT NULL,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        salt TEXT,
        leaf TEXT,
        bound TEXT NOT NULL,
        UNIQUE (scope, kind, name)
    )
    """,
    "CREATE INDEX inventory_bound ON inventory (scope, bound)",
    """
    CREATE TABLE inventory_lists (
        digest TEXT NOT NULL PRIMARY KEY,
        items TEXT NOT NULL
    )
    """,
)


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    _create_tables,
    _add_media,
    _add_rotation_checkpoints_and_leases,
    _lighten_ledger,
    _add_marks,
    _extend_memories,
    _keep_every_state,
    _name_endings,
    _name_purposes_of_leases,
    _list_memories,
    _name_authors,
    _take_inventory,
)
VERSION = len(MIGRATIONS)
INVENTORY = MIGRATIONS.index(_take_inventory)  # the last version without
# What each of them changes, in words for whoever runs a home; `mentis upgrade` tells them.
NOTES: tuple[str, ...] = (
    "the tables of the record, the conversations, the memories and the persona files",
    "attachments are kept once each, beside the turns they belong to",
    "old parts of the record can be moved to files; checkpoints and leases are kept",
    "the record is written with fewer indexes, so each entry costs less",
    "what stands open (acts, deliveries) is kept beside the record",
    "memories know what they replace; their vectors are kept",
    "every state of a persona's mind is kept, not only the last",
    "a turn names the ending it was written by",
    "there is one lease for each purpose, not one in all",
    "lists of memories are read by the page",
    "a revision names who made it",
    "memories and revisions are bound by entries, so that a change beside Mentis shows",
)


def migrate(connection: sqlite3.Connection, version: int, salts: Salts) -> None:
    """Take a database from `version` to the newest, inside the caller's transaction."""
    for step in MIGRATIONS[version:]:
        step(connection)
    if version <= INVENTORY:
        _note_all(connection, salts)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def stand_in(connection: sqlite3.Connection, version: int) -> None:
    """Empty tables for what an older file does not have yet, where it may only be read."""
    missing = MIGRATIONS[version:]
    no_leases = _add_rotation_checkpoints_and_leases in missing
    tables = dict(_LATER_TABLES) if no_leases else {}
    if _add_marks in missing:
        tables["marks"] = _MARKS
    if _name_purposes_of_leases in missing:
        tables["leases"] = _LEASES
    media = _MEDIA if _add_media in missing else ()
    later = _INVENTORY[::2] if _take_inventory in missing else ()
    if tables or media or later:
        connection.execute("PRAGMA temp_store = MEMORY")
    for name, columns in tables.items():
        connection.execute(f"CREATE TEMP TABLE {name} ({columns})")
    if "leases" in tables and not no_leases:
        connection.execute(f"{_FORMER_LEASES} FROM main.leases")
    for statement in (*media, *later):
        connection.execute(statement.replace("CREATE TABLE", "CREATE TEMP TABLE"))
