"""A disk that remembers every write and every sync, and can be taken back to any moment.

SQLite itself does the writing, through a file system of our own (apsw), under the pragmas and
transactions of the real `Database`. Between two syncs of a file a real disk may have kept any of
its writes, in any order, the last of them cut anywhere at a sector.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Literal

import apsw

from mentis.stores.sqlite.database import Database

SECTOR = 512
_NAMES = count(1)


@dataclass(frozen=True, slots=True)
class Event:
    kind: Literal["write", "cut", "sync", "remove", "mark"]
    file: str = ""
    offset: int = 0
    data: bytes = b""


@dataclass(slots=True)
class Tape:
    """What reached the operating system, in order, and where the program acknowledged something."""

    events: list[Event] = field(default_factory=list[Event])

    def mark(self) -> None:
        self.events.append(Event("mark"))

    def acknowledged(self, moment: int) -> int:
        return sum(event.kind == "mark" for event in self.events[:moment])


class _Disk(apsw.VFS):
    def __init__(self, name: str, tape: Tape) -> None:
        self._tape = tape
        super().__init__(name, base="")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: ANN401, N802 - apsw's
        return _File(name, flags, self._tape)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802 - apsw's
        super().xDelete(filename, syncdir)
        self._tape.events.append(Event("remove", Path(filename).name))


class _File(apsw.VFSFile):
    def __init__(self, name: Any, flags: list[int], tape: Tape) -> None:  # noqa: ANN401 - apsw's
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._name = Path(path).name
        self._tape = tape
        super().__init__("", name, flags)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: ANN401, N802 - apsw's
        super().xWrite(data, offset)  # pyright: ignore[reportUnknownMemberType]  # apsw's bytes
        self._tape.events.append(Event("write", self._name, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - apsw's
        super().xTruncate(newsize)
        self._tape.events.append(Event("cut", self._name, newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802 - apsw's
        super().xSync(flags)
        self._tape.events.append(Event("sync", self._name))


class RecordedDatabase(Database):
    """The real one; only the connection is apsw's, on the disk that remembers."""

    def __init__(self, path: Path, tape: Tape) -> None:
        self._vfs = f"tape-{next(_NAMES)}"
        self._disk = _Disk(self._vfs, tape)
        super().__init__(path)

    def _connect_writable(self) -> Any:  # noqa: ANN401 - apsw's for sqlite3's
        return apsw.Connection(str(self.path), vfs=self._vfs)

    def close(self) -> None:
        super().close()
        self._disk.unregister()


def disks_after(tape: Tape, moment: int, chance: random.Random) -> Iterator[dict[str, bytes]]:
    """What may be on the disk when the power goes right before event `moment`."""
    settled: dict[str, bytearray] = {}
    open_: dict[str, list[Event]] = {}
    for event in tape.events[:moment]:
        match event.kind:
            case "sync":
                _play(settled, open_.pop(event.file, []))
            case "remove":
                settled.pop(event.file, None)
                open_.pop(event.file, None)
            case "write" | "cut":
                open_.setdefault(event.file, []).append(event)
            case "mark":
                pass
    loose = [event for events in open_.values() for event in events]
    last = tape.events[moment - 1] if moment else None
    for kept in [*_ways(loose, chance), *_tears(loose, last)]:
        disk = {name: bytearray(content) for name, content in settled.items()}
        _play(disk, kept)
        yield {name: bytes(content) for name, content in disk.items()}


def _ways(loose: list[Event], chance: random.Random) -> Iterator[list[Event]]:
    """None of the loose writes, all, the last alone, all but the first, odd sectors of any."""
    yield []
    if not loose:
        return
    yield loose
    yield loose[-1:]
    yield loose[1:]
    sectors = [piece for event in loose for piece in _pieces(event)]
    for _ in range(2):
        yield chance.sample(sectors, chance.randint(0, len(sectors)))


def _tears(loose: list[Event], last: Event | None) -> Iterator[list[Event]]:
    """The write that was just made, cut at each of its sectors; those before it are there."""
    if last is None or last.kind != "write":
        return
    before, pieces = [event for event in loose if event is not last], _pieces(last)
    for kept in range(1, len(pieces)):
        yield [*before, *pieces[:kept]]


def _pieces(event: Event) -> list[Event]:
    """By the sectors of the disk, not of the write."""
    if event.kind != "write":
        return [event]
    found: list[Event] = []
    at, end = event.offset, event.offset + len(event.data)
    while at < end:
        until = min(end, (at // SECTOR + 1) * SECTOR)
        data = event.data[at - event.offset : until - event.offset]
        found.append(Event("write", event.file, at, data))
        at = until
    return found


def _play(disk: dict[str, bytearray], events: list[Event]) -> None:
    for event in events:
        content = disk.setdefault(event.file, bytearray())
        if event.kind == "cut":
            del content[event.offset :]
            continue
        content.extend(bytes(max(0, event.offset - len(content))))
        content[event.offset : event.offset + len(event.data)] = event.data
