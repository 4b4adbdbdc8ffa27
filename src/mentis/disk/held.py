"""A small text that is there for as long as whoever put it there lives, for others to read.

The file is locked by its owner; the system lets go of that however a process ends. What nobody
holds any more is removed by the next one who looks. Whoever writes or looks holds the folder
(`folder_lock`), so that no text is read half.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from .atomic import unwritable

_SUFFIX = ".held"
_MOST_BYTES = 4096


class HeldText:
    """One text of ours; made by `put`, gone with `release`."""

    def __init__(self, folder: Path) -> None:
        self.path: Path | None = None
        self._folder = folder
        self._descriptor = -1

    def put(self, text: str) -> None:
        try:
            if self.path is None:
                self._open()
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, text.encode(), 0)
        except OSError as error:
            raise unwritable(self._folder, error) from error

    def _open(self) -> None:
        self._descriptor, name = tempfile.mkstemp(dir=self._folder, suffix=_SUFFIX)
        self.path = self._folder / Path(name).name
        fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def release(self) -> None:
        """It is gone for everybody; nothing happens where it was never put."""
        path, self.path = self.path, None
        if path is not None:
            with suppress(OSError):
                path.unlink(missing_ok=True)
            os.close(self._descriptor)


def held_in(folder: Path, *, without: HeldText) -> Iterator[str]:
    """What others hold here just now."""
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        if path != without.path and (text := _text(path)) is not None:
            yield text


def _text(path: Path) -> str | None:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(descriptor, _MOST_BYTES, 0).decode(errors="replace")
    else:
        path.unlink(missing_ok=True)  # whoever held it is gone
        return None
    finally:
        os.close(descriptor)
