"""Blobs, too large for a record, as files named by their digest: `blobs/ab/abcd...`.

The name says what must be in it, so every read is checked, and the same content is kept once. A
link is never followed: who can put one there could else have any file read out.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from mentis.disk.atomic import sync_folder, unwritable, write_atomic
from mentis.disk.inside import inside
from mentis.disk.lock import folder_lock
from mentis.disk.seen import Stamp, is_settled, stamp_of
from mentis.errors import StoreDamaged, StoreError
from mentis.system.files import READ, open_file
from mentis.values.digest import Digest, digest

_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_MOST_SEEN = 4096
_HELD_SECONDS = 60.0  # an erasure looks through every entry
_HINT = "put it back from a backup, or forget it"


class FileBlobs:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: OrderedDict[Digest, tuple[Path, Stamp]] = OrderedDict()
        self._here: set[Digest] | None = None  # while nobody else can take one away

    def keep(self, content: bytes) -> Digest:
        name = digest(content)
        if self.has(name):
            return name
        path = self._path(name)
        if self._read(path) == content:
            self._note(name, path)
            return name
        if not path.parent.is_dir():
            self._make_folder(path)
            path = self._path(name)  # looked at again, now that the folder is there
        write_atomic(path, content)
        self._note(name, path)
        return name

    def has(self, digest: Digest) -> bool:
        """Whether the file that was read or written here is still the same one."""
        here = self._here
        if here is not None and digest in here:
            return True
        path, stamp = self._seen.get(digest, (None, None))
        same = path is not None and stamp_of(path) == stamp
        if same and here is not None:
            here.add(digest)
        return same

    def _make_folder(self, path: Path) -> None:
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            path.parent.mkdir(mode=0o700, exist_ok=True)
            sync_folder(self._folder)
        except OSError as error:
            raise unwritable(path, error) from error

    def read(self, digest: Digest, *, start: int = 0, length: int | None = None) -> bytes | None:
        content = self._checked(digest) if _DIGEST.fullmatch(digest) else None
        if content is None:
            return None
        end = None if length is None else max(start, 0) + max(length, 0)
        return content[max(start, 0) : end]

    @contextmanager
    def held(self) -> Generator[None]:
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise unwritable(self._folder, error) from error
        with folder_lock(self._folder, seconds=_HELD_SECONDS):
            self._here = set()
            try:
                yield
            finally:
                self._here = None

    def forget(self, digest: Digest) -> bool:
        if not _DIGEST.fullmatch(digest):
            return False
        path = self._path(digest)
        try:
            path.unlink()
            if self._here is not None:
                self._here.discard(digest)
            sync_folder(path.parent)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise unwritable(path, error) from error
        return True

    def _note(self, name: Digest, path: Path) -> None:
        stamp = stamp_of(path)
        if self._here is not None:
            self._here.add(name)
        if stamp is not None and is_settled(stamp):
            self._seen[name] = path, stamp
            if len(self._seen) > _MOST_SEEN:
                self._seen.popitem(last=False)

    def _path(self, name: Digest) -> Path:
        """OutsideHome if a folder on the way is a link that leads out."""
        figures = name.removeprefix("sha256:")
        inside(self._folder.parent, self._folder.name)
        return inside(self._folder, figures[:2]) / figures

    def _checked(self, name: Digest) -> bytes | None:
        path = self._path(name)
        content = self._read(path)
        if content is not None and digest(content) != name:
            raise StoreDamaged(f"{path} is not what was kept there", hint=_HINT, file=str(path))
        return content

    def _read(self, path: Path) -> bytes | None:
        try:
            descriptor = open_file(path, READ)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise _no_file(path) from error
            raise StoreError(f"{path} cannot be read: {error.strerror}", file=str(path)) from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise _no_file(path)
        with os.fdopen(descriptor, "rb") as file:
            return file.read()


def _no_file(path: Path) -> StoreDamaged:
    return StoreDamaged(f"{path} is no plain file", hint=_HINT, file=str(path))
