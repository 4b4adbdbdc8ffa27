"""Where each value of a JSON text stands."""

from __future__ import annotations

import json
import re
from contextlib import suppress

from .scanner import Cursor, Path, PathOffsets, ScanError

_BLANK = re.compile(r"[\s\ufeff]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BARE = re.compile(r'[^\s,:\[\]{}"]+')


def scan_json(text: str) -> PathOffsets:
    scan = _JsonScan(text)
    with suppress(ScanError, RecursionError):
        scan.value(())
    return scan.places


class _JsonScan:
    def __init__(self, text: str) -> None:
        self.places = PathOffsets()
        self._cursor = Cursor(text, _BLANK)

    def value(self, path: Path) -> None:
        cursor = self._cursor
        cursor.skip()
        self.places.add(path, cursor.at)
        if cursor.accept("{"):
            self._members(path)
        elif cursor.accept("["):
            self._items(path)
        elif cursor.peek('"'):
            cursor.take(_STRING)
        else:
            cursor.take(_BARE)

    def _members(self, path: Path) -> None:
        cursor = self._cursor
        cursor.skip()
        while not cursor.accept("}"):
            start = cursor.at
            member = (*path, _unquote(cursor.take(_STRING)))
            self.places.add_key(member, start)
            cursor.skip()
            cursor.expect(":")
            self.value(member)
            self._separate("}")

    def _items(self, path: Path) -> None:
        cursor = self._cursor
        index = 0
        cursor.skip()
        while not cursor.accept("]"):
            self.value((*path, index))
            self._separate("]")
            index += 1

    def _separate(self, closing: str) -> None:
        cursor = self._cursor
        cursor.skip()
        if not cursor.peek(closing):
            cursor.expect(",")
            cursor.skip()


def _unquote(token: str) -> str:
    try:
        return json.loads(token, strict=False)
    except ValueError as error:
        raise ScanError from error
