"""SQLite's result codes as our errors, in the words of somebody who uses Mentis."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from mentis.errors import (
    HomeUnwritable,
    MentisError,
    StoreConflict,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreLocked,
)

BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT)
_UNWRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN)


def translate(error: sqlite3.Error, path: Path) -> MentisError:
    """One of our errors for one of SQLite's, with what to do next."""
    # Extended codes keep the primary code in their low byte.
    extended = getattr(error, "sqlite_errorcode", 0)
    primary = extended & 0xFF
    if primary in BUSY:
        return StoreLocked(
            f"{path} is locked by another process",
            hint="another process is writing; try again, or raise `store.busy_seconds`",
            path=str(path),
        )
    if primary == sqlite3.SQLITE_FULL or extended == sqlite3.SQLITE_IOERR_SHMSIZE:
        return StoreFull(
            f"no space left to write {path}",
            hint="free some space and try again",
            path=str(path),
        )
    if primary in _DAMAGED:
        return damaged_database(path, str(error))
    if primary in _UNWRITABLE:
        return unwritable_database(path, str(error))
    if primary == sqlite3.SQLITE_CONSTRAINT:
        return StoreConflict(f"{path} holds something else in that place: {error}", path=str(path))
    return StoreError(
        f"{path}: {error}",
        hint="check the disk, and that no other program has the file open",
        path=str(path),
    )


def unwritable_database(path: Path, reason: str) -> HomeUnwritable:
    return HomeUnwritable(
        f"{path} cannot be opened for writing: {reason}",
        hint="check that the file and its directory exist and that you may write to both",
        path=str(path),
    )


def damaged_database(path: Path, reason: str) -> StoreDamaged:
    return StoreDamaged(
        f"{path} is not the database it should be: {reason}",
        hint="it was left as it is; move it away, or put a backup in its place",
        path=str(path),
    )
