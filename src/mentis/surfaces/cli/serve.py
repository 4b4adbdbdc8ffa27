"""`mentis serve`: the agents of a home behind any client."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from .options import call_parts, home_option, home_path, route_option
from .output import emit, emit_json, json_option, say

if TYPE_CHECKING:
    from mentis.web.guard import AccessRecord

# Surfaces stand apart: this one is started by its name, as a command is.
_SURFACE = "mentis.surfaces.serve"


@click.command(epilog="For example: mentis serve --port 8377")
@click.option("--host", metavar="ADDRESS", help="Address to listen on; by default web.host.")
@click.option("--port", type=click.IntRange(0, 65_535), help="Port to listen on; 0 is a free one.")
@click.option("--log/--no-log", default=True, help="Write a line for each request to stderr.")
@route_option
@home_option
@json_option
def serve(*, host: str | None, port: int | None, log: bool, route: str, as_json: bool) -> None:
    """Let existing clients talk to the agents of a home, as if each were a model.

    It speaks the protocols of OpenAI (chat completions and responses), Anthropic and Ollama. A
    client needs the address that is printed, a token (mentis tokens new) as its API key, and the
    name of a persona as its model. Whatever the commands do is under /mentis/v1/, and MCP clients
    come to /mcp. Ctrl-C or SIGTERM ends it after what is being answered; said twice, at once. See
    docs/guides/use-your-agent-from-any-client.md, drive-a-home-over-http.md and mcp.md.
    """
    import anyio

    start = import_module(f"{_SURFACE}.start")

    def ready(address: str) -> None:
        if as_json:
            emit_json({"address": address})
        else:
            emit(address)
            say("Clients come with a token: mentis tokens new NAME. Ctrl-C ends it.")

    options = start.ServeOptions(
        host=host,
        port=port,
        route=route,
        on_access=_logged if log else None,
        on_defect=_told,
        on_ready=ready,
        say=say,
    )
    anyio.run(start.serve_with, home_path(), options, call_parts())


def _logged(record: AccessRecord) -> None:
    facts: dict[str, Any] = asdict(record)
    say(json.dumps({name: fact for name, fact in facts.items() if fact != ""}))


def _told(error: BaseException) -> None:
    import traceback

    say("".join(traceback.format_exception(error)))
