"""`mentis mcp`: ledger and prompts for other agents, over the Model Context Protocol."""

from __future__ import annotations

import sys
from importlib import import_module

import click

from .logs import log_option
from .options import home_option, home_path, persona_option
from .output import say
from .report import Report, json_wanted, prints_report

# Surfaces stand apart: this one is started by its name, as a command is.
_SURFACE = "mentis.surfaces.mcp"


@click.command(epilog="For example, in a client's settings: mentis --home my-home mcp")
@log_option
@persona_option
@home_option
@prints_report
def mcp(persona: str | None) -> Report | None:
    """Serve the record and the prompts to an MCP client, on stdio.

    A client starts this command and talks to it; see docs/guides/mcp.md. For clients that come
    over HTTP, `mentis serve` has the same at /mcp. Only the protocol goes to standard output. It
    ends when the client leaves, or on SIGTERM and Ctrl-C. With --json it serves nothing and
    prints what it would offer: tools, schemas, resources.
    """
    if json_wanted():
        return Report(import_module(f"{_SURFACE}.catalogue").server_offer())
    if sys.stdin is not None and sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison]  # None when closed
        say("This speaks JSON-RPC with a client, not with people. Ctrl-D ends it.")
    import_module(f"{_SURFACE}.start").serve(home_path(), persona)
    return None
