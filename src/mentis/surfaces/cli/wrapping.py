"""Lines of prose on a terminal, broken between words.

A command in them stays in one piece, so that it can be copied: where it is longer than the line,
the terminal breaks it. In a pipe nothing is broken, and neither is a text of several lines.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TextIO

from .tables import cell_width

# A command as it would be copied, up to the end of its clause; what stands in backticks; a word.
_UNIT = re.compile(r"`[^`]*`\S*|\(?(?:mentis|python|pip|uv) .*?(?:[,;:.)](?=\s)|$)|\S+")
_LABEL = re.compile(r"\s*\S.{0,30}?\s{2,}(?=\S)")
_DATA = ("{", "[", '"')
_USUAL = 80


def stream_width(stream: TextIO | None) -> int | None:
    """The columns of a terminal; None where it is none."""
    if stream is None or not stream.isatty():
        return None
    if (columns := os.environ.get("COLUMNS", "")).isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or _USUAL
    except OSError:  # a stream that only says that it is one
        return _USUAL


def prose_lines(text: str, width: int | None) -> str:
    """A line of prose as lines that fit; what follows hangs below its label, or is indented."""
    if width is None or cell_width(text) <= width or "\n" in text:
        return text
    if text.lstrip().startswith(_DATA):
        return text
    label = _LABEL.match(text)
    spaces = len(text) - len(text.lstrip())
    hang = cell_width(label[0]) if label else spaces + 2 * bool(spaces)
    if hang > width // 2:
        hang = spaces + 2
    head = label[0] if label else " " * spaces
    return "\n".join(_broken(head, text[len(head) :], width, " " * hang))


def _broken(head: str, text: str, width: int, hang: str) -> Iterator[str]:
    line, empty = head, True
    for found in _UNIT.finditer(text):
        unit = found[0]
        longer = f"{line}{'' if empty else ' '}{unit}"
        if empty or cell_width(longer) <= width:
            line, empty = longer, False
            continue
        yield line
        line = f"{hang}{unit}"
    yield line
