"""`mentis afterthought`."""

from __future__ import annotations

import click

from mentis.values.reply import Delta, TextDelta

from .options import home_option, home_path, persona_option, route_option, session_option
from .output import emit, emit_json, json_option, say


@click.command(epilog="For example: mentis afterthought --session main")
@persona_option
@route_option
@session_option
@home_option
@json_option
def afterthought(*, persona: str | None, route: str, session: str, as_json: bool) -> None:
    """Let a persona think once more, and write if it wants to.

    The decision is recorded either way. What it wrote goes to standard output.
    """
    from mentis.talk.talk_data import afterthought_data

    from .talk import open_talk

    with open_talk(home_path(), persona=persona, route=route) as talk:
        on_delta = None if as_json else _print
        found = talk.wait_for(lambda: talk.agent.afterthought(session=session, on_delta=on_delta))
    followup = found.followup
    if as_json:
        emit_json(afterthought_data(found))
        return
    if followup is not None:
        emit("")
    say(f"[entry {found.entry.index}, decision: {found.decision}]")


def _print(delta: Delta) -> None:
    if isinstance(delta, TextDelta):
        emit(delta.text, end="")
