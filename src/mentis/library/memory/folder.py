"""The folder with a persona's memory files: reads and writes them, and nothing beside them."""

from __future__ import annotations

import stat
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Protocol

from mentis.disk.atomic import unwritable, write_atomic
from mentis.disk.inside import inside
from mentis.disk.lock import write_lock
from mentis.disk.seen import SeenFile
from mentis.errors import PersonaError
from mentis.ports.revisions import Revisions

_LOCK = ".lock"
# Far more than any limit; a file beyond it is some mistake, and is not read at all.
MOST_BYTES = 1_000_000


class MemoryPlace(Protocol):
    """Where the files are."""

    def path(self, name: str) -> Path: ...

    def read(self, name: str) -> str | None: ...

    def write(self, name: str, text: str) -> None: ...

    def lock(self, *, seconds: float) -> AbstractContextManager[None]: ...


class RevisedFiles:
    """No files but revisions: the newest one of each is what the file says. Who writes on top of an
    older one is refused by their store, so nobody has to wait here.
    """

    def __init__(self, revisions: Revisions, persona_id: str) -> None:
        self._revisions = revisions
        self._persona = persona_id

    def path(self, name: str) -> Path:
        """As it is called: there is no such file on this machine."""
        return Path("personas", self._persona, "memory", f"{name}.md")

    def read(self, name: str) -> str | None:
        newest = self._revisions.history(revision_key(self._persona, name), last=1)
        return newest[-1].content if newest else None

    def write(self, name: str, text: str) -> None:
        """The revision that is saved next is the file."""

    @contextmanager
    def lock(self, *, seconds: float) -> Generator[None]:  # noqa: ARG002 - nobody waits
        yield


def revision_key(persona_id: str, name: str) -> str:
    return f"memory:{persona_id}/{name}.md"


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
