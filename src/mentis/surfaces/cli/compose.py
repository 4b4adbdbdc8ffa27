"""`mentis compose`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from mentis.values.block import Mode
from mentis.values.request import HistoryScope
from mentis.values.span import Span, join_spans

if TYPE_CHECKING:
    from mentis.compose.compose import Composition

from .blocks import block_lines, token_text
from .explain import explained_lines
from .options import (
    attach_option,
    given_message,
    home_option,
    home_path,
    open_prompts,
    persona_option,
    reply_to_option,
    route_option,
    scope_option,
    session_option,
)
from .prompts_parts import mode_option, part_option, part_report
from .report import Report, Text, prints_report


@click.command(epilog='For example: mentis compose "Good morning!"')
@click.argument("text", default="Hello!")
@click.option("--all", "every", is_flag=True, help="List blocks of other prompts, too.")
@click.option("--explain", is_flag=True, help="Show what of tools and memories stays, and why.")
@mode_option
@part_option
@attach_option
@reply_to_option
@scope_option
@persona_option
@route_option
@session_option
@home_option
@prints_report
def compose(  # noqa: PLR0913  # each flag has its own name
    text: str,
    *,
    attached: tuple[str, ...],
    reply_to: str | None,
    scope: HistoryScope | None,
    persona: str | None,
    route: str,
    session: str,
    every: bool,
    explain: bool,
    mode: Mode,
    part: str | None,
) -> Report:
    """Show what the model would be told, block by block, and why.

    Nothing is sent. TEXT stands for the message; the conversation so far is taken into account.
    With --explain: which tools are declared and which are only named, which memories keep their
    place, what changing that would cost and gain, and the scores behind it. With --part: a prompt
    for another occasion; `mentis prompts preview --kinds` lists them.
    """
    from mentis.app.agent import Agent
    from mentis.turn.turn_data import composition_data

    if part is not None:
        with open_prompts(route) as prompts:
            return part_report(prompts.part(part, persona=persona, mode=mode))
    agent = Agent.open(home_path(), persona=persona, route=route)
    try:
        message = given_message(text, attached, reply_to, scope=scope)
        composed = agent.compose(replace(message, mode=mode), session=session)
    finally:
        agent.close()
    if explain:
        return Report(composition_data(composed), explained_lines(composed))
    return Report(composed, _lines(composed, every=every))


def _lines(composed: Composition, *, every: bool) -> Iterator[Text]:
    yield from block_lines(composed.trace, every=every)
    totals = ", ".join(
        f"{name} {token_text(count)}" for name, count in composed.trace.tokens.items()
    )
    yield from (f"tokens: {totals}", "")
    yield from told_lines(composed.request.system_instruction)
    if composed.request.context_summary:
        yield from ("", "--- context ---", *told_lines(composed.request.context_summary))
    yield from ("", "--- this turn ---", *told_lines(composed.request.runtime_ctx.spans))


def told_lines(spans: Sequence[Span]) -> list[str]:
    """What a model is told, line by line: a terminal gets each broken between words."""
    return join_spans(spans).split("\n")
