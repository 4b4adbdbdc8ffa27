"""A file of backups: what homes held at some moments, each piece of content once.

It is a database of SQLite, so a backup is in it whole or not at all, and what was there before
stays. Whoever hands one over may have made it up: it has the tables it should have, its pieces are
what their digests say and no larger than a piece may be, and its names lead nowhere but below.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from urllib.parse import quote

from mentis.codec.forms import from_json, to_json
from mentis.disk.atomic import unwritable
from mentis.errors import BackupError, BadInput, StoreLocked
from mentis.system.files import MAKE_NEW, open_file, sync_folder
from mentis.values.value import Value

from .faults import BUSY, translate

PIECE = 64 * 1024
_ID, _VERSION = 0x4D424B50, 1
_TABLES = {
    "pieces": "CREATE TABLE pieces (digest TEXT PRIMARY KEY NOT NULL, data BLOB NOT NULL)",
    "snapshots": "CREATE TABLE snapshots (number INTEGER PRIMARY KEY NOT NULL, told BLOB NOT NULL)",
}
_MOST_TOLD = 64 * 1024 * 1024
# What unpacks to more than this, and to so many times the size of the file, is no backup.
_LARGE, _TIMES = 1024**3, 200
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT)
_FORBIDDEN = frozenset('\\:\0*?"<>|')


@dataclass(frozen=True, slots=True)
class StoredFile(Value):
    """A file of a home: its digest is that of all its pieces together."""

    path: str
    size: int
    digest: str
    pieces: tuple[str, ...]
    runs: bool = False  # its owner may run it


@dataclass(frozen=True, slots=True)
class HomeSnapshot(Value):
    """A home at one moment. `record` is "ok", or what verification found first."""

    time: str
    home: str
    origin: str
    agents: dict[str, int]  # how many entries each has
    record: str
    files: tuple[StoredFile, ...]
    remarks: tuple[str, ...] = ()
    number: int = 0

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


@dataclass(slots=True)
class Taken:
    """What one backup has put in: how much of it was not there yet."""

    fresh: int = 0
    known: set[str] = field(default_factory=set[str])


class BackupFile:
    """Open it with `read_backups` or `write_backups`."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self.taken = Taken()

    def put(self, name: str, source: BinaryIO, *, runs: bool = False) -> StoredFile:
        """All that is left of `source`, piece by piece; what is there already is not kept again."""
        whole, size, pieces = sha256(), 0, list[str]()
        while piece := source.read(PIECE):
            whole.update(piece)
            size += len(piece)
            pieces.append(self._put_piece(piece))
        return StoredFile(name, size, whole.hexdigest(), tuple(pieces), runs)

    def _put_piece(self, piece: bytes) -> str:
        digest = sha256(piece).hexdigest()
        if digest not in self.taken.known:
            self.taken.known.add(digest)
            done = self._connection.execute(
                "INSERT OR IGNORE INTO pieces (digest, data) VALUES (?, ?)",
                (digest, zlib.compress(piece, 6)),
            )
            self.taken.fresh += done.rowcount > 0 and len(piece)
        return digest

    def add(self, snapshot: HomeSnapshot) -> int:
        """Its number."""
        done = self._connection.execute(
            "INSERT INTO snapshots (told) VALUES (?)", (zlib.compress(to_json(snapshot)),)
        )
        return int(done.lastrowid or 0)

    def prune(self, keep: int) -> None:
        """Let all but the newest `keep` snapshots go, and what only they had."""
        self._connection.execute(
            "DELETE FROM snapshots WHERE number NOT IN"
            " (SELECT number FROM snapshots ORDER BY number DESC LIMIT ?)",
            (keep,),
        )
        needed = {one for kept in self.snapshots() for file in kept.files for one in file.pieces}
        there = [digest for (digest,) in self._connection.execute("SELECT digest FROM pieces")]
        gone = [(digest,) for digest in there if digest not in needed]
        self._connection.executemany("DELETE FROM pieces WHERE digest = ?", gone)

    def snapshots(self) -> tuple[HomeSnapshot, ...]:
        """Oldest first."""
        rows = self._connection.execute("SELECT number, told FROM snapshots ORDER BY number")
        return tuple(self._read(number, told) for number, told in rows)

    def snapshot(self, number: int | None = None) -> HomeSnapshot:
        """The newest, or the one of this number; BackupError for one that nobody could restore."""
        known = self._connection.execute("SELECT number, told FROM snapshots ORDER BY number")
        rows = dict[object, object](known.fetchall())
        wanted = max((one for one in rows if isinstance(one, int)), default=0)
        wanted = wanted if number is None else number
        if wanted not in rows:
            raise BackupError(
                f"{self.path}: there is no backup {number}" if rows else f"{self.path} is empty",
                hint="`mentis backup FILE --list` shows them",
            )
        found = self._read(wanted, rows[wanted])
        self._check_size(found)
        _check_names(self.path, found.files)
        return found

    def contents(self, file: StoredFile) -> Iterator[bytes]:
        """Piece by piece; BackupError at the end if they are not what was put in."""
        whole, left = sha256(), file.size
        for digest in file.pieces:
            piece = self._piece(file, digest, min(PIECE, left))
            whole.update(piece)
            left -= len(piece)
            yield piece
        if left or whole.hexdigest() != file.digest:
            raise self._broken(f"{file.path!r} is not what was put in")

    def check(self, snapshot: HomeSnapshot) -> None:
        """Read every file of it again: BackupError if one is not what was put in."""
        for file in snapshot.files:
            for _ in self.contents(file):
                pass

    def _piece(self, file: StoredFile, digest: str, size: int) -> bytes:
        row = self._connection.execute(
            "SELECT data FROM pieces WHERE digest = ?", (digest,)
        ).fetchone()
        if row is None:
            raise self._broken(f"a piece of {file.path!r} is missing")
        piece = self._unpacked(row[0], most=size)
        if len(piece) != size or sha256(piece).hexdigest() != digest:
            raise self._broken(f"a piece of {file.path!r} is not what its digest says")
        return piece

    def _read(self, number: object, told: object) -> HomeSnapshot:
        try:
            found = from_json(HomeSnapshot, self._unpacked(told, most=_MOST_TOLD))
        except BadInput as error:
            raise self._broken(f"backup {number} cannot be read: {error.message}") from error
        return replace(found, number=int(str(number)))

    def _unpacked(self, data: object, *, most: int) -> bytes:
        """Never more than `most` bytes in memory, whatever the data would unpack to."""
        unpacking = zlib.decompressobj()
        try:
            found = unpacking.decompress(data if isinstance(data, bytes) else b"", most + 1)
        except zlib.error as error:
            raise self._broken(f"something in it cannot be unpacked: {error}") from error
        if len(found) > most or not unpacking.eof:
            raise self._broken("something in it is cut off, or larger than it may be")
        return found

    def _check_size(self, snapshot: HomeSnapshot) -> None:
        for file in snapshot.files:
            if file.size < 0 or len(file.pieces) != -(-file.size // PIECE):
                raise self._broken(f"the size of {file.path!r} does not fit its pieces")
        if snapshot.size > max(_LARGE, _TIMES * self.path.stat().st_size):
            raise self._broken(f"it would unpack to {snapshot.size} bytes")

    def _broken(self, reason: str) -> BackupError:
        return _broken(self.path, reason)


def _check_names(path: Path, files: Iterable[StoredFile]) -> None:
    """No name leads out of the folder, is there twice, or is a file and a folder at once."""
    taken, folders = set[str](), set[str]()
    for file in files:
        name = PurePosixPath(file.path)
        plain = str(name) == file.path and not name.is_absolute() and ".." not in name.parts
        if not plain or file.path in ("", ".") or _FORBIDDEN & set(file.path):
            raise _broken(path, f"{file.path!r} leads out of the folder, or is no name")
        folded = file.path.casefold()
        if folded in taken:
            raise _broken(path, f"{file.path!r} is there twice")
        taken.add(folded)
        folders.update(str(above).casefold() for above in name.parents)
    if odd := sorted(taken & folders):
        raise _broken(path, f"{odd[0]!r} is a file and a folder")


@contextmanager
def read_backups(path: Path) -> Generator[BackupFile]:
    """BackupError for what is none."""
    if not path.is_file():
        raise BackupError(f"{path}: there is no file of backups", hint="check the path")
    with _translated(path), closing(_open_reading(path)) as connection:
        _check_tables(path, connection)
        yield BackupFile(path, connection)


def _open_reading(path: Path) -> sqlite3.Connection:
    """One that a kill left half is brought back to what it was, if the disk takes that."""
    half = path.with_name(f"{path.name}-journal").exists()
    uri = f"file:{quote(str(path.absolute()))}?mode={'rw' if half else 'ro'}"
    return _prepared(sqlite3.connect(uri, uri=True, isolation_level=None))


@contextmanager
def write_backups(path: Path) -> Generator[BackupFile]:
    """All that is put in is there when the block ends, or nothing of it. StoreLocked while somebody
    else makes a backup into the same file.
    """
    fresh = _make_empty(path)
    try:
        with _translated(path), closing(sqlite3.connect(path, isolation_level=None)) as connection:
            _prepared(connection).execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = ON")  # what is let go is gone
            connection.execute("BEGIN IMMEDIATE")
            with _rolled_back(connection):
                if _is_empty(connection):
                    for statement in _TABLES.values():
                        connection.execute(statement)
                    connection.execute(f"PRAGMA application_id = {_ID}")
                    connection.execute(f"PRAGMA user_version = {_VERSION}")
                _check_tables(path, connection)
                yield BackupFile(path, connection)
                connection.execute("COMMIT")
    except BaseException:
        if fresh:
            with suppress(OSError):
                path.unlink()
        raise


def _make_empty(path: Path) -> bool:
    """A new file of its owner alone; False where there is one already."""
    try:
        os.close(open_file(path, MAKE_NEW))
        sync_folder(path.parent)
    except FileExistsError:
        if path.is_symlink() or not path.is_file():
            raise BackupError(f"{path} is no plain file", hint="name another") from None
        return False
    except OSError as error:
        raise unwritable(path, error) from error
    return True


def _prepared(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Nothing that a foreign schema names is run, and damage is told."""
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def _is_empty(connection: sqlite3.Connection) -> bool:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return not application and not tables


def _check_tables(path: Path, connection: sqlite3.Connection) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application == _ID and version > _VERSION:
        raise BackupError(f"{path} was made by a newer Mentis", hint="upgrade Mentis")
    told = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    if application != _ID or dict(told.fetchall()) != _TABLES:
        raise _broken(path, "it does not have the tables it should have")


@contextmanager
def _rolled_back(connection: sqlite3.Connection) -> Generator[None]:
    try:
        yield
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


@contextmanager
def _translated(path: Path) -> Generator[None]:
    try:
        yield
    except sqlite3.Error as error:
        primary = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if primary in _DAMAGED:
            raise _broken(path, str(error)) from error
        if primary in BUSY:
            raise StoreLocked(
                f"{path}: another backup into it is just being made",
                hint="try again when it is done",
            ) from error
        raise translate(error, path) from error


def _broken(path: Path, reason: str) -> BackupError:
    return BackupError(
        f"{path} is no sound file of backups: {reason}",
        hint="nothing was restored; take another copy of it, or another backup of it with --at",
        file=str(path),
    )
