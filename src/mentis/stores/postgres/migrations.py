"""The schema, as numbered steps. A step is never changed once released; a new one follows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mentis.stores.memory_rows import LIST_COLUMNS, list_cells_of
from mentis.stores.rows import Row
from mentis.stores.sql_inventory import Salts, noted_rows

if TYPE_CHECKING:
    import psycopg

# Texts compare by bytes, so that agents sort as they do everywhere else.
_CREATE_TABLES = (
    """
    CREATE TABLE ledger (
        agent TEXT COLLATE "C" NOT NULL,
        idx BIGINT NOT NULL,
        time TEXT NOT NULL,
        source TEXT NOT NULL,
        kind TEXT NOT NULL,
        ruleset TEXT,
        prev TEXT,
        fields TEXT NOT NULL,
        hash TEXT COLLATE "C" NOT NULL,
        body TEXT NOT NULL,
        salts TEXT NOT NULL,
        recipe TEXT NOT NULL,
        delivery TEXT COLLATE "C",
        PRIMARY KEY (agent, idx)
    )
    """,
    "CREATE UNIQUE INDEX ledger_delivery ON ledger (agent, delivery) WHERE delivery IS NOT NULL",
    """
    CREATE TABLE dropped (
        agent TEXT COLLATE "C" NOT NULL,
        idx BIGINT NOT NULL,
        hash TEXT NOT NULL,
        delivery TEXT COLLATE "C",
        PRIMARY KEY (agent, idx),
        UNIQUE (agent, delivery)
    )
    """,
    """
    CREATE TABLE checkpoints (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        agent TEXT COLLATE "C" NOT NULL,
        size BIGINT NOT NULL,
        note TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE leases (
        agent TEXT COLLATE "C" NOT NULL PRIMARY KEY,
        owner TEXT NOT NULL,
        fence BIGINT NOT NULL,
        expires TEXT NOT NULL,
        released INTEGER NOT NULL
    )
    """,
)

# What stands open beside the ledger, set and taken away together with its entries.
_ADD_MARKS = (
    """
    CREATE TABLE marks (
        agent TEXT COLLATE "C" NOT NULL,
        kind TEXT COLLATE "C" NOT NULL,
        key TEXT COLLATE "C" NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (agent, kind, key)
    )
    """,
)

# A vector is an array of float4: exact, and pgvector reads it where the server has that.
_ADD_MEMORIES = (
    """
    CREATE TABLE memories (
        agent TEXT COLLATE "C" NOT NULL,
        id TEXT COLLATE "C" NOT NULL,
        memory TEXT NOT NULL,
        text TEXT NOT NULL,
        content TEXT COLLATE "C",
        revision BIGINT NOT NULL,
        PRIMARY KEY (agent, id)
    )
    """,
    "CREATE INDEX memory_content ON memories (agent, content, id)",
    "CREATE INDEX memory_revision ON memories (agent, revision)",
    """
    CREATE TABLE memory_vectors (
        agent TEXT COLLATE "C" NOT NULL,
        fingerprint TEXT COLLATE "C" NOT NULL,
        id TEXT COLLATE "C" NOT NULL,
        text TEXT NOT NULL,
        vector REAL[] NOT NULL,
        revision BIGINT NOT NULL,
        PRIMARY KEY (agent, fingerprint, id)
    )
    """,
    """
    CREATE TABLE memory_standing (
        agent TEXT COLLATE "C" NOT NULL PRIMARY KEY,
        revision BIGINT NOT NULL,
        forgotten BIGINT NOT NULL
    )
    """,
)

# Of what is edited; the states of minds are such, too.
_ADD_REVISIONS = (
    """
    CREATE TABLE revisions (
        key TEXT COLLATE "C" NOT NULL,
        number BIGINT NOT NULL,
        content TEXT NOT NULL,
        digest TEXT NOT NULL,
        time TEXT NOT NULL,
        words TEXT NOT NULL,
        PRIMARY KEY (key, number)
    )
    """,
)

# The bytes of attachments, each content once, beside the turns whose parts they are.
_ADD_TURNS = (
    """
    CREATE TABLE turns (
        id BIGINT GENERATED ALWAYS AS IDENTITY,
        agent TEXT COLLATE "C" NOT NULL,
        session TEXT COLLATE "C" NOT NULL,
        number BIGINT NOT NULL,
        turn TEXT NOT NULL,
        PRIMARY KEY (agent, session, number)
    )
    """,
    """
    CREATE TABLE media (
        agent TEXT COLLATE "C" NOT NULL,
        digest TEXT COLLATE "C" NOT NULL,
        data BYTEA NOT NULL,
        PRIMARY KEY (agent, digest)
    )
    """,
    """
    CREATE TABLE turn_media (
        agent TEXT COLLATE "C" NOT NULL,
        session TEXT COLLATE "C" NOT NULL,
        number BIGINT NOT NULL,
        part BIGINT NOT NULL,
        digest TEXT COLLATE "C" NOT NULL,
        PRIMARY KEY (agent, session, number, part)
    )
    """,
)

# One lease for each agent and purpose; there was one, to consume, and one to ask for health.
_NAME_PURPOSES_OF_LEASES = (
    "DELETE FROM leases WHERE agent LIKE '%#health'",
    """ALTER TABLE leases ADD COLUMN purpose TEXT COLLATE "C" NOT NULL DEFAULT 'consume'""",
    "ALTER TABLE leases ALTER COLUMN purpose DROP DEFAULT",
    "ALTER TABLE leases DROP CONSTRAINT leases_pkey, ADD PRIMARY KEY (agent, purpose)",
)

# What lists of memories are made by, so that a page reads a page; `list_memories` fills them.
_LIST_MEMORIES = (
    *(
        f"""ALTER TABLE memories ADD COLUMN {name} TEXT COLLATE "C" NOT NULL DEFAULT ''"""
        for name in LIST_COLUMNS
    ),
    *(f"ALTER TABLE memories ALTER COLUMN {name} DROP DEFAULT" for name in LIST_COLUMNS),
    "CREATE INDEX memory_list ON memories (agent, state, time, id, kind, worth)",
)

# Who saved a revision; nobody knows it of older ones.
_NAME_AUTHORS = (
    "ALTER TABLE revisions ADD COLUMN author TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE revisions ALTER COLUMN author DROP DEFAULT",
)

# A number is never given twice. `take_inventory` notes what is there already.
_ADD_INVENTORY = (
    """
    CREATE TABLE inventory (
        number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        scope TEXT COLLATE "C" NOT NULL,
        kind TEXT COLLATE "C" NOT NULL,
        name TEXT COLLATE "C" NOT NULL,
        salt TEXT,
        leaf TEXT,
        bound TEXT COLLATE "C" NOT NULL,
        UNIQUE (scope, kind, name)
    )
    """,
    "CREATE INDEX inventory_bound ON inventory (scope, bound)",
    """
    CREATE TABLE inventory_lists (
        digest TEXT COLLATE "C" NOT NULL PRIMARY KEY,
        items TEXT NOT NULL
    )
    """,
)

# A home that lies here whole: what is too large for the record, and its files. A file that is gone
# stays as a row without data, so that whoever holds a copy of it learns that. One counter for all
# revisions of files, so that one number says whether anything changed.
_ADD_HOME = (
    """
    CREATE TABLE blobs (
        digest TEXT COLLATE "C" NOT NULL PRIMARY KEY,
        data BYTEA NOT NULL
    )
    """,
    """
    CREATE TABLE files (
        path TEXT COLLATE "C" NOT NULL PRIMARY KEY,
        data BYTEA,
        digest TEXT NOT NULL,
        runs INTEGER NOT NULL,
        revision BIGINT NOT NULL
    )
    """,
    "CREATE UNIQUE INDEX file_revision ON files (revision)",
)

# What waits for agents; the ring of an agent, due by the clock of the server; who serves here. That
# a message waits is a mark as well, which goes with the entry of its turn.
_ADD_INBOX = (
    """
    CREATE TABLE inbox (
        agent TEXT COLLATE "C" NOT NULL,
        id TEXT COLLATE "C" NOT NULL,
        number BIGINT GENERATED ALWAYS AS IDENTITY,
        session TEXT NOT NULL,
        stimulus TEXT NOT NULL,
        seal TEXT NOT NULL,
        time TIMESTAMPTZ NOT NULL,
        tries INTEGER NOT NULL,
        answer TEXT,
        PRIMARY KEY (agent, id)
    )
    """,
    "CREATE INDEX inbox_waiting ON inbox (agent, number) WHERE answer IS NULL",
    """
    CREATE TABLE rings (
        agent TEXT COLLATE "C" NOT NULL PRIMARY KEY,
        due TIMESTAMPTZ NOT NULL,
        number BIGINT NOT NULL,
        claim BIGINT NOT NULL,
        claimed BOOLEAN NOT NULL
    )
    """,
    "CREATE INDEX ring_due ON rings (due)",
    """
    CREATE TABLE workers (
        name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
        since TIMESTAMPTZ NOT NULL,
        seen TIMESTAMPTZ NOT NULL,
        serving INTEGER NOT NULL,
        draining BOOLEAN NOT NULL
    )
    """,
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    _CREATE_TABLES,
    _ADD_MARKS,
    _ADD_MEMORIES,
    _ADD_REVISIONS,
    _ADD_TURNS,
    _NAME_PURPOSES_OF_LEASES,
    _LIST_MEMORIES,
    _NAME_AUTHORS,
    _ADD_INVENTORY,
    _ADD_HOME,
    _ADD_INBOX,
)
VERSION = len(MIGRATIONS)
LISTS_MEMORIES = MIGRATIONS.index(_LIST_MEMORIES)  # the last version without
TAKES_INVENTORY = MIGRATIONS.index(_ADD_INVENTORY)


def list_memories(connection: psycopg.Connection[Row]) -> None:
    rows = connection.execute("SELECT agent, id, memory FROM memories").fetchall()
    cells = [(*list_cells_of(memory), agent, name) for agent, name, memory in rows]
    columns = ", ".join(f"{name} = %s" for name in LIST_COLUMNS)
    statement = f"UPDATE memories SET {columns} WHERE agent = %s AND id = %s"  # noqa: S608 - constants
    with connection.cursor() as cursor:
        cursor.executemany(statement.encode(), cells)


def take_inventory(connection: psycopg.Connection[Row], salts: Salts) -> None:
    memories = connection.execute(
        "SELECT agent, id, memory FROM memories ORDER BY agent, id"
    ).fetchall()
    revisions = connection.execute(
        "SELECT key, number, content, digest, time, words, author FROM revisions"
        " ORDER BY key, number"
    ).fetchall()
    statement = (
        "INSERT INTO inventory (scope, kind, name, salt, leaf, bound)"
        " VALUES (%s, %s, %s, %s, %s, '')"
    )
    with connection.cursor() as cursor:
        cursor.executemany(statement.encode(), list(noted_rows(memories, revisions, salts)))
