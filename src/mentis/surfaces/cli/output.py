"""Data goes to stdout, talk goes to stderr, and nothing is told by colour alone."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TextIO, TypeVar

import click

from mentis.errors import MentisError

if TYPE_CHECKING:
    from rich.console import Console

# Control characters but for tab and newline; a model's answer may hold any of them.
_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
STOPPED = 130  # what a shell calls Ctrl-C; 1 would say that something does not hold
F = TypeVar("F", bound=Callable[..., object])


def json_option(command: F) -> F:
    """Add `--json`, handed to the command as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(
        command
    )


def say_all() -> None:
    """From now on, what the encoding of a stream cannot say is written as its escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def emit_json(value: object) -> None:
    emit(json.dumps(value, ensure_ascii=_narrow(sys.stdout), indent=2))


def emit_line(value: object) -> None:
    """One JSON value on one line, for output that goes on."""
    emit(json.dumps(value, ensure_ascii=_narrow(sys.stdout)))


def _narrow(stream: TextIO | None) -> bool:
    """Whether it cannot say every character: JSON has escapes of its own for those."""
    return stream is not None and "utf" not in (stream.encoding or "utf-8").casefold()


def emit(text: str, *, end: str = "\n") -> None:
    """Text on stdout; on a terminal, what would steer the terminal is shown instead of obeyed."""
    told = _unsteered(text, sys.stdout)
    click.echo(f"{told}{end}", nl=False, color=True)  # else click takes escapes out of data


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


def say(text: str) -> None:
    """Talk on stderr; a terminal shows what would steer it, as with `emit`."""
    click.echo(as_talk(text), err=True)


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


def console(*, err: bool = False) -> Console:
    """A console as wide as the terminal; in a pipe, wide enough not to fold a row."""
    from rich.console import Console

    stream = sys.stderr if err else sys.stdout
    if stream is None:  # pyright: ignore[reportUnnecessaryComparison]  # None when closed
        return Console(file=io.StringIO())
    return Console(file=stream, width=None if stream.isatty() else 200, highlight=False)


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[str] = (),
) -> None:
    """A table on stdout. Cells fold, they are never cut."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        # A name broken in two is no name any more: what is prose folds first.
        name = column in ("block", "placeholder", "setting", "persona", "model", "key", "asked")
        side = "right" if column in right else "left"
        grid.add_column(column, justify=side, overflow="fold", no_wrap=name)
    for row in rows:
        grid.add_row(*(escape(_STEERING.sub(_shown, cell)) for cell in row))
    console().print(grid)
