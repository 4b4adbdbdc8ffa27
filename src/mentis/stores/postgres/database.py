"""A PostgreSQL database and the connections to it, opened as they are needed.

psycopg is loaded by the first connection, never by an import of this module. A connection must
never be carried over a fork.
"""

from __future__ import annotations

import os
import select
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager, suppress
from importlib import import_module
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Any, LiteralString

from mentis.errors import EngineMissing, SettingsError, StoreLocked, StoreTooNew, UsageError
from mentis.stores import sql_inventory
from mentis.stores.rows import Row
from mentis.stores.sql_inventory import Salts

from .faults import translate
from .indexes import unfound_rows
from .migrations import (
    LISTS_MEMORIES,
    MIGRATIONS,
    TAKES_INVENTORY,
    VERSION,
    list_memories,
    take_inventory,
)
from .schema import check_schema

if TYPE_CHECKING:
    import psycopg

CONNECTIONS = 16
# The key under which processes take turns to bring a schema to the newest version.
_MIGRATION_LOCK = 0x4D4E5453
_PREPARE = "SELECT set_config('search_path', %s, false), set_config('lock_timeout', %s, false)"
# A server that acknowledges before it wrote would make a promise that is ours to keep.
_DURABLE = """
SELECT set_config('synchronous_commit', 'on', false)
WHERE current_setting('synchronous_commit') = 'off'
"""
# The first question is the moment that is seen.
_ONE_MOMENT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; SELECT 1"
# Rows are looked up through nothing but an index.
_BY_INDEX = "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off"


class PostgresDatabase:
    """One schema of one database, checked and brought to the newest version when it is opened.

    `own`: the owner said where it is, so that a password of the environment (PGPASSWORD, a service)
    may go there; one of `~/.pgpass` names its server and goes only to that.
    """

    def __init__(
        self,
        url: str,
        *,
        schema: str = "mentis",
        busy_seconds: float = 5.0,
        own: bool = True,
        salts: Salts | None = None,
    ) -> None:
        self.salts = salts or sql_inventory.random_salt
        self._psycopg = _load()
        self._url = url
        # libpq fills in from the environment what nobody gives, and an empty password is given.
        self._given = {} if own else {"password": ""}
        self._schema = self.schema = schema
        self._busy_seconds = busy_seconds
        self.where = self._name()
        self._lock = Lock()
        self._idle: list[psycopg.Connection[Row]] = []
        self._places = BoundedSemaphore(CONNECTIONS)
        self._closed = False
        self._users = 1
        self._process = os.getpid()
        try:
            with self.session() as connection:
                self._migrate(connection)
        except BaseException:
            self.close()
            raise

    def read(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        with self.session() as connection:
            return connection.execute(statement.encode(), parameters).fetchall()

    def vacuum(self, *tables: LiteralString) -> None:
        """Let go of old rows, unless somebody does just now."""
        with self.session() as connection:
            connection.execute(f"VACUUM (SKIP_LOCKED) {', '.join(tables)}".encode())

    def damage(self) -> tuple[str, ...]:
        """Rows of the record that an index does not lead to. What else ails it its owner sees."""
        with self.snapshot() as connection:
            connection.execute(_BY_INDEX)
            return tuple(unfound_rows(connection))

    @contextmanager
    def snapshot(self) -> Generator[psycopg.Connection[Row]]:
        """What is read over it is what is there now, as long as the block lasts.

        Over a connection of its own beside the others, so that nobody waits.
        """
        with (
            self.translate_errors(),
            closing(self._connect_open()) as connection,
            connection.transaction(),
        ):
            connection.execute(_ONE_MOMENT)
            yield connection

    def connect(self) -> psycopg.Connection[Row]:
        """One of the caller's own, beside the others: to listen on. The caller closes it."""
        with self.translate_errors():
            return self._connect_open()

    @contextmanager
    def session(self) -> Generator[psycopg.Connection[Row]]:
        """A connection of one's own for the length of the block; its errors become ours."""
        if not self._places.acquire(timeout=max(self._busy_seconds, 0.001)):
            raise StoreLocked(
                f"{self.where}: all {CONNECTIONS} connections are in use",
                hint="try again, or raise `store.busy_seconds`",
            )
        try:
            with self.translate_errors():
                connection = self._take()
                try:
                    yield connection
                finally:
                    self._give_back(connection)
        finally:
            self._places.release()

    @contextmanager
    def translate_errors(self) -> Generator[None]:
        try:
            yield
        except self._psycopg.Error as error:
            # What the driver refuses by itself has no code, and the server is not down.
            data = "22000" if isinstance(error, self._psycopg.DataError) else None
            raise translate(error, code=error.sqlstate or data, where=self.where) from error

    def share(self) -> bool:
        """One more user, who closes it too; False once it is closed, or belongs to a parent."""
        with self._lock:
            if self._closed or self._process != os.getpid():
                return False
            self._users += 1
            return True

    def close(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users > 0:
                return
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def __enter__(self) -> PostgresDatabase:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take(self) -> psycopg.Connection[Row]:
        with self._lock:
            self._refuse_closed()
            while self._idle:
                connection = self._idle.pop()
                if _is_fresh(connection):
                    return connection
                connection.close()
        return self._connect()

    def _connect_open(self) -> psycopg.Connection[Row]:
        with self._lock:
            self._refuse_closed()
        return self._connect()

    def _refuse_closed(self) -> None:
        if self._closed:
            raise UsageError(f"{self.where} is closed", hint="open it again, or close it later")

    def _give_back(self, connection: psycopg.Connection[Row]) -> None:
        with self._lock:
            if not (self._closed or connection.closed):
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self) -> psycopg.Connection[Row]:
        seconds = max(2, int(self._busy_seconds))  # less than 2 means for ever to libpq
        connection = self._psycopg.connect(
            self._url, autocommit=True, connect_timeout=seconds, **self._given
        )
        try:
            # A later snapshot than the lock's own: the head is read once the lock is held.
            connection.isolation_level = self._psycopg.IsolationLevel.READ_COMMITTED
            milliseconds = f"{max(1, int(self._busy_seconds * 1000))}ms"
            connection.execute(_PREPARE, (self._quoted(), milliseconds))
            connection.execute(_DURABLE)
        except BaseException:
            connection.close()
            raise
        return connection

    def _migrate(self, connection: psycopg.Connection[Row]) -> None:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATION_LOCK,))
            version = self._version(connection)
            if version < VERSION:
                for step in MIGRATIONS[version:]:
                    for statement in step:
                        connection.execute(statement.encode())
                if version <= LISTS_MEMORIES:
                    list_memories(connection)
                if version <= TAKES_INVENTORY:
                    take_inventory(connection, self.salts)
                connection.execute("DELETE FROM version")
                connection.execute("INSERT INTO version (number) VALUES (%s)", (VERSION,))
            check_schema(connection, self.where)

    def _version(self, connection: psycopg.Connection[Row]) -> int:
        """0 for a schema that is not there yet; it is made then."""
        there = connection.execute("SELECT to_regnamespace(%s)", (self._quoted(),)).fetchone()
        if there is None or there[0] is None:
            connection.execute(f"CREATE SCHEMA {self._quoted()}".encode())
        connection.execute("CREATE TABLE IF NOT EXISTS version (number INTEGER NOT NULL)")
        row = connection.execute("SELECT max(number) FROM version").fetchone()
        version: int = (row[0] if row else None) or 0
        if version > VERSION:
            raise StoreTooNew(
                f"{self.where} has schema {version}; this Mentis knows {VERSION}",
                hint="upgrade Mentis",
                found=version,
                known=VERSION,
            )
        return version

    def _quoted(self) -> str:
        return '"' + self._schema.replace('"', '""') + '"'

    def _name(self) -> str:
        """The server as it may be told: without user and password."""
        try:
            given = self._psycopg.conninfo.conninfo_to_dict(self._url)
        except self._psycopg.Error as error:
            raise SettingsError(
                "`ledger.url` is not the address of a PostgreSQL database",
                hint="write postgresql://USER@HOST/DATABASE; a password belongs in the secret",
            ) from error
        host = given.get("host") or given.get("hostaddr") or "localhost"
        return f"PostgreSQL {host}/{given.get('dbname') or ''}"


def _is_fresh(connection: psycopg.Connection[Row]) -> bool:
    """An idle connection on which something waits was ended by the server."""
    with suppress(OSError, ValueError):
        return not connection.closed and not select.select([connection.fileno()], [], [], 0)[0]
    return False


def _load() -> Any:  # noqa: ANN401 - an optional package
    try:
        return import_module("psycopg")
    except ImportError as error:
        raise EngineMissing(
            "the ledger in PostgreSQL needs the package psycopg, which is not installed",
            hint="pip install 'mentis[postgres]', or set ledger.store to \"sqlite\"",
        ) from error
