"""`mentis studio`: a window on a home in the browser."""

from __future__ import annotations

from importlib import import_module

import click

from .logs import log_option
from .options import Number, call_parts, home_option, home_path, route_option
from .output import say
from .report import Note, Report, print_report, prints_report

# Surfaces stand apart: its pages are beside the doors of the server, which is started by its name.
_SURFACE = "mentis.surfaces.serve"


@click.command(epilog="For example: mentis studio; mentis studio --no-browser --port 8400")
@click.option("--port", type=Number(0, 65_535), help="Port to listen on; 0 is a free one.")
@click.option("--browser/--no-browser", default=True, help="Open the browser, or print the link.")
@log_option
@route_option
@home_option
@prints_report
def studio(*, port: int | None, browser: bool, route: str) -> None:
    """Open the studio in your browser: eight screens on a home.

    \b
    Talk       chat, and see each answer as it comes
    Blame      which block, memory or message each part of a prompt came from
    Bill       what it cost, and why
    Prompts    read and edit the blocks
    What if    try another text on recorded turns
    Proof      verify the record, export it
    Done       what was said against what was done
    Mind       memories, goals and what is held in mind

    A server is started on this machine, and the browser is opened with a link that works once.
    Nothing can be changed until you turn on writing in the page. It also answers everything that
    `mentis serve` does. Ctrl-C ends it. See docs/guides/the-studio-in-five-minutes.md.
    """
    from mentis.web.loop import run_loop

    start = import_module(f"{_SURFACE}.start")

    def link(address: str) -> None:
        note = Note("The link lets one browser in, once. Ctrl-C ends the studio.")
        print_report(Report({"link": address}, (address, note)))
        if browser and click.launch(address) != 0:
            say("No browser could be opened here: open the link yourself.")

    options = start.ServeOptions(port=port, route=route, on_defect=_defect, on_link=link, say=say)
    run_loop(start.serve_with, home_path(), options, call_parts())


def _defect(error: BaseException) -> None:
    import traceback

    say("".join(traceback.format_exception(error)))
