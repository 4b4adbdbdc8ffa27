"""`mentis status`: windows on their way in, and the record of what happened."""

from __future__ import annotations

import click

from .groups import RenamedGroup
from .status_look import check, context, health, latest, list_, stats
from .status_verify import verify
from .status_write import add, export_, import_, watch, write


@click.group(cls=RenamedGroup)
def status() -> None:
    """Record status windows; list, count and check entries.

    A window says what an agent is about to do. It is judged by the guardian, stamped by the
    ledger and kept for good, whether it comes by `add`, as a file, or over MCP.
    """


for command in (
    add,
    write,
    watch,
    list_,
    latest,
    stats,
    verify,
    check,
    import_,
    export_,
    health,
    context,
):
    status.add_command(command)
