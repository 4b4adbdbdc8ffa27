"""History of edited things in PostgreSQL."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mentis.stores.rows import Row
from mentis.stores.sql_inventory import Salts
from mentis.stores.sql_revisions import SqlRevisions

from .database import PostgresDatabase

if TYPE_CHECKING:
    import psycopg

_TURN = """
SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '/revisions/' || %s::text, 0))
"""


class PostgresRevisions(SqlRevisions):
    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(_Engine(database))


class _Engine:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    @property
    def salts(self) -> Salts:
        return self._database.salts

    def read(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        return self._database.read(_spelled(statement), parameters)

    @contextmanager
    def write(self, key: str) -> Generator[_Work]:
        with self._database.session() as connection, connection.transaction():
            connection.execute(_TURN.encode(), (key,))
            yield _Work(connection)


class _Work:
    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        cursor = self._connection.execute(_spelled(statement).encode(), parameters)
        return cursor.fetchall() if cursor.description else []


def _spelled(statement: str) -> str:
    return statement.replace("?", "%s")
