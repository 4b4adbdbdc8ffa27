"""Sealed segments as files: written before the store lets go, read as they are asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from mentis.disk.atomic import sync_folder, unwritable, write_atomic
from mentis.disk.inside import inside
from mentis.errors import Defect, StoreDamaged
from mentis.ledger.segments import read_head, read_segment, segment_name, write_segment
from mentis.ledger.statements import erase_fields
from mentis.stores.files.home import Home
from mentis.values.checkpoint import KeptNote, Segment
from mentis.values.entry import Entry

from .settings import Settings


@dataclass(frozen=True, slots=True)
class SegmentFile:
    path: Path
    segment: Segment

    def entries(self) -> Iterator[Entry]:
        with self.path.open("rb") as lines:
            _, entries = read_segment(lines)
            yield from entries

    def last_time(self) -> str:
        """When its last entry was made."""
        time = ""
        for entry in self.entries():
            time = entry.time
        return time


class SegmentFolder:
    """The segments of one agent, in their order."""

    def __init__(self, path: Path, agent: str) -> None:
        self.path = path
        self._agent = agent

    def files(self) -> tuple[SegmentFile, ...]:
        found = [self._opened(path) for path in sorted(self.path.glob("segment-*.jsonl"))]
        ours = [file for file in found if file.segment.agent == self._agent]
        return tuple(sorted(ours, key=lambda file: file.segment.first))

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
        at = start
        for file in self.files():
            if file.segment.first >= before or file.segment.last < at:
                continue
            for entry in file.entries():
                if at <= entry.index < before:
                    yield entry
            at = max(at, file.segment.last + 1)

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

    def find(self, index: int) -> tuple[SegmentFile, Entry] | None:
        for file in self.files():
            if file.segment.first <= index <= file.segment.last:
                found = next(islice(file.entries(), index - file.segment.first, None), None)
                return None if found is None else (file, found)
        return None

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

    def _opened(self, path: Path) -> SegmentFile:
        try:
            with path.open("rb") as lines:
                return SegmentFile(path, read_head(lines.readline()))
        except OSError as error:
            raise StoreDamaged(f"{path}: the segment cannot be read: {error.strerror}") from error


def open_segments(home: Home, settings: Settings, persona: str, agent: str) -> SegmentFolder:
    chosen = settings.model.ledger.segments
    if not chosen:
        return SegmentFolder(inside(home.path, f"ledger/{persona}"), agent)
    return SegmentFolder(home.path / chosen / persona, agent)
