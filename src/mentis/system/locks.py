"""Locks on open files. The system lets go of them however the process ends.

`filelock` (`disk/lock.py: write_lock`) is the way where one waits for a file that is only a lock.
It makes and keeps such a file, so it can lock neither a folder, nor a text that others read while
it is held, nor a file that goes with its holder; those three are locked here, by the descriptor.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from .files import READ_OR_MAKE, open_file, open_folder

_FOLDER_LOCK = ".lock"
# Behind all that is ever written: on Windows nobody else may read the bytes that are locked.
_LOCKED_BYTE = 0x7FFF_0000


def lock_file(descriptor: int) -> bool:
    """Hold it alone, until `unlock_file` or until it is closed; False where somebody else does."""
    if sys.platform == "win32":
        import msvcrt

        with _at(descriptor, _LOCKED_BYTE):
            try:
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            except PermissionError:
                return False
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def unlock_file(descriptor: int) -> None:
    """Let go, also where a child has it open."""
    if sys.platform == "win32":
        import msvcrt

        with _at(descriptor, _LOCKED_BYTE):
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        return
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_UN)


def open_lockable(folder: Path) -> int:
    """A descriptor to lock that stands for the folder: its own, so that no file has to be made and
    none can be put in its place; on Windows, which opens no folders, that of a file in it.
    """
    if sys.platform == "win32":
        return open_file(folder / _FOLDER_LOCK, READ_OR_MAKE)
    return open_folder(folder)


def removable_while_open() -> bool:
    """Whether a file can be taken away by whoever holds it, and not only after that."""
    return sys.platform != "win32"


@contextmanager
def _at(descriptor: int, place: int) -> Generator[None]:
    before = os.lseek(descriptor, 0, os.SEEK_CUR)
    os.lseek(descriptor, place, os.SEEK_SET)
    try:
        yield
    finally:
        os.lseek(descriptor, before, os.SEEK_SET)
