"""Memories in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from mentis.errors import StoreDamaged
from mentis.stores.rows import Row
from mentis.stores.sql_inventory import Salts
from mentis.stores.sql_memories import SqlMemories

from .database import Database, fetch


class SqliteMemories(SqlMemories):
    def __init__(self, database: Database) -> None:
        super().__init__(_Engine(database))


class _Engine:
    vector = "vector"
    position = "instr"

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        return self._database.read(statement, parameters)

    @contextmanager
    def write(self, agent: str) -> Generator[_Work]:
        with self._database.write() as connection:
            yield _Work(connection, self._database.salts)

    def pack(self, data: bytes) -> object:
        return data

    def unpack(self, cell: object) -> bytes:
        if not isinstance(cell, bytes):
            raise StoreDamaged(
                f"a vector in the database is {type(cell).__name__}",
                hint="somebody changed it; put a backup in its place",
            )
        return cell

    def forget(self) -> tuple[str, ...]:
        """Deleting has overwritten the pages; what the -wal file still holds goes here."""
        if self._database.fold():
            return ()
        path = self._database.path
        return (f"{path}-wal, until nobody reads the database and it is written again",)

    # ruff: noqa: ARG002 - it is the port that wants them
    def nearest(
        self, agent: str, fingerprint: str, query: Sequence[float], count: int
    ) -> list[Row] | None:
        """It cannot search by vectors."""
        return None

    def close(self) -> None:
        """The database is the home's, and others use it."""


class _Work:
    def __init__(self, connection: sqlite3.Connection, salts: Salts) -> None:
        self._connection = connection
        self.salts = salts

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        return fetch(self._connection, statement, parameters)
