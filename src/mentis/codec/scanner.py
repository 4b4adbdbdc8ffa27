"""Shared parts of the JSON and TOML scanners: a cursor over a text, and offsets by path.

A scanner looks only for positions. It never judges the text: where it cannot go on, it stops.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]


class ScanError(Exception):
    """The text does not continue as its syntax asks."""


@dataclass(slots=True)
class PathOffsets:
    """Offsets by path. `implied` holds tables that exist only because something is inside them."""

    values: dict[Path, int] = field(default_factory=dict[Path, int])
    keys: dict[Path, int] = field(default_factory=dict[Path, int])
    implied: dict[Path, int] = field(default_factory=dict[Path, int])

    def add(self, path: Path, offset: int) -> None:
        self.values.setdefault(path, offset)

    def add_key(self, path: Path, offset: int) -> None:
        self.keys.setdefault(path, offset)
        self.implied.setdefault(path, offset)

    def find(self, path: Path, *, key: bool) -> int | None:
        if key and path in self.keys:
            return self.keys[path]
        return self.values.get(path, self.implied.get(path))


class Cursor:
    """A text and how far it has been read."""

    def __init__(self, text: str, blank: re.Pattern[str]) -> None:
        self.text = text
        self.at = 0
        self._blank = blank

    @property
    def done(self) -> bool:
        return self.at >= len(self.text)

    def skip(self) -> None:
        self.take(self._blank)

    def peek(self, start: str) -> bool:
        return self.text.startswith(start, self.at)

    def accept(self, token: str) -> bool:
        found = self.peek(token)
        if found:
            self.at += len(token)
        return found

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise ScanError

    def take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise ScanError
        self.at = match.end()
        return match.group()
