"""`mentis status`: the record of what happened."""

from __future__ import annotations

from pathlib import Path

import click

from .options import home_option, home_path
from .output import emit, emit_json, json_option, say


@click.group()
def status() -> None:
    """Read and verify the record."""


@status.command(epilog="For example: mentis status verify --ledger copy-of-mentis.db")
@click.option(
    "--ledger",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Check this database file instead of the home's.",
)
@home_option
@json_option
def verify(ledger: Path | None, *, as_json: bool) -> int:
    """Check every entry against its hash and its predecessor.

    Exit code 1 when anything does not hold; the entry and the column are named.
    """
    from mentis.codec.forms import to_object
    from mentis.ledger.verify import EMPTY_NOTE
    from mentis.runtime.homes import verify_home

    verdicts = verify_home(home_path(), ledger=ledger)
    intact = all(verdict.intact for verdict in verdicts)
    if as_json:
        emit_json({"intact": intact, "chains": [to_object(verdict) for verdict in verdicts]})
        return 0 if intact else 1
    for verdict in verdicts:
        word = "ok" if verdict.intact else "BROKEN"
        emit(f"{word}  {verdict.agent}: {verdict.entries} entries, head {verdict.head}")
        for finding in verdict.findings:
            emit(f"  entry {finding.index}, {finding.column}: {finding.message}")
        if verdict.more:
            emit(f"  and {verdict.more} more")
    if not verdicts:
        emit("ok  nothing is recorded here")
    for note in sorted({verdict.completeness for verdict in verdicts} or {EMPTY_NOTE}):
        say(f"note: {note}")
    return 0 if intact else 1
