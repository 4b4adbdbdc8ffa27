"""`mentis render`."""

from __future__ import annotations

import click

from mentis.values.rendering import Rendering

from .options import home_option, home_path, persona_option, route_option, session_option
from .output import emit_json, json_option, table


@click.command(epilog='For example: mentis render "Good morning!" --map')
@click.argument("text", default="Hello!")
@click.option(
    "--provider",
    type=click.Choice(["openai-chat"]),
    default="openai-chat",
    show_default=True,
    help="The wire format.",
)
@click.option("--body", is_flag=True, help="Print the exact bytes of the body, and nothing else.")
@click.option("--map", "source_map", is_flag=True, help="Print which span each byte came from.")
@persona_option
@route_option
@session_option
@home_option
@json_option
def render(
    text: str,
    *,
    provider: str,
    persona: str | None,
    route: str,
    session: str,
    body: bool,
    source_map: bool,
    as_json: bool,
) -> None:
    """Show the exact payload that would be sent.

    Nothing is sent. --json adds the digest, the map and the losses to the payload.
    """
    from mentis.runtime.agent import Agent

    agent = Agent.open(home_path(), persona=persona, route=route)
    try:
        rendering = agent.render(text, session=session)
    finally:
        agent.close()
    if body:
        click.echo(rendering.body(), nl=False)
    elif source_map:
        _show_map(rendering)
    elif as_json:
        emit_json({"wire": provider, **_whole(rendering)})
    else:
        emit_json(rendering.payload)


def _whole(rendering: Rendering) -> dict[str, object]:
    from mentis.codec.forms import to_object

    return {
        "digest": rendering.digest,
        "payload": rendering.payload,
        "losses": [to_object(loss) for loss in rendering.losses],
        "source_map": [to_object(piece) for piece in rendering.source_map()],
    }


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
