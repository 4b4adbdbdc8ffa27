"""Senses as files in a folder: each is taken once, and let go when that is recorded.

Only plain files count: a link could lead anywhere, and a pipe would hold up the agent. What cannot
be read as a sense is put aside, never thrown away. Names that begin with a dot are still being
written.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from heapq import nsmallest
from pathlib import Path

from anyio import to_thread

from mentis.disk.atomic import sync_folder, unwritable, write_atomic
from mentis.errors import BadInput, StoreError, UsageError
from mentis.system.files import READ, open_file
from mentis.values.cognition import Sense
from mentis.values.digest import digest
from mentis.values.trust import Trust
from mentis.values.value import Value

from .given import OWN_DOORS, read_object, read_sense
from .sealed import SEAL, Seals

TAKEN, REFUSED = "taken", "refused"
_SHOWN = 2000  # bytes
_LOOKED_AT = 256  # files at a time; the others wait where they are


@dataclass(frozen=True, slots=True)
class RefusedSense(Value):
    """Something that was no sense, where it was, and why not."""

    name: str
    reason: str


Refuse = Callable[[RefusedSense], None]


@dataclass(frozen=True, slots=True)
class _File:
    """A file as it was when it was read: another one of the same name is another one."""

    name: str
    inode: int
    changed: int
    size: int

    @classmethod
    def of(cls, name: str, found: os.stat_result) -> _File:
        return cls(name, found.st_ino, found.st_mtime_ns, found.st_size)


class SenseFolder:
    """`keeps`: what was taken goes to `taken/`, else it is removed. What is refused goes to
    `refused/`. `trust` is who vouches for all of it. `seals` are for the agent's own folder: what
    the program puts back there comes as it was.
    """

    def __init__(
        self,
        path: Path,
        *,
        trust: Trust = Trust.UNTRUSTED,
        keeps: bool = True,
        most_bytes: int = 262_144,
        seals: Seals | None = None,
    ) -> None:
        self._path = path
        self._trust = trust
        self._keeps = keeps
        self._most = most_bytes
        self._seals = seals
        self._held: dict[str, _File] = {}
        self._told: set[str] = set()
        self.refuse: Refuse = _unheard  # the loop listens here

    async def take(self, most: int) -> tuple[Sense, ...]:
        return await to_thread.run_sync(self._take, most)

    async def done(self, ids: Collection[str]) -> None:
        held = [self._held.pop(one) for one in ids if one in self._held]
        if held:
            await to_thread.run_sync(self._let_go, held)

    def _take(self, most: int) -> tuple[Sense, ...]:
        self._held = {}
        senses: list[Sense] = []
        for name in self._waiting():
            if len(senses) == most:
                break
            try:
                sense, file = self._read(name)
            except FileNotFoundError:
                continue  # somebody took it away again
            except BadInput as error:
                self._put_aside(name, error.message)
                continue
            self._held[sense.id] = file
            senses.append(sense)
        return tuple(senses)

    def _waiting(self) -> list[str]:
        """The oldest first."""
        try:
            found = nsmallest(_LOOKED_AT, self._files())
        except OSError as error:
            raise StoreError(
                f"{self._path}: cannot be looked into: {error.strerror}",
                hint="make the folder readable, or name another one",
            ) from error
        return [name for _, name in found]

    def _files(self) -> Iterator[tuple[int, str]]:
        gone = set(self._told)
        with os.scandir(self._path) as entries:
            for entry in entries:
                gone.discard(entry.name)
                if entry.name.startswith(".") or entry.name in (TAKEN, REFUSED):
                    continue
                if not entry.is_file(follow_symlinks=False):
                    self._tell(entry.name, "it is no plain file, and stays where it is")
                    continue
                with suppress(FileNotFoundError):
                    yield entry.stat(follow_symlinks=False).st_mtime_ns, entry.name
        self._told -= gone

    def _read(self, name: str) -> tuple[Sense, _File]:
        path = self._path / name
        try:
            descriptor = open_file(path, READ)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise BadInput(f"it cannot be read: {error.strerror}") from error
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise BadInput("it is no plain file")
            content = file.read(self._most + 1)
        if len(content) > self._most:
            raise BadInput(f"it is larger than {self._most} bytes")
        seen = _File.of(name, found)
        return self._sense(seen, content), seen

    def _sense(self, file: _File, content: bytes) -> Sense:
        told = f"{file.name}\n{file.inode}\n{file.changed}\n{digest(content)}"
        delivery = f"file:{digest(told.encode('utf-8', 'surrogateescape'))[7:39]}"
        if file.name.endswith(".json"):
            given = read_object(content)
            if self._seals is not None and SEAL in given:
                return self._seals.read(given, delivery)
            doors = () if self._seals is None else OWN_DOORS
            return read_sense(given, delivery, endpoint="folder", trust=self._trust, doors=doors)
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            raise BadInput("it is neither UTF-8 text nor JSON") from error
        payload = {"name": _shown(file.name), "text": text}
        return Sense(delivery, "file", payload, self._trust, "folder")

    def _let_go(self, files: list[_File]) -> None:
        """One that has changed since stays: it is another one now, and is taken as such."""
        for file in files:
            path = self._path / file.name
            try:
                if _File.of(file.name, path.lstat()) != file:
                    continue
                self._move(file.name, TAKEN) if self._keeps else path.unlink()
            except FileNotFoundError:
                continue
            except OSError as error:
                raise unwritable(path, error) from error
        sync_folder(self._path)

    def _put_aside(self, name: str, reason: str) -> None:
        try:
            self._move(name, REFUSED)
        except OSError as error:
            reason = f"{reason}; it could not be put aside: {error.strerror}"
        self._tell(name, reason)

    def _move(self, name: str, where: str) -> None:
        folder = self._path / where
        folder.mkdir(mode=0o700, exist_ok=True)
        if not stat.S_ISDIR(folder.lstat().st_mode):
            raise OSError(f"{folder} is no folder")
        (self._path / name).rename(_free(folder, name))

    def _tell(self, name: str, reason: str) -> None:
        """Once for each as long as it lies there."""
        if name not in self._told:
            self._told.add(name)
            self.refuse(RefusedSense(_shown(name), reason))


def drop_in(folder: Path, name: str, content: str, *, most: int, most_bytes: int) -> Path:
    """Put a sense into the folder of an agent, whole or not at all; refused while it is full."""
    try:
        size = len(content.encode())
    except UnicodeEncodeError as error:
        raise BadInput("a sense is text that UTF-8 can say", hint="give it as UTF-8") from error
    if size > most_bytes:
        raise BadInput(
            f"a sense has at most {most_bytes} bytes", hint="say less, or raise `run.file_bytes`"
        )
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        waiting = len(_there(folder))
    except OSError as error:
        raise unwritable(folder, error) from error
    if waiting >= most:
        raise UsageError(
            f"{waiting} senses wait already and nobody has taken them",
            hint="let the agent take them (mentis run), or raise `run.waiting`",
            waiting=waiting,
        )
    path = folder / name
    write_atomic(path, content)
    return path


def look_in(folder: Path) -> list[tuple[str, str]]:
    """What waits there, by name, and how it begins."""
    if not folder.is_dir():
        return []
    found: list[tuple[str, str]] = []
    for name in _there(folder):
        with suppress(OSError), os.fdopen(open_file(folder / name, READ), "rb") as file:
            found.append((_shown(name), file.read(_SHOWN).decode("utf-8", "replace")))
    return found


def _there(folder: Path) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(
            entry.name
            for entry in entries
            if not entry.name.startswith(".") and entry.is_file(follow_symlinks=False)
        )


def _free(folder: Path, name: str) -> Path:
    """Nothing that was put there before is written over."""
    path, number = folder / name, 1
    while os.path.lexists(path):
        path, number = folder / f"{number}-{name}", number + 1
    return path


def _shown(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _unheard(_refused: RefusedSense) -> None:
    """No loop listens yet."""
