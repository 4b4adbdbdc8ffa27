"""`mentis compose`."""

from __future__ import annotations

from dataclasses import replace

import click

from mentis.values.block import Mode
from mentis.values.request import HistoryScope
from mentis.values.span import join_spans

from .blocks import show_blocks, token_text
from .explain import show_explained
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
from .output import emit, emit_json, json_option
from .prompts_parts import mode_option, part_option, show_part


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
@json_option
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
    as_json: bool,
) -> None:
    """Show what the model would be told, block by block, and why.

    Nothing is sent. TEXT stands for the message; the conversation so far is taken into account.
    With --explain: which tools are declared and which only told of, which memories keep their
    place, what changing that would cost and gain, and the scores behind it. With --part: a prompt
    for another occasion; `mentis prompts preview --kinds` lists them.
    """
    from mentis.app.agent import Agent
    from mentis.codec.forms import to_object
    from mentis.turn.turn_data import composition_data

    if part is not None:
        with open_prompts(route) as prompts:
            show_part(prompts.part(part, persona=persona, mode=mode), as_json=as_json)
        return
    agent = Agent.open(home_path(), persona=persona, route=route)
    try:
        message = given_message(text, attached, reply_to, scope=scope)
        composed = agent.compose(replace(message, mode=mode), session=session)
    finally:
        agent.close()
    if as_json:
        emit_json(composition_data(composed) if explain else to_object(composed))
        return
    if explain:
        show_explained(composed)
        return
    show_blocks(composed.trace, every=every)
    totals = ", ".join(
        f"{name} {token_text(count)}" for name, count in composed.trace.tokens.items()
    )
    emit(f"tokens: {totals}\n")
    emit(join_spans(composed.request.system_instruction))
    if composed.request.context_summary:
        emit(f"\n--- context ---\n{join_spans(composed.request.context_summary)}")
    emit(f"\n--- this turn ---\n{join_spans(composed.request.runtime_ctx.spans)}")
