"""`mentis serve`: the agents of a home behind any client."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from .logs import log_event, log_option, logs_json
from .options import Number, call_parts, home_option, home_path, route_option
from .output import say
from .report import Note, Report, print_report, prints_report

if TYPE_CHECKING:
    from mentis.web.guard import AccessRecord

# Surfaces stand apart: this one is started by its name, as a command is.
_SURFACE = "mentis.surfaces.serve"
_FAILED = 500


@click.command(epilog="For example: mentis serve --port 8377")
@click.option("--host", metavar="ADDRESS", help="Address to listen on; by default web.host.")
@click.option("--port", type=Number(0, 65_535), help="Port to listen on; 0 is a free one.")
@click.option("--log/--no-log", default=True, help="Write a line for each request to stderr.")
@log_option
@route_option
@home_option
@prints_report
def serve(*, host: str | None, port: int | None, log: bool, route: str) -> None:
    """Serve the agents of a home to existing clients, as models.

    It speaks the protocols of OpenAI (chat completions and responses), Anthropic and Ollama. A
    client needs the address that is printed, a token (mentis tokens new) as its API key, and the
    name of a persona as its model. Everything the commands do is under /mentis/v1/, and MCP clients
    use /mcp. Ctrl-C or SIGTERM ends it once running answers are done; a second one ends it at once.
    See docs/guides/use-your-agent-from-any-client.md, drive-a-home-over-http.md and mcp.md.
    """
    from mentis.web.loop import run_loop

    start = import_module(f"{_SURFACE}.start")

    def ready(address: str) -> None:
        note = Note("Clients come with a token: mentis tokens new NAME. Ctrl-C ends it.")
        print_report(Report({"address": address}, (address, note)))

    options = start.ServeOptions(
        host=host,
        port=port,
        route=route,
        on_access=_logged if log else None,
        on_defect=_told,
        on_ready=ready,
        say=say,
    )
    run_loop(start.serve_with, home_path(), options, call_parts())


def _logged(record: AccessRecord) -> None:
    facts: dict[str, Any] = {name: fact for name, fact in asdict(record).items() if fact != ""}
    if logs_json():
        facts.pop("time")  # every line has its own
        level = logging.WARNING if record.status >= _FAILED else logging.INFO
        log_event("request", level=level, **facts)
    else:
        say(json.dumps(facts))


def _told(error: BaseException) -> None:
    import traceback

    say("".join(traceback.format_exception(error)))
