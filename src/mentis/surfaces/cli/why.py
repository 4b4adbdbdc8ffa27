"""`mentis why`."""

from __future__ import annotations

import click

from .options import MAX_INDEX, home_option, home_path, persona_option, step_option
from .output import emit_json, json_option


@click.command(epilog="For example: mentis why; mentis why 12 --step 2")
@click.argument("turn", required=False, type=click.IntRange(0, MAX_INDEX))
@step_option
@persona_option
@home_option
@json_option
def why(turn: int | None, *, step: int, persona: str | None, as_json: bool) -> None:
    """Say what the model was told in a recorded turn, and why.

    TURN is the number of its entry; without one, it is the last turn. Block by block: who vouches
    for it, its tokens, its share of the price, and whether it came from the cache. Then what was
    left out and why, and what had changed since the call before. The prompt is put together again
    from what was kept; nothing is sent. Where that cannot be done, it says so, and shows what the
    entry itself says.
    """
    from mentis.app.agent import Agent

    from .why_show import explanation_data, show_explanation

    agent = Agent.open(home_path(), persona=persona)
    try:
        found = agent.why(turn, step=step)
    finally:
        agent.close()
    if as_json:
        emit_json(explanation_data(found))
    else:
        show_explanation(found)
