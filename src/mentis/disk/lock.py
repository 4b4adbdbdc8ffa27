"""One writer at a time, across processes."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mentis.errors import StoreLocked

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

    No file has to be made for it, and so none can be put in its place. Who dies lets go.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(folder, flags)
    except OSError as error:
        raise unwritable(folder, error) from error
    try:
        _hold(descriptor, folder, time.monotonic() + seconds)
        yield
    finally:
        os.close(descriptor)


def _hold(descriptor: int, folder: Path, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() < deadline:
                time.sleep(_LOOK_SECONDS)
                continue
            raise StoreLocked(
                f"{folder} is being changed by another process",
                hint="try again when it is done; nothing was written",
                path=str(folder),
            ) from error
        except OSError as error:
            raise unwritable(folder, error) from error
        return


@dataclass(frozen=True, slots=True)
class LockFile:
    """A lock file that is held here. The system lets go of it however the process ends."""

    path: Path
    descriptor: int

    def release(self) -> None:
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)  # also where a child has it open
        os.close(self.descriptor)

    def remove(self) -> None:
        """Take the file away and let go; one that stays is taken by the next who comes."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
        self.release()


def try_lock(path: Path) -> LockFile | None:
    """Hold the lock file until it is released; None where somebody else holds it. Every turn does
    this, and waits for nobody: the library that waits would take ten times as long.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        try:
            descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            raise unwritable(path, error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_nlink:
                return LockFile(path, descriptor)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError as error:
            os.close(descriptor)
            raise unwritable(path, error) from error
        os.close(descriptor)  # whoever held it took the file away: there is none by now
