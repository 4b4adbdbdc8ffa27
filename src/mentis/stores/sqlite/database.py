"""One database file, one connection, one writer at a time.

The connection may be used from any thread of the process that opened it. It must never be carried
over a fork: a child that shares it loses rows.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Any, TypeAlias
from urllib.parse import quote

from mentis.errors import StoreError, StoreTooNew, UsageError

from .faults import BUSY, damaged, translate
from .migrations import APPLICATION_ID, VERSION, migrate

Row: TypeAlias = tuple[Any, ...]

# One statement, so that another process cannot create the tables between two looks.
_IDENTITY = """
SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)
FROM pragma_application_id, pragma_user_version
"""

# What opening for reading alone says where the helper files of WAL mode cannot be made.
_SEALED = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)


class Database:
    """`mentis.db`, checked and brought to the newest schema when it is opened."""

    def __init__(self, path: Path, *, busy_seconds: float = 5.0, readonly: bool = False) -> None:
        self.path = path
        self._busy_seconds = busy_seconds
        self._lock = RLock()
        self._closed = False
        with self._translated():
            self._connection = self._open_readonly() if readonly else self._open()

    def read(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        with self._lock, self._translated():
            return self._connection.execute(statement, parameters).fetchall()

    @contextmanager
    def write(self) -> Generator[sqlite3.Connection]:
        """One transaction: all of it is on disk when the block ends, or nothing of it."""
        with self._lock, self._translated(), _transaction(self._connection):
            yield self._connection

    def close(self) -> None:
        with self._lock, self._translated():
            self._connection.close()
            self._closed = True

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> sqlite3.Connection:
        connection = self._connect(str(self.path), uri=False)
        with suppress(OSError):
            self.path.chmod(0o600)  # conversations are nobody else's business
        with _closed_on_failure(connection):
            # Looked at before anything is set: a file that is not ours stays as it is.
            self._check(connection)
            self._use_wal(connection)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            if self._check(connection) < VERSION:
                self._migrate(connection)
        return connection

    def _use_wal(self, connection: sqlite3.Connection) -> None:
        """SQLite does not wait for this lock by itself when two processes make the file."""
        deadline = time.monotonic() + self._busy_seconds
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF not in BUSY or time.monotonic() >= deadline:
                    raise
                time.sleep(0.01)
            else:
                return

    def _migrate(self, connection: sqlite3.Connection) -> None:
        with _transaction(connection):
            # Read again under the lock: another process may have been here first.
            version = self._check(connection)
            if version < VERSION:
                migrate(connection, version)

    def _open_readonly(self) -> sqlite3.Connection:
        if not self.path.is_file():
            raise StoreError(
                f"there is no database at {self.path}", hint="check the path", path=str(self.path)
            )
        try:
            return self._open_uri("mode=ro")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _SEALED:
                raise
            self._refuse_unmerged()
            return self._open_uri("immutable=1")

    def _open_uri(self, options: str) -> sqlite3.Connection:
        uri = f"file:{quote(str(self.path.absolute()))}?{options}"
        connection = self._connect(uri, uri=True)
        with _closed_on_failure(connection):
            if self._check(connection) < VERSION:
                raise damaged(self.path, "it is empty, or of an older version never opened since")
        return connection

    def _refuse_unmerged(self) -> None:
        wal = self.path.with_name(f"{self.path.name}-wal")
        if wal.exists() and wal.stat().st_size:
            raise StoreError(
                f"{wal} holds changes that cannot be read in a read-only directory",
                hint="copy the database together with its -wal file to a writable directory",
                path=str(self.path),
            )

    def _connect(self, target: str, *, uri: bool) -> sqlite3.Connection:
        connection = sqlite3.connect(
            target,
            timeout=self._busy_seconds,
            isolation_level=None,
            check_same_thread=False,
            uri=uri,
        )
        # Bytes that are not UTF-8 reach verification, which names the entry they stand in.
        connection.text_factory = _decode
        return connection

    def _check(self, connection: sqlite3.Connection) -> int:
        """The schema version of a database that is ours or still empty."""
        application, version, tables = connection.execute(_IDENTITY).fetchone()
        if application == APPLICATION_ID and version > VERSION:
            raise StoreTooNew(
                f"{self.path} has schema {version}; this Mentis knows {VERSION}",
                hint="upgrade Mentis",
                path=str(self.path),
                found=version,
                known=VERSION,
            )
        if application != APPLICATION_ID and (application or version or tables):
            raise damaged(self.path, "another program made it")
        return version

    @contextmanager
    def _translated(self) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if self._closed:
                raise UsageError(
                    f"{self.path} is closed", hint="open the agent again, or close it later"
                ) from error
            raise translate(error, self.path) from error


@contextmanager
def _closed_on_failure(connection: sqlite3.Connection) -> Generator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Generator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # Some failures have rolled back already; none may hide what went wrong.
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _decode(raw: bytes) -> str:
    return raw.decode(errors="surrogateescape")
