"""Which processes that began something are still there: each holds a lock file while it lives.

The system lets go of the lock however the process ends, so a lock that can be taken belongs to one
that is gone. A child that was forked and not replaced keeps its parent's lock: it may still be at
it. An owner of another place, another home over the same ledger, cannot be judged from here and
counts as alive: nothing of it is touched. Where the record is on a server, owners are leases of it
(`record/act_owners.py`), and these locks are those of older versions.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import AbstractContextManager
from pathlib import Path

from mentis.disk.atomic import unwritable, write_atomic
from mentis.disk.inside import inside
from mentis.disk.lock import LockFile, try_lock, write_lock
from mentis.errors import StoreDamaged, StoreError, UsageError
from mentis.system.files import READ, open_file
from mentis.values.lease import Lease

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_BUSY_SECONDS = 10.0
_MOST_BYTES = 256


class Owner:
    """This process as the owner of what it begins, until it is closed or ends."""

    def __init__(self, name: str, lock: LockFile) -> None:
        self.name = name
        self.lease: Lease | None = None  # the lock is all there is to it
        self._lock = lock

    def is_lost(self) -> bool:
        """Nobody takes a lock from one that lives."""
        return False

    def close(self) -> None:
        self._lock.remove()

    def __enter__(self) -> Owner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Owners:
    """The lock files in one folder of a home. What is made or looked at is so one at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def enter(self, new_id: str) -> Owner:
        """Hold a lock of one's own; `new_id` is a name nothing else has."""
        if not _ID.fullmatch(new_id):
            raise UsageError(f"{new_id!r} cannot be the name of an owner")
        self._make()
        with self._alone():
            place = self._place() or self._settle(new_id)
            self._sweep()
            path = self._file(new_id)
            lock = try_lock(path)
            if lock is None:
                raise StoreError(f"{path} is held by another process", file=str(path))
            return Owner(f"{place}.{new_id}", lock)

    def alive(self, name: str) -> bool:
        """Whether the process that began something under this name may still be at it."""
        place, _, own = name.partition(".")
        if not _ID.fullmatch(own):
            return True
        self._make()
        with self._alone():
            if place != self._place():
                return True
            path = self._file(own)
            if not path.exists():
                return False
            lock = try_lock(path)
            if lock is not None:
                lock.release()
            return lock is None

    def _sweep(self) -> None:
        for path in self._folder.glob("*.owner"):
            if path.is_symlink() or not path.is_file():  # none of ours
                continue
            lock = try_lock(path)
            if lock is not None:
                lock.remove()

    def _make(self) -> None:
        inside(self._folder.parent, self._folder.name)
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise unwritable(self._folder, error) from error

    def _alone(self) -> AbstractContextManager[None]:
        return write_lock(self._folder / ".lock", seconds=_BUSY_SECONDS)

    def _file(self, own: str) -> Path:
        return self._folder / f"{own}.owner"

    def _place(self) -> str:
        """What tells this folder apart from any other; "" before it has a name."""
        path = self._folder / "place"
        try:
            name = _content(path).decode("ascii").strip()
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise _unreadable(path, str(error)) from error
        if not _ID.fullmatch(name):
            raise _unreadable(path, "it is no name")
        return name

    def _settle(self, name: str) -> str:
        write_atomic(self._folder / "place", f"{name}\n")
        return name


def _content(path: Path) -> bytes:
    """Of a plain file: what waits for a writer, or never ends, is not read."""
    descriptor = open_file(path, READ)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("it is no plain file")
        return os.read(descriptor, _MOST_BYTES)
    finally:
        os.close(descriptor)


def _unreadable(path: Path, reason: str) -> StoreDamaged:
    return StoreDamaged(
        f"{path} cannot be read: {reason}",
        hint="without it nobody can say whether acts are still being done; put it back",
        file=str(path),
    )
