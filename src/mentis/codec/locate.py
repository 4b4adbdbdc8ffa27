"""The one locator: line and column of a value in a TOML or JSON text, by its path of keys."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

from mentis.values.location import Location, Problem

from .scan_json import scan_json
from .scan_toml import scan_toml
from .scanner import PathOffsets

Syntax: TypeAlias = Literal["json", "toml"]


def locate(
    text: str, path: Sequence[str | int], syntax: Syntax, *, key: bool = False
) -> tuple[int, int]:
    """Line and column, from 1, of the value at `path`, or of its key.

    Where the text has no such path, the place is that of the deepest part of it that exists.
    """
    places = _places(text, syntax)
    wanted = tuple(path)
    for length in range(len(wanted), 0, -1):
        offset = places.find(wanted[:length], key=key)
        if offset is not None:
            return _line_and_column(text, offset)
    return _line_and_column(text, places.find((), key=False) or 0)


def problem_at(
    file: str,
    text: str,
    path: Sequence[str | int],
    *,
    syntax: Syntax,
    code: str,
    message: str,
    hint: str = "",
    key: bool = False,
) -> Problem:
    """A problem with the value at `path` of the file that holds `text`."""
    line, column = locate(text, path, syntax, key=key)
    return Problem(code, message, Location(file, line, column), hint)


@lru_cache(maxsize=4)
def _places(text: str, syntax: Syntax) -> PathOffsets:
    return scan_json(text) if syntax == "json" else scan_toml(text)


def _line_and_column(text: str, offset: int) -> tuple[int, int]:
    start_of_line = text.rfind("\n", 0, offset) + 1
    return text.count("\n", 0, offset) + 1, offset - start_of_line + 1
