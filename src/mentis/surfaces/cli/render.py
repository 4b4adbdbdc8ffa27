"""`mentis render`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

import click

from mentis.facts.ability import WIRES
from mentis.values.block import Mode
from mentis.values.rendering import Rendering
from mentis.values.request import HistoryScope

from .files import read_stream
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
    set_option,
)
from .output import json_text
from .plan import plan_lines
from .prompts_parts import mode_option, part_option
from .report import Report, Text, json_wanted, prints_report
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.values.options import CallOptions
    from mentis.values.request import PromptRequest


@click.command(epilog='For example: mentis render "Good morning!" --map')
@click.argument("text", default="Hello!")
@click.option(
    "--provider",
    type=click.Choice(WIRES),
    help="The wire format; by default the one the route speaks.",
)
@click.option(
    "--model",
    metavar="NAME",
    help="The model whose limits and prices count, instead of the route's.",
)
@click.option("--body", is_flag=True, help="Print the exact bytes of the body, and nothing else.")
@click.option(
    "--plan", is_flag=True, help="Print where a prefix cache may hold, and what it saves."
)
@click.option(
    "--previous",
    type=click.File("rb"),
    metavar="FILE",
    help="With --plan: an earlier --body or --json, to name what differs and what that costs.",
)
@click.option("--map", "source_map", is_flag=True, help="Print which span each byte came from.")
@mode_option
@part_option
@attach_option
@reply_to_option
@scope_option
@set_option
@persona_option
@route_option
@session_option
@home_option
@prints_report
def render(  # noqa: PLR0913  # one parameter for each option
    text: str,
    *,
    provider: str | None,
    model: str | None,
    attached: tuple[str, ...],
    reply_to: str | None,
    scope: HistoryScope | None,
    options: CallOptions | None,
    persona: str | None,
    route: str,
    session: str,
    body: bool,
    plan: bool,
    previous: BinaryIO | None,
    source_map: bool,
    mode: Mode,
    part: str | None,
) -> Report:
    """Show the exact payload that would be sent.

    Nothing is sent. --json adds the digest, the map, the losses and the cache plan, counted and
    priced, to the payload. Tokens with a ~ are estimated. --mode is for a turn other than one of a
    chat, --part for another prompt, such as that of a summary.
    """
    from mentis.app.agent import Agent
    from mentis.ask.rendering_data import rendering_data, spoken_route
    from mentis.facts.abilities import wire_of
    from mentis.render.wires import render_for

    _check_asked(
        body=body, planned=plan or previous is not None, mapped=source_map, json=json_wanted()
    )
    if model is not None and not model.strip():
        raise click.UsageError("--model needs a name")
    agent = Agent.open(home_path(), persona=persona, route=route)
    try:
        message = replace(given_message(text, attached, reply_to, scope=scope), mode=mode)
        if part is None:
            request = agent.compose(message, session=session, options=options).request
        else:
            request = _part_request(part, persona, route, mode)
        chosen = spoken_route(agent.route, provider, model)
        chosen = chosen.calling(options) if options else chosen
        rendering = render_for(provider or wire_of(chosen), request, chosen)
        if body:
            return Report(None, rendering.body())
        before = read_stream(previous) if previous else None
        forecast = agent.forecast_cache(rendering, route=chosen, before=before)
    finally:
        agent.close()
    if plan or previous:
        shown: Text = plan_lines(forecast)
    else:
        shown = _map(rendering) if source_map else json_text(rendering.payload)
    return Report(rendering_data(rendering, forecast), shown)


def _part_request(part: str, persona: str | None, route: str, mode: Mode) -> PromptRequest:
    from mentis.prompts.kinds import part_request

    with open_prompts(route) as prompts:
        return part_request(part, prompts.part(part, persona=persona, mode=mode))


def _check_asked(*, body: bool, planned: bool, mapped: bool, json: bool) -> None:
    """One form is printed, so one is asked for; --json has the plan and the map in it."""
    if body and (planned or mapped or json):
        raise click.UsageError("--body prints nothing else: no --plan, --map or --json with it")
    if planned and mapped and not json:
        raise click.UsageError("ask for --plan or for --map, or for both with --json")


def _map(rendering: Rendering) -> TextTable:
    rows = [
        (
            f"{piece.start}-{piece.end}",
            piece.pointer,
            piece.span.block or "-",
            piece.span.placeholder or "-",
            piece.span.source,
            str(piece.span.trust),
            str(piece.span.stability),
        )
        for piece in rendering.source_map()
    ]
    return TextTable(("bytes", "at", "block", "placeholder", "source", "trust", "stability"), rows)
