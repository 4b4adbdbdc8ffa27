"""Sealed segments as files: written before the store lets go, read as they are asked for."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from typing import BinaryIO

from mentis.disk.atomic import sync_folder, unwritable, write_atomic
from mentis.disk.inside import inside
from mentis.errors import Defect, StoreDamaged
from mentis.ledger.segments import is_genuine, read_head, read_segment, segment_name, write_segment
from mentis.ledger.statements import erase_fields
from mentis.settings.settings import Settings
from mentis.stores.files.home import Home
from mentis.system.files import READ, open_file
from mentis.values.checkpoint import KeptNote, Segment
from mentis.values.digest import digest
from mentis.values.entry import Entry, SeenSegment

_NAMES = "segment-*.jsonl"
_ASIDE = "given-up-"  # what begins so was a segment of a history that was given up
_LONGEST_HEAD = 1024 * 1024


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """`identity` is another one once the file was written anew."""

    path: Path
    segment: Segment
    identity: tuple[int, ...] = ()

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

    def ends_with(self, kept: str | None) -> bool:
        """Whether its last entry has this hash, which all before it lead to."""
        try:
            last = self.at(self.segment.last)
        except StoreDamaged:
            return False
        return last is not None and last.hash == kept

    def stands(self) -> bool:
        """Whether it is still the file that was looked at."""
        try:
            return self.identity == _identity(self.path.lstat())
        except OSError:
            return False

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


@dataclass(frozen=True, slots=True)
class FoundSegments:
    """What stood in the folder at one moment: segments in their order, and what else is there.

    `strange` are segments that are another agent's, or not what they are called. `damage` says why
    nothing of it could be read.
    """

    files: tuple[SegmentFile, ...] = ()
    strange: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    damage: str = ""

    def fitting(self, kept: Callable[[int], str | None]) -> FoundSegments:
        """Without those that another one has entries of, and that are not those of the ledger.

        `kept` says which hash the store has kept of an index. Where none of them fits, all stay.
        """
        chosen: list[SegmentFile] = []
        for crossing in _crossing(self.files):
            alone = len(crossing) == 1
            fit = [f for f in crossing if alone or f.ends_with(kept(f.segment.last))]
            chosen += fit or crossing
        return replace(self, files=tuple(chosen))

    def entries(self, *, before: int, start: int = 0) -> Iterator[Entry]:
        """Those from `start` on, up to where the store begins; each is there once."""
        for file, at in self.reading(before=before, start=start):
            for entry in file.entries():
                if at <= entry.index < before:
                    yield entry

    def reading(self, *, before: int, start: int = 0) -> Iterator[tuple[SegmentFile, int]]:
        """The files that are read for that, each with the index from which on it is."""
        at = start
        for file in self.files:
            if file.segment.first < before and file.segment.last >= at:
                yield file, at
                at = file.segment.last + 1

    def first_covered(self, before: int) -> int:
        """The first index from which on nothing is missing up to `before`."""
        for file in reversed(self.files):
            if file.segment.first < before <= file.segment.last + 1:
                before = file.segment.first
        return before

    def notes(self, start: int, end: int) -> Iterator[KeptNote]:
        """The checkpoints in the heads of the segments between the two."""
        for file in self.files:
            segment = file.segment
            if start <= segment.first and segment.last < end:
                yield KeptNote(segment.note, file.path.name, outside=False)


def _crossing(files: Sequence[SegmentFile]) -> Iterator[list[SegmentFile]]:
    """Those that have entries of one another together; mostly each is alone."""
    group: list[SegmentFile] = []
    end = -1
    for file in files:
        if group and file.segment.first > end:
            yield group
            group = []
        group.append(file)
        end = max(end, file.segment.last)
    if group:
        yield group


class SegmentFolder:
    """The segments of one agent, in their order."""

    def __init__(self, path: Path, agent: str) -> None:
        self.path = path
        self._agent = agent

    def files(self) -> tuple[SegmentFile, ...]:
        """Those of this agent, named as their heads say; whatever else is there is a stray."""
        return self._ours(self._found())

    def look(self) -> FoundSegments:
        try:
            found = self._found()
            ours = self._ours(found)
            strange = tuple(file.path.name for file in found if file not in ours)
            return FoundSegments(ours, strange, self._others())
        except StoreDamaged as damage:
            return FoundSegments(damage=damage.message)

    def _others(self) -> tuple[str, ...]:
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

    def seen_segments(self) -> tuple[SeenSegment, ...]:
        """What stands there, told by heads and sizes alone."""
        return tuple(_seen(file) for file in self._found())

    def find(self, index: int, kept: str) -> Entry | None:
        """The entry whose hash was kept; StoreDamaged where segments have only another there."""
        there = [file for file in self.files() if file.holds(index)]
        holding = [file for file in there if self._has(file, index, kept)]
        if there and not holding:
            raise _another(there[0], index)
        return holding[0].at(index) if holding else None

    def holding(self, index: int, kept: str) -> tuple[SegmentFile, ...]:
        """Mostly one; more where a rotation was cut short, or segments were set aside.

        StoreDamaged where a segment has another in its place.
        """
        there = [file for file in self.files() if file.holds(index)]
        for file in there:
            if not self._has(file, index, kept):
                raise _another(file, index)
        aside = [file for file in self._aside() if file.holds(index)]
        return (*there, *(file for file in aside if self._has(file, index, kept)))

    def _has(self, file: SegmentFile, index: int, kept: str) -> bool:
        entry = file.at(index)
        return entry is not None and is_genuine(entry, self._agent, index, kept)

    def _aside(self) -> list[SegmentFile]:
        """What was given up begins as the ledger does: what is erased here stands there, too."""
        found = (self._opened(path) for path in sorted(self.path.glob(f"{_ASIDE}*.jsonl")))
        return [file for file in found if file.segment.agent == self._agent]

    def set_aside(self, file: SegmentFile) -> Path:
        """Keep it under another name, where it is no part of the record."""
        names = (f"{_ASIDE}{number}-{file.path.name}" for number in count(1))
        path = next(path for path in map(self.path.joinpath, names) if not path.exists())
        try:
            file.path.rename(path)
            sync_folder(self.path)
        except OSError as error:
            raise unwritable(file.path, error) from error
        return path

    def erase(self, file: SegmentFile, index: int, fields: Collection[str]) -> None:
        """Write it anew without value and salt of these fields. Hashes and checkpoint stay."""
        left = (erase_fields(e, fields) if e.index == index else e for e in file.entries())
        write_atomic(file.path, write_segment(file.segment, left))

    def seal(self, file: SegmentFile, note: str) -> None:
        """Write it anew with another checkpoint at its end; its entries stay as they are."""
        sealed = replace(file.segment, note=note)
        write_atomic(file.path, write_segment(sealed, file.entries()))

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

    def _ours(self, found: Sequence[SegmentFile]) -> tuple[SegmentFile, ...]:
        ours = [
            file
            for file in found
            if file.segment.agent == self._agent and file.path.name == segment_name(file.segment)
        ]
        return tuple(sorted(ours, key=lambda file: file.segment.first))

    def _opened(self, path: Path) -> SegmentFile:
        with _opened(path) as lines:
            try:
                segment = read_head(lines.readline(_LONGEST_HEAD))
            except StoreDamaged as damage:
                raise StoreDamaged(f"{path.name}: {damage.message}") from damage
            return SegmentFile(path, segment, _identity(os.fstat(lines.fileno())))


@contextmanager
def _opened(path: Path) -> Generator[BinaryIO]:
    """Only a plain file: whatever else lies there might lead elsewhere or never end."""
    try:
        descriptor = open_file(path, READ)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise StoreDamaged(f"{path}: the segment cannot be read: it is no plain file")
        with os.fdopen(descriptor, "rb") as file:
            yield file
    except OSError as error:
        raise StoreDamaged(f"{path}: the segment cannot be read: {error.strerror}") from error


def _identity(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _another(file: SegmentFile, index: int) -> StoreDamaged:
    return StoreDamaged(
        f"{file.path.name}: entry {index} in it is not the one that the ledger has",
        hint="`mentis verify` names what is wrong",
        index=index,
    )


def _seen(file: SegmentFile) -> SeenSegment:
    with _opened(file.path) as lines:
        size = os.fstat(lines.fileno()).st_size
        return SeenSegment(file.path.name, size, digest(lines.readline(_LONGEST_HEAD)))


def open_segments(home: Home, settings: Settings, persona: str, agent: str) -> SegmentFolder:
    chosen = settings.model.ledger.segments
    if not chosen:
        return SegmentFolder(inside(home.path, f"ledger/{persona}"), agent)
    return SegmentFolder(home.path / chosen / persona, agent)
