"""Markdown that is still being written: how much of it is finished, and how it looks."""

from __future__ import annotations

import io
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.token import Token

_PADDING = re.compile(r" +((?:\x1b\[[0-9;]*m)*)$")  # that a line of rich is filled up with
_BEGINS_BLOCK = re.compile(r"\s*(?:#|[-*+>|] |\d+[.)]|```|~~~|---|\*\*\*)")
_PUNCTUATION = re.compile(r"([^\w\s])")


@dataclass(frozen=True, slots=True)
class MarkdownPiece:
    """Some blocks. `goes_on`: it begins inside of the list that the piece before ends with."""

    text: str
    goes_on: bool = False


class MarkdownStream:
    """Takes a text as it comes. What no later word can change is handed over once."""

    def __init__(self) -> None:
        self._text = ""
        self._in_list = False

    def add(self, text: str) -> None:
        self._text += text

    @property
    def rest(self) -> MarkdownPiece:
        """What may still change."""
        return MarkdownPiece(self._text, self._in_list)

    def take_finished(self) -> MarkdownPiece | None:
        """All before the last block, or before the last item where that is a list."""
        line, in_list = _last_beginning(self._text)
        if not line:
            return None
        lines = self._text.splitlines(keepends=True)
        taken = MarkdownPiece("".join(lines[:line]), self._in_list)
        self._text, self._in_list = "".join(lines[line:]), in_list
        return taken

    def take_rest(self) -> MarkdownPiece:
        """The text is over."""
        taken, self._text, self._in_list = self.rest, "", False
        return taken


def _last_beginning(text: str) -> tuple[int, bool]:
    """The line where the last block begins, and whether that is inside of a list."""
    from markdown_it import MarkdownIt

    tokens = MarkdownIt().enable(["strikethrough", "table"]).parse(text)
    blocks = [one for one in tokens if one.level == 0 and one.map and one.nesting >= 0]
    if not blocks:
        return 0, False
    items = [one for one in tokens if one.type == "list_item_open" and one.level == 1]
    last = _line(blocks[-1])
    inside = [line for line in map(_line, items) if line > last] if _is_list(blocks[-1]) else []
    return (inside[-1], True) if inside else (last, False)


def _line(token: Token) -> int:
    return token.map[0] if token.map else 0


def _is_list(token: Token) -> bool:
    return token.type in ("bullet_list_open", "ordered_list_open")


def with_name(name: str, text: str) -> str:
    """A text that begins with who says it: in its first line where that is plain words."""
    told = "**" + _PUNCTUATION.sub(r"\\\1", name) + ":**"
    return f"{told}\n\n{text}" if _BEGINS_BLOCK.match(text) else f"{told} {text.lstrip()}"


def markdown_lines(text: str, width: int) -> list[str]:
    """As it looks on a terminal of that width, line by line, without empty lines around it."""
    from rich.console import Console

    from .markdown_look import AnswerMarkdown

    console = Console(
        file=io.StringIO(),
        force_terminal=True,
        legacy_windows=False,
        width=max(width, 20),
        no_color=bool(os.environ.get("NO_COLOR")),
        highlight=False,
    )
    with console.capture() as capture:
        console.print(AnswerMarkdown(text))
    return _trimmed([_PADDING.sub(r"\1", line) for line in capture.get().split("\n")])


def _trimmed(lines: Sequence[str]) -> list[str]:
    shown = [number for number, line in enumerate(lines) if line.strip()]
    return list(lines[shown[0] : shown[-1] + 1]) if shown else []
