"""The folder with a persona's memory files: reads and writes them, and nothing beside them."""

from __future__ import annotations

import stat
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from mentis.disk.atomic import unwritable, write_atomic
from mentis.disk.inside import inside
from mentis.disk.lock import write_lock
from mentis.disk.seen import SeenFile
from mentis.errors import PersonaError

_LOCK = ".lock"
# Far more than any limit; a file beyond it is some mistake, and is not read at all.
MOST_BYTES = 1_000_000


class MemoryFolder:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._around = root.parent
        self._seen: dict[str, SeenFile[str | None]] = {}

    def path(self, name: str) -> Path:
        """Where a file stands; a link that leads out of the persona's folder is refused."""
        return inside(self._around, f"{self._root.name}/{name}.md")

    def read(self, name: str) -> str | None:
        """The text of a file, or None if there is no such file."""
        seen = self._seen.get(name)
        if seen is None:
            seen = self._seen[name] = SeenFile(self._root / f"{name}.md")
        return seen.read(partial(self._read, name))

    def _read(self, name: str) -> str | None:
        path = self.path(name)
        try:
            found = path.stat()
            if not stat.S_ISREG(found.st_mode):
                raise _unreadable(path, "it is not a plain file")
            if found.st_size > MOST_BYTES:
                raise _unreadable(path, f"it has {found.st_size} bytes; {MOST_BYTES} is the most")
            return path.read_bytes().decode()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unreadable(path, error.strerror or str(error)) from error
        except UnicodeDecodeError as error:
            raise _unreadable(path, f"it is not UTF-8 at byte {error.start}") from error

    def write(self, name: str, text: str) -> None:
        write_atomic(self.path(name), text)

    @contextmanager
    def lock(self, *, seconds: float) -> Generator[None]:
        """One writer at a time. The folder is made if it is not there."""
        folder = inside(self._around, self._root.name)
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise unwritable(folder, error) from error
        with write_lock(folder / _LOCK, seconds=seconds):
            yield


def _unreadable(path: Path, reason: str) -> PersonaError:
    return PersonaError(
        f"{path}: cannot be read: {reason}",
        hint="fix the file, or move it away: a new one is made from the template",
        file=str(path),
    )
