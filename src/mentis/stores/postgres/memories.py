"""Memories in PostgreSQL. Where the server has pgvector, it can search by vectors itself."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from mentis.errors import StoreDamaged
from mentis.stores.rows import Row
from mentis.stores.sql_inventory import Salts
from mentis.stores.sql_memories import SqlMemories

from .database import PostgresDatabase

if TYPE_CHECKING:
    import psycopg

# Not the key of the ledger: whoever writes a memory does not hold up the record.
_TURN = """
SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '/memories/' || %s::text, 0))
"""
# Cosine distance; the type is found in whatever schema the extension was put.
_NEAREST = """
SELECT id, text, array_send(vector) FROM memory_vectors
WHERE agent = %s AND fingerprint = %s
ORDER BY vector::{schema}.vector OPERATOR({schema}.<=>) %s::real[]::{schema}.vector, id LIMIT %s
"""
_EXTENSION = """
SELECT quote_ident(nspname) FROM pg_extension
JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'vector'
"""
_REMAINS = (
    "unused space of the server's table files, until VACUUM FULL, which locks the tables",
    "the write-ahead log of the server and its archive, until they are recycled",
    "replicas and backups of the server",
)
# Of an array on the wire: dimensions, flags, type, length, lower bound; then length and number.
_HEADER = 20


class PostgresMemories(SqlMemories):
    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(_Engine(database))


class _Engine:
    vector = "array_send(vector)"
    position = "strpos"

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def read(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        return self._database.read(_spelled(statement), parameters)

    @contextmanager
    def write(self, agent: str) -> Generator[_Work]:
        with self._database.session() as connection, connection.transaction():
            connection.execute(_TURN.encode(), (agent,))
            yield _Work(connection, self._database.salts)

    def pack(self, data: bytes) -> object:
        numbers = array("f", data)
        if sys.byteorder == "big":
            numbers.byteswap()
        return list(numbers)

    def unpack(self, cell: object) -> bytes:
        if not isinstance(cell, bytes) or len(cell) < _HEADER:
            raise StoreDamaged(
                "a vector in the database cannot be read",
                hint="somebody changed it; put a backup in its place",
            )
        words = array("I", cell[_HEADER:])
        words.byteswap()
        return words[1::2].tobytes()

    def forget(self) -> tuple[str, ...]:
        """The old rows go; the server's own log and its backups are in its owner's hands."""
        self._database.vacuum("memories", "memory_vectors")
        return _REMAINS

    def nearest(
        self, agent: str, fingerprint: str, query: Sequence[float], count: int
    ) -> list[Row] | None:
        schema = self._database.read(_EXTENSION)
        if not schema:
            return None
        statement = _NEAREST.format(schema=schema[0][0])
        return self._database.read(statement, (agent, fingerprint, list(query), count))

    def close(self) -> None:
        self._database.close()


class _Work:
    def __init__(self, connection: psycopg.Connection[Row], salts: Salts) -> None:
        self._connection = connection
        self.salts = salts

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        cursor = self._connection.execute(_spelled(statement).encode(), parameters)
        return cursor.fetchall() if cursor.description else []


@cache
def _spelled(statement: str) -> str:
    return statement.replace("?", "%s")
