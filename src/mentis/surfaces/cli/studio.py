"""`mentis studio`: a window on a home in the browser."""

from __future__ import annotations

from importlib import import_module

import click

from .options import call_parts, home_option, home_path, route_option
from .output import emit, emit_json, json_option, say

# Surfaces stand apart: its pages are beside the doors of the server, which is started by its name.
_SURFACE = "mentis.surfaces.serve"


@click.command(epilog="For example: mentis studio; mentis studio --no-browser --port 8400")
@click.option("--port", type=click.IntRange(0, 65_535), help="Port to listen on; 0 is a free one.")
@click.option("--browser/--no-browser", default=True, help="Open the browser, or print the link.")
@route_option
@home_option
@json_option
def studio(*, port: int | None, browser: bool, route: str, as_json: bool) -> None:
    """Open a window on a home in the browser: talk, and see what the model was told and why.

    A server is started on this machine, and the browser is opened with a link that lets it in,
    once. Nothing can be changed until you turn on writing in the page. Ctrl-C ends it. Everything
    that `mentis serve` answers is answered here, too. See
    docs/guides/the-studio-in-five-minutes.md.
    """
    import anyio

    start = import_module(f"{_SURFACE}.start")

    def link(address: str) -> None:
        if as_json:
            emit_json({"link": address})
        else:
            emit(address)
            say("The link lets one browser in, once. Ctrl-C ends the studio.")
        if browser and click.launch(address) != 0:
            say("No browser could be opened here: open the link yourself.")

    options = start.ServeOptions(port=port, route=route, on_defect=_defect, on_link=link, say=say)
    anyio.run(start.serve_with, home_path(), options, call_parts())


def _defect(error: BaseException) -> None:
    import traceback

    say("".join(traceback.format_exception(error)))
