"""`mentis render`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from mentis.facts.ability import WIRES
from mentis.values.rendering import Boundary, Rendering
from mentis.values.route import Backend, Route

from .options import home_option, home_path, persona_option, route_option, session_option
from .output import emit_json, json_option, say, table

if TYPE_CHECKING:
    from mentis.facts.ability import Abilities

_BACKENDS: dict[str, Backend] = {
    "openai-chat": "openai",
    "openai-responses": "openai-responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
}


@click.command(epilog='For example: mentis render "Good morning!" --map')
@click.argument("text", default="Hello!")
@click.option(
    "--provider",
    type=click.Choice(WIRES),
    help="The wire format; by default the one the route speaks.",
)
@click.option(
    "--model", metavar="NAME", help="The model whose facts count, instead of the route's."
)
@click.option("--body", is_flag=True, help="Print the exact bytes of the body, and nothing else.")
@click.option(
    "--plan", is_flag=True, help="Print where a prefix cache may hold, and what it saves."
)
@click.option("--map", "source_map", is_flag=True, help="Print which span each byte came from.")
@persona_option
@route_option
@session_option
@home_option
@json_option
def render(  # noqa: PLR0913  # one parameter for each option
    text: str,
    *,
    provider: str | None,
    model: str | None,
    persona: str | None,
    route: str,
    session: str,
    body: bool,
    plan: bool,
    source_map: bool,
    as_json: bool,
) -> None:
    """Show the exact payload that would be sent.

    Nothing is sent. --json adds the digest, the map, the cache plan and the losses to the payload.
    """
    from mentis.facts.abilities import abilities, wire_of
    from mentis.render.wires import render_for
    from mentis.runtime.agent import Agent

    agent = Agent.open(home_path(), persona=persona, route=route)
    try:
        request = agent.compose(text, session=session).request
        chosen = _route(agent.route, provider, model)
    finally:
        agent.close()
    rendering = render_for(provider or wire_of(chosen), request, chosen)
    if body:
        click.echo(rendering.body(), nl=False)
    elif as_json:
        emit_json({"wire": rendering.wire, **_whole(rendering)})
    elif plan:
        _show_plan(rendering, abilities(chosen))
    elif source_map:
        _show_map(rendering)
    else:
        emit_json(rendering.payload)


def _route(route: Route, provider: str | None, model: str | None) -> Route:
    """The route as if it led to this format and this model."""
    from mentis.facts.abilities import wire_of

    spoken = route.spoken()
    if provider in _BACKENDS and provider != wire_of(spoken):
        spoken = replace(spoken, backend=_BACKENDS[provider])
    elif model and spoken.backend in ("embedded", "scripted"):
        spoken = replace(spoken, backend="openai")
    return replace(spoken, model=model) if model else spoken


def _whole(rendering: Rendering) -> dict[str, object]:
    from mentis.codec.forms import to_object

    return {
        "digest": rendering.digest,
        "payload": rendering.payload,
        "cache_plan": to_object(rendering.cache_plan),
        "name_map": dict(rendering.name_map),
        "losses": [to_object(loss) for loss in rendering.losses],
        "source_map": [to_object(piece) for piece in rendering.source_map()],
    }


def _show_plan(rendering: Rendering, able: Abilities) -> None:
    """Prices are in tokens of plain input, so they hold whatever a token costs."""
    plan = rendering.cache_plan
    rows = [
        (
            boundary.region,
            boundary.pointer,
            f"~{boundary.tokens}",
            boundary.ttl or "-",
            "yes" if boundary.tokens >= plan.minimum else f"below {plan.minimum}",
            f"{boundary.tokens * able.cache_read_price:.0f}",
            f"{boundary.tokens * _write_price(boundary, able):.0f}",
        )
        for boundary in plan.boundaries
    ]
    table(("region", "up to", "tokens", "kept for", "cached", "price if hit", "if missed"), rows)
    if plan.key:
        say(f"cache key: {plan.key}")
    if not rows:
        say("no cache is planned: it is switched off, or nothing is known of one here")


def _show_map(rendering: Rendering) -> None:
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
    table(("bytes", "at", "block", "placeholder", "source", "trust", "stability"), rows)


def _write_price(boundary: Boundary, able: Abilities) -> float:
    """What writing to the cache costs, as a multiple of plain input."""
    if not boundary.marked:
        return 1.0
    return able.cache_long_write_price if boundary.ttl == "1h" else able.cache_write_price
