"""History of edited things in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from mentis.stores.rows import Row
from mentis.stores.sql_inventory import Salts
from mentis.stores.sql_revisions import SqlRevisions

from .database import Database, fetch


class SqliteRevisions(SqlRevisions):
    def __init__(self, database: Database) -> None:
        super().__init__(_Engine(database))


class _Engine:
    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def salts(self) -> Salts:
        return self._database.salts

    def read(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        return self._database.read(statement, parameters)

    # ruff: noqa: ARG002 - one writer at a time, whatever the key
    @contextmanager
    def write(self, key: str) -> Generator[_Work]:
        with self._database.write() as connection:
            yield _Work(connection)


class _Work:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        return fetch(self._connection, statement, parameters)
