"""Lines of a log, one by one: plain or packed by gzip, in UTF-8 or what a Windows program wrote.

What cannot be read is counted and left out; a line is never kept beyond its turn.
"""

from __future__ import annotations

import codecs
import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeAlias, cast

import orjson

MOST_LINE = 64 * 1024 * 1024
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_HEAD = 4
_BUFFER = 1 << 20
Progress: TypeAlias = Callable[[int], None]


def no_progress(count: int) -> None:
    """For whoever does not want to see it."""


@dataclass(slots=True)
class FileFaults:
    """What of one file could not be read. `why` is said of the whole of it."""

    broken: int = 0
    first_broken: int = 0
    long: int = 0
    why: str = ""

    def add_broken(self, number: int) -> None:
        self.broken += 1
        self.first_broken = self.first_broken or number

    def sentences(self) -> Iterator[str]:
        if self.why:
            yield self.why
        if self.broken:
            noun = "line is" if self.broken == 1 else "lines are"
            yield f"{self.broken:,} {noun} not JSON, the first is line {self.first_broken}"
        if self.long:
            yield f"{self.long:,} longer than {MOST_LINE // 1024 // 1024} MB: left out"


@dataclass(slots=True)
class LogFile:
    """One file while it is read. `progress` is told how many bytes of it were read."""

    path: Path
    progress: Progress = no_progress
    faults: FileFaults = field(default_factory=FileFaults)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Lines with their numbers, without the empty ones."""
        try:
            with self.path.open("rb", buffering=_BUFFER) as raw:
                yield from self._lines(raw)
        except OSError as error:
            self.faults.why = f"cannot be read: {error.strerror or error}"
        except (EOFError, zlib.error):
            self.faults.why = "ends in the middle: read up to there"

    def objects(self) -> Iterator[tuple[int, dict[str, object]]]:
        """Lines that are JSON objects."""
        loads = orjson.loads
        for number, line in self.lines():
            try:
                told: object = loads(line)
            except ValueError:
                told = read_odd(line) if line.strip() else ""
            if isinstance(told, dict):
                yield number, cast("dict[str, object]", told)
            elif told is None:
                self.faults.add_broken(number)

    def _lines(self, raw: BinaryIO) -> Iterator[tuple[int, bytes]]:
        head = raw.read(_HEAD)
        raw.seek(0)
        if head == _ZSTD:
            self.faults.why = "is packed by zstd, which is not read: unpack it first (zstd -d)"
            return
        opened = (
            cast("BinaryIO", gzip.open(raw))  # noqa: SIM115  # `raw` is closed by who opened it
            if head[:2] == _GZIP
            else raw
        )
        wide = _WIDE.get(head[:2]) if opened is raw else None
        if wide:
            yield from enumerate(_wide_lines(raw, wide), 1)
        else:
            yield from self._plain(opened, raw)

    def _plain(self, opened: BinaryIO, raw: BinaryIO) -> Iterator[tuple[int, bytes]]:
        before, counted, most = 0, 0, MOST_LINE
        # In a file of this size no line can be too long, and to ask for lines alone is faster.
        small = opened is raw and self.path.stat().st_size < most
        source = opened if small else iter(partial(opened.readline, most), b"")
        for number, line in enumerate(source, 1):
            length = len(line)
            counted += length
            if counted > _BUFFER:
                here, counted = raw.tell(), 0
                self.progress(here - before)
                before = here
            if length == most and not line.endswith(b"\n"):
                self._skip(opened)
            elif not line.isspace():
                yield number, line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        self.progress(raw.tell() - before)

    def _skip(self, opened: BinaryIO) -> None:
        self.faults.long += 1
        while rest := opened.readline(MOST_LINE):
            if rest.endswith(b"\n"):
                return


def _wide_lines(raw: BinaryIO, encoding: str) -> Iterator[bytes]:
    """As UTF-8; half a character in the file is written as the sign for one."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    rest = ""
    while piece := raw.read(1 << 20):
        *whole, rest = (rest + decoder.decode(piece)).split("\n")
        if len(rest) > MOST_LINE:
            rest = ""
        for line in whole:
            yield line.lstrip("\ufeff").encode("utf-8", "replace")
    if rest.strip():
        yield rest.lstrip("\ufeff").encode("utf-8", "replace")


def read_odd(line: bytes) -> object:
    """What strict JSON refuses and others write: numbers that are none, half characters, bytes in
    another encoding. None where it is no JSON at all.
    """
    try:
        return cast("object", json.loads(line.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return None
