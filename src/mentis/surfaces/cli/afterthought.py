"""`mentis afterthought`."""

from __future__ import annotations

import click

from mentis.values.reply import Delta, TextDelta

from .options import home_option, home_path, persona_option, route_option, session_option
from .output import emit
from .report import Note, Report, json_wanted, prints_report


@click.command(epilog="For example: mentis afterthought --session main")
@persona_option
@route_option
@session_option
@home_option
@prints_report
def afterthought(*, persona: str | None, route: str, session: str) -> Report:
    """Let a persona think once more, and write if it wants to.

    The decision is recorded either way. What it wrote goes to standard output.
    """
    from mentis.talk.talk_data import afterthought_data

    from .talk import open_talk

    with open_talk(home_path(), persona=persona, route=route) as talk:
        on_delta = None if json_wanted() else _print
        found = talk.wait_for(lambda: talk.agent.afterthought(session=session, on_delta=on_delta))
    line = Note(f"[entry {found.entry.index}, decision: {found.decision}]")
    return Report(afterthought_data(found), line if found.followup is None else ("", line))


def _print(delta: Delta) -> None:
    if isinstance(delta, TextDelta):
        emit(delta.text, end="")
