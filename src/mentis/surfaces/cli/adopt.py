"""`mentis adopt`: a copy of a home becomes a home of its own."""

from __future__ import annotations

from collections.abc import Iterator

import click

from .asking import confirm
from .options import call_parts, home_option, home_path
from .report import Note, Report, Text, prints_report


@click.command(epilog="For example: mentis --home backup adopt --yes")
@click.option("--yes", is_flag=True, help="Do not ask.")
@home_option
@prints_report
def adopt(*, yes: bool) -> Report:
    """Turn a copy into a home of its own, with a new log and key.

    Until then a copy can only be read, since two homes that write under one log would fork its
    record. Its record goes on from where it was copied, with an entry in each chain that names both
    logs and is signed by both keys; the original is not touched. A copy that does not verify is not
    adopted. It keeps no anchors: add the ones it should have.
    """
    from mentis.record.adoption import adopt_home

    if not yes:
        confirm("let this copy go on as a home of its own, with a new log and a new key?")
    done = adopt_home(home_path(), call_parts())

    def text() -> Iterator[Text]:
        yield f"{done.home} is a home of its own now; {done.original} goes on untouched"
        yield f"its log is {done.origin}, a copy of {done.before}"
        yield Note("Next: mentis verify")

    return Report(done, text())
