"""`mentis backup` and `mentis restore`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from mentis.values.words import entries_of, quantity

from .options import call_parts, home_named, home_option, home_path
from .report import Note, Report, Text, prints_report
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.app.home_backup import BackupInfo

_FILE = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))


@click.command(epilog="For example: mentis backup /media/disk/home.backup --keep 30")
@_FILE
@click.option("--keep", type=int, metavar="N", help="Keep only the newest N in it.")
@click.option("--list", "listed", is_flag=True, help="Show which backups are in the file.")
@home_option
@prints_report
def backup(file: Path, *, keep: int | None, listed: bool) -> Report:
    """Add a backup of a home to a file, while everything runs.

    The database is as it was at one moment, and its record is verified; then everything is read
    again from the file and compared. The file may hold many backups: what does not change is kept
    once. Keys are not in it (`MENTIS_CONFIG`); whoever can read it can read the home. Exit code 1
    when the record did not verify; it is backed up all the same.
    """
    from mentis.app.home_backup import backup_home, list_backups

    if listed:
        found = list_backups(file)
        columns = ("number", "time", "entries", "files", "bytes", "record")
        return Report({"backups": found}, TextTable(columns, [_row(one) for one in found]))
    done = backup_home(home_path(), file, call_parts(), keep=keep)
    one = done.backup

    def text() -> Iterator[Text]:
        yield (
            f"backup {one.number} of {one.home}: {quantity(one.files, 'file')}, {one.size} bytes,"
            f" {done.fresh} of them new"
        )
        yield Note(f"record: {one.record}; everything was read again from {file}")
        for remark in one.remarks:
            yield Note(f"note: {remark}")

    return Report(done, text(), code=0 if one.record in ("ok", "not looked at") else 1)


@click.command(epilog="For example: mentis restore /media/disk/home.backup somewhere-else")
@_FILE
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), required=False)
@click.option("--at", type=int, metavar="NUMBER", help="Not the newest: `mentis backup --list`.")
@click.option("--yes", is_flag=True, help="Move aside the home that stands there.")
@home_option
@prints_report
def restore(file: Path, folder: Path | None, *, at: int | None, yes: bool) -> Report:
    """Turn a backup into a home: a new one, or in its old place.

    Everything is compared with its digests before it takes its place; a home that stands there is
    moved aside, never overwritten. In its old place it is the home it was; what was recorded since
    is lost, and `mentis ledger accept-rollback` says so in the record. Beside the original it is a
    copy, which can only be read until `mentis adopt` makes it a home of its own.
    """
    from mentis.app.home_restore import restore_home

    done = restore_home(
        file,
        folder or Path(home_named() or Path.home() / ".mentis"),
        call_parts(),
        at=at,
        replace=yes,
    )
    named = f"mentis --home {quote(done.home)}"

    def text() -> Iterator[Text]:
        yield f"backup {done.number} of {done.time}: {quantity(done.files, 'file')} in {done.home}"
        if done.aside:
            yield Note(f"what stood there is in {done.aside}")
        if done.record != "ok":
            yield Note(f"its record when it was backed up: {done.record}")
        if done.original:
            yield Note(f"it is a copy of {done.original}, and read; {named} adopt makes it a home")
        for agent, number in (done.lost or {}).items():
            yield Note(
                f"{agent}: {entries_of(number)} recorded since are not in it;"
                f" {named} ledger accept-rollback --reason ... goes on from here"
            )
        yield Note(f"Next: {named} verify")

    return Report(done, text())


def _row(one: BackupInfo) -> tuple[str, ...]:
    return (
        str(one.number),
        one.time,
        str(sum(one.agents.values())),
        str(one.files),
        str(one.size),
        one.record,
    )
