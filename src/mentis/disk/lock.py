"""One writer at a time, across processes."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mentis.errors import StoreLocked
from mentis.system.files import READ_OR_MAKE, open_file
from mentis.system.locks import (
    lock_file,
    open_lockable,
    removable_while_open,
    unlock_file,
)

from .atomic import unwritable

_LOOK_SECONDS = 0.002


@contextmanager
def write_lock(path: Path, *, seconds: float) -> Generator[None]:
    """Hold the lock file for the length of the block, or StoreLocked after `seconds`."""
    from filelock import FileLock, Timeout

    lock = FileLock(path, timeout=seconds)
    try:
        lock.acquire()
    except Timeout as error:
        raise StoreLocked(
            f"{path.parent} is being changed by another process",
            hint="try again when it is done, or raise `store.busy_seconds`",
            path=str(path),
        ) from error
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def folder_lock(folder: Path, *, seconds: float) -> Generator[None]:
    """Hold the folder itself, for the length of the block, or StoreLocked after `seconds`.

    Who dies lets go.
    """
    try:
        descriptor = open_lockable(folder)
    except OSError as error:
        raise unwritable(folder, error) from error
    try:
        _hold(descriptor, folder, time.monotonic() + seconds)
        yield
    finally:
        os.close(descriptor)


def _hold(descriptor: int, folder: Path, deadline: float) -> None:
    while not _taken(descriptor, folder):
        if time.monotonic() >= deadline:
            raise StoreLocked(
                f"{folder} is being changed by another process",
                hint="try again when it is done; nothing was written",
                path=str(folder),
            )
        time.sleep(_LOOK_SECONDS)


def _taken(descriptor: int, folder: Path) -> bool:
    try:
        return lock_file(descriptor)
    except OSError as error:
        raise unwritable(folder, error) from error


@dataclass(frozen=True, slots=True)
class LockFile:
    """A lock file that is held here. The system lets go of it however the process ends."""

    path: Path
    descriptor: int

    def release(self) -> None:
        unlock_file(self.descriptor)
        os.close(self.descriptor)

    def remove(self) -> None:
        """Take the file away and let go; one that stays is taken by the next who comes."""
        if removable_while_open():
            self._unlink()
            self.release()
        else:  # nor can it be taken away from the next one, who has it open by then
            self.release()
            self._unlink()

    def _unlink(self) -> None:
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


def try_lock(path: Path) -> LockFile | None:
    """Hold the lock file until it is released; None where somebody else holds it. Every turn does
    this, and waits for nobody: the library that waits would take ten times as long.
    """
    while True:
        try:
            descriptor = open_file(path, READ_OR_MAKE)
        except OSError as error:
            raise unwritable(path, error) from error
        try:
            free = lock_file(descriptor)
            if free and os.fstat(descriptor).st_nlink:
                return LockFile(path, descriptor)
        except OSError as error:
            os.close(descriptor)
            raise unwritable(path, error) from error
        os.close(descriptor)
        if not free:
            return None
        # Else whoever held it took the file away: there is none by now.
