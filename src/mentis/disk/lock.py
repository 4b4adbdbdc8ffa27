"""One writer at a time, across processes."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mentis.errors import StoreLocked

from .atomic import unwritable

if TYPE_CHECKING:
    from filelock import FileLock


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


def try_lock(path: Path) -> FileLock | None:
    """Hold the lock file until it is released; None where somebody else holds it."""
    from filelock import FileLock, Timeout

    lock = FileLock(path, timeout=0, thread_local=False, mode=0o600)
    try:
        lock.acquire()
    except Timeout:
        return None
    except OSError as error:
        raise unwritable(path, error) from error
    return lock
