"""Data goes to stdout, talk goes to stderr, and nothing is told by colour alone."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, TextIO, TypeVar, cast

import click

from mentis.errors import MentisError

from .shown import safe
from .tables import TextTable, table_lines
from .wrapping import prose_lines, stream_width

if TYPE_CHECKING:
    from rich.console import Console

# Control characters but for tab and newline; a model's answer may hold any of them.
_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
STOPPED = 130  # what a shell calls Ctrl-C; 1 would say that something does not hold
F = TypeVar("F", bound=Callable[..., object])
_sayers: list[Callable[[str], None]] = []


def json_option(command: F) -> F:
    """Add `--json`, handed over as `as_json`: for a command that prints while it works.

    Every other command returns a `Report` and has `prints_report`.
    """
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(
        command
    )


def say_all() -> None:
    """From now on, what the encoding of a stream cannot say is written as its escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def emit_json(value: object) -> None:
    emit(json_text(value))


def json_text(value: object) -> str:
    """JSON that is the same data, and shows what cannot be seen."""
    text = json.dumps(value, ensure_ascii=_narrow(sys.stdout), indent=2, default=_plain)
    return "\n".join(safe(line) for line in text.split("\n"))


def emit_line(value: object) -> None:
    """One JSON value on one line, for output that goes on."""
    emit(safe(json.dumps(value, ensure_ascii=_narrow(sys.stdout), default=_plain)))


def _plain(value: object) -> object:
    from mentis.codec.forms import Value, to_object

    return to_object(cast("Value", value))


def _narrow(stream: TextIO | None) -> bool:
    """Whether it cannot say every character: JSON has escapes of its own for those."""
    return stream is not None and "utf" not in (stream.encoding or "utf-8").casefold()


def emit(text: str, *, end: str = "\n") -> None:
    """Text on stdout; on a terminal, what would steer the terminal is shown instead of obeyed."""
    told = _unsteered(text, sys.stdout)
    click.echo(f"{told}{end}", nl=False, color=True)  # else click takes escapes out of data


def emit_prose(line: str) -> None:
    """A line of ours on stdout: a terminal gets it broken between words."""
    emit(prose_lines(line, stream_width(sys.stdout)))


def as_talk(text: str) -> str:
    """What stderr may show of a text: names and messages come from anywhere."""
    return _unsteered(text, sys.stderr)


def _unsteered(text: str, stream: TextIO | None) -> str:
    """`stream` is None when it is closed."""
    return _STEERING.sub(_shown, text) if stream is not None and stream.isatty() else text


def _shown(found: re.Match[str]) -> str:
    return f"\\x{ord(found[0]):02x}"


def printable(text: str) -> str:
    """On one line: whatever is no character to look at is written as its escape."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def say(text: str, *, dim: bool = False) -> None:
    """Talk on stderr; a terminal shows what would steer it, as with `emit`."""
    folded = prose_lines(as_talk(text), stream_width(sys.stderr))
    told = dimmed(folded) if dim else folded
    write = _sayers[-1] if _sayers else partial(click.echo, err=True)
    write(told)


def dimmed(text: str) -> str:
    """For what is read last; without the style where colours are not wanted."""
    return text if os.environ.get("NO_COLOR") else click.style(text, dim=True)


@contextmanager
def saying_through(write: Callable[[str], None]) -> Generator[None]:
    """Let this write what is said, by whatever thread: something is drawn on the screen."""
    _sayers.append(write)
    try:
        yield
    finally:
        _sayers.remove(write)


def unsteered(text: str) -> str:
    """A text in which what would steer a terminal is shown."""
    return _STEERING.sub(_shown, text)


def show_error(error: MentisError, *, as_json: bool = False) -> None:
    """One line, the other problems, and the hint; or one JSON problem."""
    if as_json:
        problem = {"error": error.as_problem()}
        say(json.dumps(problem, ensure_ascii=_narrow(sys.stderr), default=str))
        return
    say(f"mentis: {error.message} [{error.code}]")
    for problem in error.problems[1:]:
        say(f"  {problem}")
    if error.hint:
        say(f"hint: {error.hint}")


def shows_bars() -> bool:
    """Whether stderr is a terminal, and `rich` is there to draw on it (pip install 'mentis[chat]');
    the lines before and after a bar say what was done either way.
    """
    if sys.stderr is None or not sys.stderr.isatty():  # pyright: ignore[reportUnnecessaryComparison]  # None when closed
        return False
    return find_spec("rich") is not None


def console(*, err: bool = False) -> Console:
    """A console as wide as the terminal; in a pipe, wide enough not to fold a row."""
    from rich.console import Console

    stream = sys.stderr if err else sys.stdout
    if stream is None:  # pyright: ignore[reportUnnecessaryComparison]  # None when closed
        return Console(file=io.StringIO())
    return Console(file=stream, width=None if stream.isatty() else 200, highlight=False)


_MARKS = {"+": "green", "-": "red", "@": "cyan"}


def emit_diff(diff: str) -> None:
    """The lines of a difference, coloured by their marks on a terminal."""
    terminal = sys.stdout is not None and sys.stdout.isatty()  # pyright: ignore[reportUnnecessaryComparison]  # None when closed
    for line in diff.splitlines():
        colour = _MARKS.get(line[:1]) if terminal and not os.environ.get("NO_COLOR") else None
        told = safe(line)
        click.echo(click.style(told, fg=colour) if colour else told, color=True)


def emit_table(table: TextTable) -> None:
    """A table on stdout: as wide as the terminal, and in a pipe as wide as it needs to be.

    A terminal is told when it is empty; in a pipe stand the names of its columns all the same.
    """
    cells = [[safe(cell) for cell in row] for row in table.rows]
    width = stream_width(sys.stdout)
    if not table.rows and width is not None:
        say("nothing to list")
        return
    rule = "-" if _narrow(sys.stdout) else "\u2500"
    for line in table_lines(TextTable(table.columns, cells, table.right), width=width, rule=rule):
        emit(line)
