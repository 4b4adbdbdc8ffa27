"""Where each value of a TOML text stands."""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress

from .scanner import Cursor, Path, PathOffsets, ScanError

_BLANK = re.compile(r"[ \t]*")
_BLANK_LINES = re.compile(r"(?:[\s\ufeff]|#[^\n]*)*")
_REST_OF_LINE = re.compile(r"[^\n]*")
_KEY = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
_STRING = re.compile(
    r'''"""(?:\\.|(?!""").)*"""+'''  # up to two quotes may stand before the closing three
    r"|'''(?:(?!''').)*'''+"
    r"""|"(?:[^"\\\n]|\\.)*"|'[^'\n]*\'""",
    re.DOTALL,
)
_BARE = re.compile(r"[^,\[\]{}\s#]+(?: \d\d:[^,\]}\s#]+)?")  # a date may hold one space


def scan_toml(text: str) -> PathOffsets:
    scan = _TomlScan(text)
    scan.document()
    return scan.places


class _TomlScan:
    def __init__(self, text: str) -> None:
        self.places = PathOffsets()
        self._cursor = Cursor(text, _BLANK)
        self._table: Path = ()
        self._lengths: dict[Path, int] = {}  # of the arrays of tables, so far

    def document(self) -> None:
        """Statement by statement; one that makes no sense is left behind with its line."""
        cursor = self._cursor
        self.places.add((), 0)
        cursor.take(_BLANK_LINES)
        while not cursor.done:
            with suppress(ScanError, RecursionError):
                self._statement()
            cursor.take(_REST_OF_LINE)
            cursor.take(_BLANK_LINES)

    def _statement(self) -> None:
        cursor = self._cursor
        start = cursor.at
        if cursor.accept("[["):
            self._header(start, in_array=True)
        elif cursor.accept("["):
            self._header(start, in_array=False)
        else:
            self._pair(self._table)

    def _header(self, start: int, *, in_array: bool) -> None:
        table = self._key((), into_array=in_array)
        self._cursor.expect("]]" if in_array else "]")
        self.places.add(table, start)
        self._table = table

    def _pair(self, table: Path) -> None:
        path = self._key(table)
        self._cursor.expect("=")
        self._value(path)

    def _key(self, table: Path, *, into_array: bool = False) -> Path:
        """The path a dotted key leads to; each of its parts is a place."""
        cursor = self._cursor
        path = table
        while True:
            cursor.skip()
            start = cursor.at
            path = (*path, _unquote(cursor.take(_KEY)))
            self.places.add_key(path, start)
            cursor.skip()
            if not cursor.accept("."):
                return self._next_item(path) if into_array else self._newest(path)
            path = self._newest(path)

    def _newest(self, path: Path) -> Path:
        """A name of an array of tables means the table added last."""
        return (*path, self._lengths[path] - 1) if path in self._lengths else path

    def _next_item(self, path: Path) -> Path:
        index = self._lengths.get(path, 0)
        self._lengths[path] = index + 1
        return (*path, index)

    def _value(self, path: Path) -> None:
        cursor = self._cursor
        cursor.skip()
        self.places.add(path, cursor.at)
        if cursor.accept("["):
            self._items(path)
        elif cursor.accept("{"):
            self._members(path)
        elif cursor.peek('"') or cursor.peek("'"):
            cursor.take(_STRING)
        else:
            cursor.take(_BARE)

    def _items(self, path: Path) -> None:
        index = 0
        while not self._closed("]"):
            self._value((*path, index))
            self._separate("]")
            index += 1

    def _members(self, path: Path) -> None:
        while not self._closed("}"):
            self._pair(path)
            self._separate("}")

    def _closed(self, closing: str) -> bool:
        self._cursor.take(_BLANK_LINES)
        return self._cursor.accept(closing)

    def _separate(self, closing: str) -> None:
        self._cursor.take(_BLANK_LINES)
        if not self._cursor.peek(closing):
            self._cursor.expect(",")


def _unquote(token: str) -> str:
    if token[0] not in "\"'":
        return token
    try:
        return tomllib.loads(f"key={token}")["key"]
    except tomllib.TOMLDecodeError as error:
        raise ScanError from error
