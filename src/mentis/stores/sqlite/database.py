"""One database file, one connection, one writer at a time.

The connection may be used from any thread of the process that opened it. Carried over a fork it is
refused: a child that shares it loses rows.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import RLock
from urllib.parse import quote

from mentis.errors import MentisError, StoreDamaged, StoreError, StoreTooNew, UsageError
from mentis.stores import sql_inventory
from mentis.stores.rows import Row
from mentis.stores.sql_inventory import Salts
from mentis.system.files import MAKE_NEW, open_file

from .faults import BUSY, damaged_database, translate, unwritable_database
from .migrations import APPLICATION_ID, VERSION, migrate, stand_in
from .mounts import refuse_network
from .schema import check_schema

_IDENTITY = """
SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)
FROM pragma_application_id, pragma_user_version
"""

# In WAL mode NORMAL syncs nothing at a commit.
_SYNC = {True: "PRAGMA synchronous = FULL", False: "PRAGMA synchronous = NORMAL"}

_THERE = "SELECT name FROM main.sqlite_master WHERE type = 'table'"

# What opening for reading alone says where the helper files of WAL mode cannot be made: a folder
# that may not be written, or a disk that is full.
_SEALED = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL)
# Locks of nobody and an index of the -wal file in memory: SQLite's way to read where it can make no
# file. Its other systems have no such name for it.
_ALONE = "mode=ro&vfs=unix-none"


def schema_version(path: Path) -> int:
    """The version that a database file has, which is neither opened for writing nor brought up to
    date; 0 where there is none yet.
    """
    if not path.is_file():
        return 0
    try:
        with closing(_connect_readonly(path)) as connection:
            _, version, _ = connection.execute(_IDENTITY).fetchone()
    except sqlite3.DatabaseError as error:
        raise damaged_database(path, str(error)) from error
    return int(version)


def _connect_readonly(path: Path, *, busy_seconds: float = 5.0) -> sqlite3.Connection:
    """Over which all that was written can be read, also in a folder that cannot be written."""
    uri = f"file:{quote(str(path.absolute()))}"
    connection = _connect(f"{uri}?mode=ro", busy_seconds, uri=True)
    try:
        connection.execute(_IDENTITY).fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        if not _is_sealed(error):
            raise
    except BaseException:
        connection.close()
        raise
    else:
        return connection
    wal = path.with_name(f"{path.name}-wal")
    if not (wal.exists() and wal.stat().st_size):
        return _connect(f"{uri}?immutable=1", busy_seconds, uri=True)
    connection = _connect(f"{uri}?{_ALONE}", busy_seconds, uri=True)
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # so the index need not be shared
    return connection


def _is_sealed(error: sqlite3.OperationalError) -> bool:
    extended = error.sqlite_errorcode
    return extended & 0xFF in _SEALED or extended == sqlite3.SQLITE_IOERR_SHMSIZE


def _connect(target: str, busy_seconds: float, *, uri: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(
        target,
        timeout=busy_seconds,
        isolation_level=None,
        check_same_thread=False,
        uri=uri,
    )
    # Nothing that a foreign schema names is run.
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def copy_database(path: Path, copy: Path) -> None:
    """All of it as it is now, also while others write, into a new file of its owner alone."""
    os.close(open_file(copy, MAKE_NEW))
    with closing(_connect_readonly(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)


class Database:
    """`mentis.db`, checked and brought to the newest schema when it is opened."""

    def __init__(
        self,
        path: Path,
        *,
        busy_seconds: float = 5.0,
        readonly: bool = False,
        refusal: Callable[[], MentisError] | None = None,
        salts: Salts | None = None,
    ) -> None:
        """`refusal` is what whoever writes is told, where that has a better reason. `salts` are of
        what is noted in the inventory.
        """
        self.salts = salts or sql_inventory.random_salt
        self.path = path
        self._refusal = refusal
        self._busy_seconds = busy_seconds
        self._readonly = readonly
        self._process = os.getpid()
        self._lock = RLock()
        self._closed = False
        self._together = 0  # how many blocks of reads are open, all of the thread with the lock
        self._doubtful = False
        self._place = path.absolute()
        self._file: tuple[int, int] | None = None  # which file it is that was opened there
        self.replaced = 0  # how often another one stood in its place
        self._looked_at: int | None = None  # the number of the schema that was compared last
        with self.translate_errors():
            self._connection = self._reach()

    @property
    def readonly(self) -> bool:
        return self._readonly

    def require_writable(self) -> None:
        """The refusal that a write would get, for whoever is about to pay for what is recorded."""
        if self._refusal is not None:
            raise self._refusal()

    def read(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        with self._lock, self.translate_errors():
            if not self._together:
                self._renew()
                self._look_again()
            return fetch(self._connection, statement, parameters)

    @contextmanager
    def together(self) -> Generator[None]:
        """Several reads, before which it is looked once whether the file is still the one it was.
        Others wait until the block ends.
        """
        with self._lock:
            with self.translate_errors():
                self._renew()
                self._look_again()
            self._together += 1
            try:
                yield
            finally:
                self._together -= 1

    @contextmanager
    def write(self, *, synced: bool = True) -> Generator[sqlite3.Connection]:
        """One transaction: all of it is on disk when the block ends, or nothing of it.

        Without `synced` the next one that is brings it there; until then a machine that goes down
        may take it along, whole, and nothing that came before it.
        """
        self.require_writable()
        with self._lock:
            try:
                self._renew()
                self._connection.execute(_SYNC[synced])
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    self._look_again()
                    yield self._connection
                    self._refuse_replaced()
                    self._connection.execute("COMMIT")
                except BaseException:
                    _roll_back(self._connection)
                    raise
            except sqlite3.Error as error:
                raise self.fault(error) from error

    @contextmanager
    def snapshot(self) -> Generator[Callable[[str, Sequence[object]], list[Row]]]:
        """What reads in it, reads what is there now, as long as it lasts.

        Over a connection of its own, so that nobody waits. Until it ends the -wal file only grows.
        """
        with self.translate_errors():
            connection = self._open_readonly()
        with closing(connection), _snapshot(connection):
            with self.translate_errors():
                self._check(connection)  # the first look is the moment that is seen

            def read(statement: str, parameters: Sequence[object]) -> list[Row]:
                with self.translate_errors():
                    return fetch(connection, statement, parameters)

            yield read

    def fold(self, *, wait: bool = True) -> bool:
        """Bring what is in the -wal file into the database and empty it; False while one reads.

        SQLite would wait for the reader and keep every writer out meanwhile, so it is asked again.
        """
        deadline = time.monotonic() + (self._busy_seconds if wait else 0)
        while not self._folded():
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.01)
        return True

    def _folded(self) -> bool:
        with self._lock, self.translate_errors():
            self._renew()
            self._connection.execute("PRAGMA busy_timeout = 0")
            try:
                (row,) = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                waits = int(self._busy_seconds * 1000)
                self._connection.execute(f"PRAGMA busy_timeout = {waits}")
            return row[0] == 0

    def damage(self, tables: Sequence[str]) -> tuple[str, ...]:
        """What SQLite finds wrong with these tables and their indexes: every row in each of them.

        Over a connection of its own, so that nobody has to wait for it; it costs little memory.
        """
        try:
            with self.translate_errors(), closing(self._open_readonly()) as connection:
                there = {name for (name,) in connection.execute(_THERE)}
                looked = [_look_into(connection, name) for name in tables if name in there]
        except StoreDamaged as damage:
            return (damage.message,)
        return tuple(line for lines in looked for line in lines)

    def close(self) -> None:
        with self._lock, self.translate_errors():
            self._connection.close()
            self._closed = True

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _renew(self) -> None:
        """After a failed sync nobody knows what the disk holds: go by what it says itself.

        The same when another file has taken the place of the one that is open.
        """
        if os.getpid() != self._process:
            raise UsageError(
                f"{self.path} was opened by another process, which this one was forked from",
                hint="open it again in the child, or start the child with spawn",
            )
        if self._closed:
            return
        if not self._doubtful:
            self._refuse_replaced()
            return
        if self._found() is None:
            raise self._gone()  # an empty one is made where none was, not where one is missing
        known = self._file
        with suppress(sqlite3.Error):
            self._connection.close()
        self._connection = self._reach()
        self._doubtful, self._looked_at = False, None
        if known not in (None, self._file):  # None: it was told already that it is gone
            self.replaced += 1
            raise self._gone()

    def _refuse_replaced(self) -> None:
        """StoreError when the path leads elsewhere: a file without a name is gone when we end.

        Nothing goes on by itself: whoever keeps what was compared has to compare it again.
        """
        if (found := self._found()) != self._file:
            self._file, self._doubtful, self.replaced = found, True, self.replaced + 1
            raise self._gone()

    def _found(self) -> tuple[int, int] | None:
        try:
            found = os.lstat(self._place)  # for every read: a path would take as long again
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StoreError(f"cannot look at {self.path}: {error.strerror}") from error
        return found.st_dev, found.st_ino

    def _gone(self) -> StoreError:
        return StoreError(
            f"{self.path} was replaced or removed while it was open, and nothing is read from or"
            " written into the one that was there",
            hint="try again: what stands there now is opened; end whoever uses a home before a"
            " backup is put in its place",
            path=str(self.path),
        )

    def _look_again(self) -> None:
        """Every change of the tables changes this number, whoever makes it."""
        (number,) = self._connection.execute("PRAGMA schema_version").fetchone()
        if number != self._looked_at:
            self._check(self._connection)
            self._looked_at = number

    def _reach(self) -> sqlite3.Connection:
        """Which file it is has to be known, so one that is replaced meanwhile is opened again."""
        while True:
            before = self._found()
            connection = self._open_readonly() if self._readonly else self._open()
            self._file = self._found()
            if before in (None, self._file):
                return connection
            connection.close()

    def _open(self) -> sqlite3.Connection:
        refuse_network(self.path)
        self._refuse_link()
        if self._sees(self.path.exists) and not os.access(self.path, os.W_OK):
            raise unwritable_database(self.path, "it is read-only")  # SQLite would open it to read
        connection = self._connect_writable()
        with _closed_on_failure(connection):
            # Looked at before anything is set: a file that is not ours stays as it is.
            self._check(connection)
            self._refuse_link()
            with suppress(OSError):
                self.path.chmod(0o600)  # conversations are nobody else's business
            # For a new file: an entry takes half a small page, and the other half is written too.
            connection.execute("PRAGMA page_size = 8192")
            self._use_wal(connection)
            connection.execute(_SYNC[True])
            connection.execute("PRAGMA foreign_keys = ON")
            # A file that is written over syncs faster than one that grows, so it begins anew before
            # it is large; but each time all of it is written once more, with two syncs.
            connection.execute("PRAGMA wal_autocheckpoint = 1000")
            # What is erased is overwritten, not only let go.
            connection.execute("PRAGMA secure_delete = ON")
            if self._check(connection) < VERSION:
                self._migrate(connection)
        return connection

    def _connect_writable(self) -> sqlite3.Connection:
        """Where a test puts a disk of its own below SQLite."""
        return _connect(str(self.path), self._busy_seconds, uri=False)

    def _refuse_link(self) -> None:
        """Whoever put one there chooses which file is written, and whose rights are changed."""
        if self._sees(self.path.is_symlink):
            raise StoreError(
                f"{self.path} is a link, and nothing is written through it",
                hint="put the database itself in its place, or move the whole home",
                path=str(self.path),
            )

    def _sees(self, look: Callable[[], bool]) -> bool:
        try:
            return look()
        except OSError as error:
            raise StoreError(f"cannot look at {self.path}: {error.strerror}") from error

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
                migrate(connection, version, self.salts)

    def _open_readonly(self) -> sqlite3.Connection:
        if not self._sees(self.path.is_file):
            raise StoreError(
                f"there is no database at {self.path}", hint="check the path", path=str(self.path)
            )
        connection = _connect_readonly(self.path, busy_seconds=self._busy_seconds)
        with _closed_on_failure(connection):
            version = self._check(connection)
            if not version:
                raise damaged_database(self.path, "it is empty")
            stand_in(connection, version)
        return connection

    def _check(self, connection: sqlite3.Connection) -> int:
        """The schema version of a database that is ours or still empty."""
        # In one transaction, so that another process cannot create the tables between two looks.
        with _snapshot(connection):
            return self._compare(connection)

    def _compare(self, connection: sqlite3.Connection) -> int:
        try:
            application, version, tables = connection.execute(_IDENTITY).fetchone()
        except UnicodeDecodeError as error:
            # SQLite quotes the schema in its complaint, and that is no text any more.
            raise damaged_database(self.path, "its schema cannot be read") from error
        if application == APPLICATION_ID and version > VERSION:
            raise StoreTooNew(
                f"{self.path} has schema {version}; this Mentis knows {VERSION}",
                hint="upgrade Mentis",
                path=str(self.path),
                found=version,
                known=VERSION,
            )
        if application != APPLICATION_ID and (application or version or tables):
            raise damaged_database(self.path, "another program made it")
        check_schema(connection, version, self.path)
        return version

    @contextmanager
    def translate_errors(self) -> Generator[None]:
        """SQLite's errors become ours."""
        try:
            yield
        except sqlite3.Error as error:
            raise self.fault(error) from error

    def fault(self, error: sqlite3.Error) -> MentisError:
        if self._closed:
            return UsageError(
                f"{self.path} is closed", hint="open the agent again, or close it later"
            )
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_IOERR:
            self._doubtful = True
        return translate(error, self.path)


@contextmanager
def _closed_on_failure(connection: sqlite3.Connection) -> Generator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


@contextmanager
def _snapshot(connection: sqlite3.Connection) -> Generator[None]:
    """Everything read in it is of one moment."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        _roll_back(connection)


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Generator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        _roll_back(connection)
        raise


def _roll_back(connection: sqlite3.Connection) -> None:
    # Some failures have rolled back already; none may hide what went wrong.
    with suppress(sqlite3.Error):
        connection.execute("ROLLBACK")


def fetch(
    connection: sqlite3.Connection, statement: str, parameters: Sequence[object] = ()
) -> list[Row]:
    """All rows. Bytes that are not UTF-8 reach verification, which names where they stand."""
    try:
        return connection.execute(statement, parameters).fetchall()
    except sqlite3.OperationalError as error:
        if "decode to UTF-8" not in str(error):
            raise
    connection.text_factory = _decode
    try:
        return connection.execute(statement, parameters).fetchall()
    finally:
        connection.text_factory = str


def _look_into(connection: sqlite3.Connection, table: str) -> list[str]:
    # Before 3.33 it looks into all tables at once, which only takes longer.
    lines = fetch(connection, f'PRAGMA main.integrity_check("{table}")')
    return [f"{table}: {line}" for (line,) in lines if line != "ok"]


def _decode(raw: bytes) -> str:
    return raw.decode(errors="surrogateescape")
