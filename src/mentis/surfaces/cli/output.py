"""Data goes to stdout, talk goes to stderr, and nothing is told by colour alone."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console

F = TypeVar("F", bound=Callable[..., object])


def json_option(command: F) -> F:
    """Add `--json`, handed to the command as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(
        command
    )


def emit_json(value: object) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def emit(text: str) -> None:
    click.echo(text)


def say(text: str) -> None:
    click.echo(text, err=True)


def console(*, err: bool = False) -> Console:
    """A console as wide as the terminal; in a pipe, wide enough not to fold a row."""
    from rich.console import Console

    stream = sys.stderr if err else sys.stdout
    return Console(file=stream, width=None if stream.isatty() else 200, highlight=False)


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[str] = (),
    title: str = "",
) -> None:
    """A table on stdout. Cells fold, they are never cut."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False)
    for column in columns:
        grid.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(escape(cell) for cell in row))
    console().print(grid)
