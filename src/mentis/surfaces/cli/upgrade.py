"""`mentis upgrade`: what this version changes in a home."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from .options import home_option, home_path
from .report import Note, Report, Text, prints_report

if TYPE_CHECKING:
    from mentis.app.home_upgrade import HomeUpgrade


@click.command(epilog="For example: mentis upgrade, and then mentis upgrade --apply")
@click.option("--apply", "applied", is_flag=True, help="Copy the database and bring it up to date.")
@home_option
@prints_report
def upgrade(*, applied: bool) -> Report:
    """Show what this version changes in a home; --apply does it.

    Without --apply nothing is changed. Whatever opens a home for writing would do the same, in one
    transaction; this command copies the database first. Entries and their hashes never change. That
    copy is the only way back to an older Mentis.
    """
    from mentis.app.home_upgrade import apply_upgrade, plan_upgrade
    from mentis.codec.forms import to_object

    found = (apply_upgrade if applied else plan_upgrade)(home_path(), os.environ)
    return Report(to_object(found), _lines(found))


def _lines(found: HomeUpgrade) -> Iterator[Text]:
    yield f"home    format {found.format}, this Mentis knows {found.known_format}"
    yield f"schema  {found.schema}, this Mentis knows {found.known_schema}"
    for number, step in enumerate(found.steps, found.schema + 1):
        yield f"  {number}  {step}"
    for notice in found.notices:
        yield Note(f"note: {notice}")
    if not found.steps:
        yield "Nothing to do."
        return
    if found.applied:
        yield f"Done. The database as it was: {found.backup}"
        yield Note("Next: mentis verify; mentis prompts conflicts")
    else:
        yield f"Nothing was changed. --apply copies the database to {found.backup} and does it."
