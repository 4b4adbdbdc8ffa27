"""`mentis why`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from mentis.errors import UsageError

from .cause_show import CauseChoice, run_cause
from .options import MAX_INDEX, Number, home_option, home_path, persona_option, step_option
from .recorded_sessions import RECORDED
from .report import Report, prints_report

if TYPE_CHECKING:
    from mentis.values.cost import TurnExplanation


@click.command(epilog="For example: mentis why; mentis why 12 --step 2; mentis why --cause")
@click.argument("turn", required=False, type=Number(0, MAX_INDEX))
@click.option(
    "--cause",
    is_flag=True,
    help="Leave out one piece at a time, and show which ones the answer hangs on.",
)
@click.option(
    "--blocks",
    type=Number(0, 10_000),
    default=0,
    help="With --cause: leave out at most this many pieces, those nearest to the answer. 0: all.",
)
@click.option(
    "--samples",
    type=Number(1, 100),
    default=3,
    show_default=True,
    help="With --cause, where a route gives no probabilities: new answers for each prompt.",
)
@click.option("--route", default="", metavar="NAME", help="With --cause: another route judges.")
@click.option("--yes", is_flag=True, help="With --cause: agree to its price.")
@step_option
@persona_option
@home_option
@prints_report
@click.pass_context
def why(  # noqa: PLR0913  # its options
    context: click.Context,
    turn: int | None,
    *,
    cause: bool,
    blocks: int,
    samples: int,
    route: str,
    yes: bool,
    step: int,
    persona: str | None,
) -> Report:
    """Show what the model was told in a recorded turn, and why.

    TURN is the number of its entry; without one, it is the last turn. Block by block: who vouches
    for it, its tokens, its share of the price, and whether it came from the cache. Then what was
    left out and why, and what had changed since the call before. The prompt is put together again
    from what was kept; nothing is sent. Where that cannot be done, it says so, and shows what the
    entry itself says. For a recorded agent (--persona recorded/NAME) it shows the call that passed
    through: tool by tool, system block by system block, message by message.

    With --cause the model is asked again: the recorded answer is scored with everything, then
    without each block, memory, message or result, and these are ranked by how much its
    log-probability falls. Where a route gives no probabilities, new answers are compared with it.
    Before anything costs money you are asked, and only those calls are written down.
    """
    if cause:
        chosen = CauseChoice(blocks, samples, route, yes)
        named = context.get_parameter_source("step") is not ParameterSource.DEFAULT
        return run_cause(turn, step if named else 0, _own(persona), chosen)
    from mentis.costs.cost_data import explanation_data

    from .why_show import explanation_lines

    found = _explain(turn, step, persona)
    return Report(explanation_data(found), explanation_lines(found))


def _own(persona: str | None) -> str | None:
    if persona is not None and persona.startswith(RECORDED):
        raise UsageError(
            f"{persona} is another program: nobody here can ask its model again",
            hint="without --cause, `mentis why` shows what it was told",
        )
    return persona


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
