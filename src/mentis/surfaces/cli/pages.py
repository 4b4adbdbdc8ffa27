"""A page of a long list: a person is shown its beginning, a program gets what it asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from .options import Number
from .report import Note, json_wanted

C = TypeVar("C", bound=Callable[..., Any])
T = TypeVar("T")

PAGE = 100  # lines


def page_options(command: C) -> C:
    """`--limit` and `--after`."""
    after = click.option("--after", default="", metavar="ID", help="Start after this one.")
    limit = click.option(
        "--limit",
        type=Number(1),
        metavar="N",
        help=f"At most this many; without it {PAGE}, with --json all.",
    )
    return limit(after(command))


def most(limit: int | None) -> int | None:
    """How many are shown; None: all of them."""
    return PAGE if limit is None and not json_wanted() else limit


def fetched(limit: int | None) -> int | None:
    """One more than are shown: it tells that the list goes on."""
    count = most(limit)
    return None if count is None else count + 1


def page_of(found: Sequence[T], limit: int | None) -> tuple[Sequence[T], bool]:
    """Those that are shown, and whether there are more."""
    count = most(limit)
    return found[:count], count is not None and len(found) > count


def check_unpaged(what: str, limit: int | None, after: str) -> None:
    """Refuse what is said of a page, where there are none."""
    if limit is not None or after:
        raise click.UsageError(f"{what} has no pages: leave --limit and --after out")


def names_page(names: Sequence[str], limit: int | None, after: str) -> tuple[Sequence[str], bool]:
    """Of names in an order of their own those that are shown, and whether there are more."""
    if after and after not in names:
        raise click.UsageError(f"--after {after}: it is not in this list")
    return page_of(names[names.index(after) + 1 if after else 0 :], limit)


def rest_note(last: str) -> Note:
    return Note(f"there are more: add --after {last}, or a larger --limit")
