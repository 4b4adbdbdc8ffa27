"""Opens files as carefully as the system can: a flag that it does not have counts as none.

Windows has no flag against links and opens no folders: there a link is looked for before, and the
path stands for the folder. Who may write in between can still put one there.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import StrPath


def _flag(name: str) -> int:
    return getattr(os, name, 0)


_NO_LINK = _flag("O_NOFOLLOW") or 1 << 40  # a mark of ours, where the system has no flag
_SAFE = _flag("O_CLOEXEC") | _flag("O_BINARY") | _flag("O_NOINHERIT")
_NO_WAIT = _flag("O_NONBLOCK") | _flag("O_NOCTTY")  # a pipe would hold up whoever opens it
_FOLDER = os.O_RDONLY | _flag("O_DIRECTORY") | _NO_LINK | _SAFE

READ_LINKED = os.O_RDONLY | _NO_WAIT | _SAFE  # whatever a link leads to
READ = READ_LINKED | _NO_LINK
READ_WRITE = os.O_RDWR | _NO_LINK | _SAFE
READ_OR_MAKE = READ_WRITE | os.O_CREAT
APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_LINK | _NO_WAIT | _SAFE
MAKE_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | _SAFE


def open_file(path: StrPath, flags: int, *, folder: int | None = None) -> int:
    """A descriptor; a file that is made is its owner's alone. ELOOP for a link that is not wanted.

    `flags` is one of the above.
    """
    if sys.platform == "win32" and flags & _NO_LINK:
        refuse_link(path)
        flags &= ~_NO_LINK
    return os.open(path, flags, 0o600, dir_fd=folder)


def refuse_link(path: StrPath) -> None:
    """OSError (ELOOP) for a link, by looking: for systems that cannot do it while they open."""
    if os.path.lexists(path) and stat.S_ISLNK(os.lstat(path).st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))


def open_folder(path: Path) -> int:
    """Its own descriptor, where the system opens folders. OSError for a link to one, too."""
    return os.open(path, _FOLDER)


class FolderHandle:
    """An open folder. What is reached through it cannot be led elsewhere by a link on the way."""

    def __init__(self, path: Path) -> None:
        """OSError when it is no folder, or a link to one."""
        self._path = path
        self._descriptor: int | None = None
        if sys.platform != "win32":
            self._descriptor = open_folder(path)
            return
        refuse_link(path)
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def open_file(self, name: str, flags: int) -> int:
        return open_file(self._place(name), flags, folder=self._descriptor)

    def status(self, name: str) -> os.stat_result:
        """Of what is called so, also where that is a link."""
        return os.stat(self._place(name), dir_fd=self._descriptor, follow_symlinks=False)

    def unlink(self, name: str) -> None:
        os.unlink(self._place(name), dir_fd=self._descriptor)

    def names(self) -> list[str]:
        folder = self._path if self._descriptor is None else self._descriptor
        return os.listdir(folder)  # noqa: PTH208  # of a descriptor

    def _place(self, name: str) -> StrPath:
        return self._path / name if self._descriptor is None else name


def sync_folder(folder: Path) -> None:
    """Make names that were given or taken away in it last. Windows does that by itself."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
