"""Sealed segments as files: written before the store lets go, read as they are asked for."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from mentis.disk.atomic import sync_folder, unwritable, write_atomic
from mentis.disk.inside import inside
from mentis.errors import Defect, StoreDamaged
from mentis.ledger.segments import (
    is_genuine,
    read_head,
    read_segment,
    segment_name,
    write_segment,
)
from mentis.ledger.statements import erase_fields
from mentis.stores.files.home import Home
from mentis.values.checkpoint import KeptNote, Segment
from mentis.values.digest import digest
from mentis.values.entry import Entry, SeenSegment

from .settings import Settings

_NAMES = "segment-*.jsonl"
_LONGEST_HEAD = 1024 * 1024


@dataclass(frozen=True, slots=True)
class SegmentFile:
    path: Path
    segment: Segment

    def entries(self) -> Iterator[Entry]:
        """All that its head names, one after the other, or StoreDamaged."""
        segment, place = self.segment, self.segment.first
        with _opened(self.path) as lines:
            for entry in read_segment(lines)[1]:
                if (entry.agent, entry.index) != (segment.agent, place) or place > segment.last:
                    raise self._odd(place, f"entry {entry.index} of {entry.agent} stands there")
                yield entry
                place += 1
        if place <= segment.last:
            raise self._odd(place, "the file ends before it")

    def at(self, index: int) -> Entry | None:
        return next(islice(self.entries(), index - self.segment.first, None), None)

    def holds(self, index: int) -> bool:
        return self.segment.first <= index <= self.segment.last

    def last_time(self) -> str:
        """When its last entry was made."""
        time = ""
        for entry in self.entries():
            time = entry.time
        return time

    def _odd(self, place: int, reason: str) -> StoreDamaged:
        return StoreDamaged(
            f"{self.path.name}: entry {place} is not in its place: {reason}",
            hint="take the file from a copy that verifies",
            index=place,
            column="index",
        )


class SegmentFolder:
    """The segments of one agent, in their order."""

    def __init__(self, path: Path, agent: str) -> None:
        self.path = path
        self._agent = agent

    def files(self) -> tuple[SegmentFile, ...]:
        """Those of this agent, named as their heads say; whatever else is there is a stray."""
        ours = [file for file in self._found() if self._is_ours(file)]
        return tuple(sorted(ours, key=lambda file: file.segment.first))

    def strange(self) -> tuple[str, ...]:
        """The names of segments that are another agent's, or not what they are called."""
        return tuple(file.path.name for file in self._found() if not self._is_ours(file))

    def others(self) -> tuple[str, ...]:
        """Whatever else is in the folder."""
        try:
            there = {path.name for path in self.path.iterdir()}
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise StoreDamaged(f"{self.path}: cannot be read: {error.strerror}") from error
        return tuple(sorted(there - {path.name for path in self.path.glob(_NAMES)}))

    def write(self, segment: Segment, lines: Iterator[bytes]) -> Path:
        """On the disk when it returns."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            sync_folder(self.path.parent)
        except OSError as error:
            raise unwritable(self.path, error) from error
        path = self.path / segment_name(segment)
        write_atomic(path, lines)
        return path

    def entries(self, *, before: int, start: int = 0) -> Iterator[Entry]:
        """Those from `start` on, up to where the store begins; each is there once."""
        for file, at in self.reading(before=before, start=start):
            for entry in file.entries():
                if at <= entry.index < before:
                    yield entry

    def reading(self, *, before: int, start: int = 0) -> Iterator[tuple[SegmentFile, int]]:
        """The files that are read for that, each with the index from which on it is."""
        at = start
        for file in self.files():
            if file.segment.first < before and file.segment.last >= at:
                yield file, at
                at = file.segment.last + 1

    def covered(self, before: int) -> int:
        """The first index from which on nothing is missing up to `before`."""
        for file in reversed(self.files()):
            if file.segment.first < before <= file.segment.last + 1:
                before = file.segment.first
        return before

    def notes(self, start: int, end: int) -> Iterator[KeptNote]:
        """The checkpoints in the heads of the segments between the two."""
        for file in self.files():
            segment = file.segment
            if start <= segment.first and segment.last < end:
                yield KeptNote(segment.note, file.path.name, outside=False)

    def seen(self) -> tuple[SeenSegment, ...]:
        """What stands there, told by heads and sizes alone."""
        return tuple(_seen(file) for file in self._found())

    def find(self, index: int, kept: str) -> Entry | None:
        """The entry whose hash was kept; StoreDamaged where a segment has another in its place."""
        holding = self.holding(index, kept)
        return holding[0].at(index) if holding else None

    def holding(self, index: int, kept: str) -> tuple[SegmentFile, ...]:
        """Mostly one; after a rotation that was cut short there may be more."""
        there = tuple(file for file in self.files() if file.holds(index))
        for file in there:
            entry = file.at(index)
            if entry is None or not is_genuine(entry, self._agent, index, kept):
                raise StoreDamaged(
                    f"{file.path.name}: entry {index} in it is not the one that the ledger has",
                    hint="`mentis status verify` names what is wrong",
                    index=index,
                )
        return there

    def erase(self, file: SegmentFile, index: int, fields: Collection[str]) -> None:
        """Write it anew without value and salt of these fields. Hashes and checkpoint stay."""
        left = (erase_fields(e, fields) if e.index == index else e for e in file.entries())
        write_atomic(file.path, write_segment(file.segment, left))

    def delete(self, file: SegmentFile) -> None:
        if file.path.parent != self.path:
            raise Defect(f"{file.path} is not in {self.path}")
        try:
            file.path.unlink(missing_ok=True)
            sync_folder(self.path)
        except OSError as error:
            raise unwritable(file.path, error) from error

    def _found(self) -> list[SegmentFile]:
        return [self._opened(path) for path in sorted(self.path.glob(_NAMES))]

    def _is_ours(self, file: SegmentFile) -> bool:
        segment = file.segment
        return segment.agent == self._agent and file.path.name == segment_name(segment)

    def _opened(self, path: Path) -> SegmentFile:
        with _opened(path) as lines:
            return SegmentFile(path, read_head(lines.readline(_LONGEST_HEAD)))


@contextmanager
def _opened(path: Path) -> Generator[BinaryIO]:
    """Only a plain file: whatever else lies there might lead elsewhere or never end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise StoreDamaged(f"{path}: the segment cannot be read: it is no plain file")
        with os.fdopen(descriptor, "rb") as file:
            yield file
    except OSError as error:
        raise StoreDamaged(f"{path}: the segment cannot be read: {error.strerror}") from error


def _seen(file: SegmentFile) -> SeenSegment:
    with _opened(file.path) as lines:
        size = os.fstat(lines.fileno()).st_size
        return SeenSegment(file.path.name, size, digest(lines.readline(_LONGEST_HEAD)))


def open_segments(home: Home, settings: Settings, persona: str, agent: str) -> SegmentFolder:
    chosen = settings.model.ledger.segments
    if not chosen:
        return SegmentFolder(inside(home.path, f"ledger/{persona}"), agent)
    return SegmentFolder(home.path / chosen / persona, agent)
