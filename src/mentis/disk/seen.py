"""Files that are looked at often: whether one is still what was read, as the system says."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T")
Stamp: TypeAlias = tuple[int, int, int, int, int]
# File systems count time in steps: a file written this shortly before (in nanoseconds) may be
# written again without its times telling.
_STEP = 50_000_000


class SeenFile(Generic[T]):
    """What a file holds, read again whenever it may be another one. Threads may share it."""

    __slots__ = ("_path", "_seen")

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._seen: tuple[Stamp, T] | None = None

    def read(self, read: Callable[[], T]) -> T:
        """What `read` gave when the file was last another one than now."""
        seen, now = self._seen, stamp_of(self._path)
        if seen is not None and seen[0] == now:
            return seen[1]
        content = read()
        if now is not None and is_settled(now) and stamp_of(self._path) == now:
            self._seen = now, content
        return content


def stamp_of(path: str | os.PathLike[str]) -> Stamp | None:
    """What tells a file from any other, and from itself once it is changed; None of a link, whose
    target may change behind it.
    """
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    if stat.S_ISLNK(found.st_mode):
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev


def is_settled(stamp: Stamp) -> bool:
    """Whether any later change will tell."""
    return time.time_ns() - max(stamp[:2]) > _STEP
