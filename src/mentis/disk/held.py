"""A small text that is there for as long as whoever put it there lives, for others to read.

The file is locked by its owner; the system lets go of that however a process ends. What nobody
holds any more is removed by the next one who looks. Whoever writes or looks holds the folder
(`folder_lock`), so that no text is read half.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mentis.system.files import READ_WRITE, open_file
from mentis.system.locks import lock_file

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
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            os.write(self._descriptor, text.encode())
        except OSError as error:
            raise unwritable(self._folder, error) from error

    def _open(self) -> None:
        self._descriptor, name = tempfile.mkstemp(dir=self._folder, suffix=_SUFFIX)
        self.path = self._folder / Path(name).name
        lock_file(self._descriptor)

    def release(self) -> None:
        """It is gone for everybody; nothing happens where it was never put."""
        path, self.path = self.path, None
        if path is not None:
            os.close(self._descriptor)  # first, since Windows removes no open file
            with suppress(OSError):
                path.unlink(missing_ok=True)


def held_in(folder: Path, *, without: HeldText) -> Iterator[str]:
    """What others hold here just now."""
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        if path != without.path and (text := _text(path)) is not None:
            yield text


def _text(path: Path) -> str | None:
    try:
        descriptor = open_file(path, READ_WRITE)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        if not lock_file(descriptor):
            return os.read(descriptor, _MOST_BYTES).decode(errors="replace")
    finally:
        os.close(descriptor)
    path.unlink(missing_ok=True)  # whoever held it is gone, and nobody else is given its name
    return None
