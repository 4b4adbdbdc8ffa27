"""`mentis why`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .options import MAX_INDEX, home_option, home_path, persona_option, step_option
from .output import emit_json, json_option
from .recorded_sessions import RECORDED

if TYPE_CHECKING:
    from mentis.values.cost import TurnExplanation


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
    entry itself says. Of a recorded agent (--persona recorded/NAME) it is the call that went by:
    tool by tool, system block by system block, message by message.
    """
    from mentis.costs.cost_data import explanation_data

    from .why_show import show_explanation

    found = _explain(turn, step, persona)
    if as_json:
        emit_json(explanation_data(found))
    else:
        show_explanation(found)


def _explain(turn: int | None, step: int, persona: str | None) -> TurnExplanation:
    if persona is not None and persona.startswith(RECORDED):
        from mentis.app.home_costs import explain_recorded

        if step != 1:
            raise click.UsageError("a recorded call has one step")
        return explain_recorded(home_path(), persona, turn)
    from mentis.app.agent import Agent

    agent = Agent.open(home_path(), persona=persona)
    try:
        return agent.why(turn, step=step)
    finally:
        agent.close()
