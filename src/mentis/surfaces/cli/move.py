"""`mentis move` and `mentis view`: a home that lies in a database."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mentis.errors import UsageError
from mentis.values.words import quantity

from .asking import confirm
from .options import call_parts, home_option, home_place
from .report import Note, Report, Text, prints_report

if TYPE_CHECKING:
    from mentis.app.home_move import HomeMove


@click.command(epilog="For example: mentis --home my-home move postgresql://db.local/agents")
@click.argument("url", required=False)
@click.option("--back", is_flag=True, help="Bring the home back into its folder.")
@click.option("--schema", default="mentis", metavar="NAME", help="A schema for this home alone.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@home_option
@prints_report
def move(url: str | None, *, back: bool, schema: str, yes: bool) -> Report:
    """Move a home into a PostgreSQL database, or back.

    In a database agents of a home can live on many machines. All of it goes there: the record,
    conversations, memories, results, files. Every row is read again and compared, and every chain
    verified there before it counts as moved; the folder shows the files from then on, and what it
    held before stays under `moved/` until you delete it. Nobody may be at work in the home. On the
    way back the database is emptied. A password belongs into LEDGER_URL, not here.
    """
    from mentis.app.home_move import move_home, move_home_back

    if back == (url is not None):
        raise UsageError(
            "say where to", hint="mentis move postgresql://HOST/DATABASE, or mentis move --back"
        )
    place = home_place()
    if not yes:
        confirm(f"move the home {place} {'back into its folder' if back else 'into a database'}?")
    if url is None:
        moved = move_home_back(place, call_parts())
        return Report(moved, _moved(moved, f"{moved.home} is a home of its own again"))
    moved = move_home(place, url, schema=schema, parts=call_parts())
    return Report(moved, _moved(moved, f"{moved.home} lies in {moved.database}, schema {schema}"))


def _moved(done: HomeMove, first: str) -> Iterator[Text]:
    yield first
    yield (
        f"{quantity(sum(done.rows.values()), 'row')}, {quantity(done.blobs, 'result')} and"
        f" {quantity(done.files, 'file')}, each read again and compared"
    )
    for agent, head in done.heads.items():
        yield Note(f"{agent}: verified there, last entry {head[:16]}")
    if done.aside:
        yield Note(f"What it held before is in {done.aside}; delete it when you are content.")
        yield Note(
            f"On other machines: mentis init FOLDER --database URL --secret {done.home}/secret.key"
        )


@click.command(epilog="For example: mentis --home my-home view --push")
@click.option("--pull", "way", flag_value="pull", help="Take what others changed.")
@click.option("--push", "way", flag_value="push", help="Keep for all what was changed here.")
@click.option("--discard", "way", flag_value="discard", help="Take what is there; keep FILE.mine.")
@home_option
@prints_report
def view(*, way: str | None) -> Report:
    """Exchange the files of a home in a database with its folder.

    The folder of such a home shows its files. Commands pull before they read and push when they
    end; this is for what you edit with another program. A file that was changed here and there
    overwrites nothing: the command says so, and --discard takes what is there.
    """
    from mentis.home.view import discard_view, pull_view, push_view, view_status

    place = home_place()
    if way is None:
        status = view_status(place)
        text = [f"revision {status.shown} of {status.newest}", *status.changed]
        return Report(status, text)
    exchange = {"pull": pull_view, "push": push_view, "discard": discard_view}[way]
    names = exchange(place, os.environ)
    return Report({"files": list(names)}, list(names) or [Note("nothing to do")])


def lay_out(
    folder: Path, url: str | None, secret: Path | None, schema: str, *, chosen: bool
) -> Report:
    """For `mentis init --database`: one more machine for a home, or a new home there."""
    from mentis.app.home_move import lay_out_home, move_home
    from mentis.home.create import create_home

    if url is None:
        raise UsageError("--secret is for a home in a database", hint="name it with --database")
    if chosen:
        raise UsageError(
            "a model is chosen once the home is there", hint="leave out --route and --yes"
        )
    if secret is not None:
        path = lay_out_home(folder, url, secret, schema=schema, parts=call_parts())
        return Report({"home": str(path)}, f"{path} shows the home in the database")
    moved = move_home(create_home(folder), url, schema=schema, parts=call_parts())
    return Report(moved, _moved(moved, f"Made a home in {moved.database}; {folder} shows it"))
