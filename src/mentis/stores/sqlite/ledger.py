"""The record of agents in SQLite. Appends that wait together share one sync of the disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TypeVar

from mentis.errors import MentisError
from mentis.stores.group import GroupCommit
from mentis.stores.rows import COLUMNS, Row
from mentis.stores.session import SqlTransaction
from mentis.stores.sql_inventory import Execute, Salts, SqlInventory
from mentis.stores.sql_ledger import Read, SqlLedger
from mentis.stores.sql_turns import TURN_TABLES

from .database import Database, fetch
from .migrations import INVENTORY

T = TypeVar("T")
_TABLES = ("ledger", "dropped", "checkpoints", "leases", "marks", *TURN_TABLES)
_INSERT = (
    f"INSERT INTO ledger ({', '.join(COLUMNS)})"  # noqa: S608 - constants
    f" VALUES ({', '.join('?' for _ in COLUMNS)})"
)


class SqliteLedger(SqlLedger):
    def __init__(self, database: Database) -> None:
        group = GroupCommit(_Transactions(database))
        super().__init__(_SqliteEngine(database, group))
        self._group = group

    @property
    def inventory(self) -> SqlInventory:
        """Of what is kept in the same file, also where the record is elsewhere."""
        return self.inventories[0]

    @property
    def waiting(self) -> int:
        """How many appends wait behind the one that is committed just now."""
        return self._group.waiting


class _SqliteEngine:
    """One writer at a time for the whole file, so all agents share one group."""

    def __init__(self, database: Database, group: GroupCommit[_Session]) -> None:
        self._database = database
        self._group = group

    @property
    def salts(self) -> Salts:
        return self._database.salts

    def read(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        return self._database.read(statement, parameters)

    def together(self) -> AbstractContextManager[None]:
        return self._database.together()

    def snapshot(self) -> AbstractContextManager[Read]:
        return self._database.snapshot()

    def commit(self, agent: str, work: Callable[[SqlTransaction], T]) -> T:  # noqa: ARG002 - one group
        return self._group.run(work)

    def commit_unsynced(self, agent: str, work: Callable[[SqlTransaction], T]) -> T:  # noqa: ARG002 - one file
        with self._database.write(synced=False) as connection:
            session = _Session(self._database, connection)
            done = work(session)
            session.finish()
            return done

    @contextmanager
    def write_inventory(self, *, synced: bool) -> Generator[Execute]:
        with self._database.write(synced=synced) as connection:
            yield partial(fetch, connection)

    def notes(self) -> bool:
        return self._database.read("PRAGMA user_version")[0][0] > INVENTORY

    def forget(self) -> tuple[str, ...]:
        # Whoever erases keeps others from it, so nobody who reads is waited for here.
        if self._database.fold(wait=False):
            return ()
        path = self._database.path
        return (f"{path}-wal, until nobody reads the database and it is written again",)

    def damage(self) -> tuple[str, ...]:
        return self._database.damage(_TABLES)

    def close(self) -> None:
        """The database is the home's, and others use it."""


class _Session(SqlTransaction):
    def __init__(self, database: Database, connection: sqlite3.Connection) -> None:
        super().__init__()
        self._database = database
        self._connection = connection

    def run(self, statement: str, parameters: Sequence[object]) -> list[Row]:
        try:
            return fetch(self._connection, statement, parameters)
        except sqlite3.Error as error:
            raise self._fault(error) from error

    def run_insert(self, rows: Sequence[Row]) -> None:
        try:
            self._connection.executemany(_INSERT, rows)
        except sqlite3.Error as error:
            raise self._fault(error) from error

    def _fault(self, error: sqlite3.Error) -> MentisError:
        self.stands = False
        return self._database.fault(error)


class _Transactions:
    def __init__(self, database: Database) -> None:
        self._database = database

    @contextmanager
    def begin(self, keys: Collection[str]) -> Generator[_Session]:  # noqa: ARG002 - one writer
        with self._database.write() as connection:
            session = _Session(self._database, connection)
            yield session
            session.finish()
