"""`mentis call`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

import click

from .options import given_text, home_option, home_path, persona_option, route_option
from .output import emit, emit_json, json_option, say

if TYPE_CHECKING:
    from mentis.values.reply import Reply


@click.command(epilog="For example: mentis render --json > payload.json; mentis call payload.json")
@click.argument("file", type=click.File(encoding="utf-8"), required=False)
@click.option("--message", metavar="TEXT", help="Send this message instead of a file.")
@click.option("--events", is_flag=True, help="Print the raw events of the answer, one per line.")
@persona_option
@route_option
@home_option
@json_option
def call(
    file: TextIO | None,
    *,
    message: str | None,
    events: bool,
    persona: str | None,
    route: str,
    as_json: bool,
) -> int:
    """Send a payload or a message and print what comes back.

    FILE (- for standard input) holds a payload in the format of the route, a rendering as
    `mentis render --json` prints it, or a request. Nothing is recorded: use `mentis chat` for
    that. Exit code 1 when the answer is an error or was cut off.
    """
    import anyio

    from mentis.runtime.calls import call_route
    from mentis.runtime.wiring import Parts

    if (file is None) == (message is None):
        raise click.UsageError("give a FILE or a --message, and not both")
    source = given_text(_rendered(message, persona, route) if message else None, file) or ""

    async def send() -> Reply:
        parts = Parts(on_loading=say)
        hear = emit if events and not as_json else _ignore
        return await call_route(home_path(), source, route=route, parts=parts, hear=hear)

    reply = anyio.run(send)
    _show(reply, events=events, as_json=as_json)
    return 1 if reply.stop in ("error", "cut_off") else 0


def _rendered(message: str, persona: str | None, route: str) -> str:
    """A message is rendered as a turn of its own would be, with the persona's whole prompt."""
    from mentis.runtime.agent import Agent

    agent = Agent.open(home_path(), persona=persona, route=route)
    try:
        return agent.render(message).body().decode()
    finally:
        agent.close()


def _show(reply: Reply, *, events: bool, as_json: bool) -> None:
    from mentis.codec.forms import to_object

    if as_json:
        emit_json(to_object(reply))
        return
    if not events:
        emit(reply.text)
        for action in reply.actions:
            emit(f"{action.type}: {to_object(action)}")
    for problem in reply.errors:
        say(f"in the answer: {problem.message} [{problem.code}]")
    words = [f"stop: {reply.stop}"]
    if reply.usage is not None:
        usage = reply.usage
        words.append(f"{usage.input} tokens in ({usage.cache_read} cached), {usage.output} out")
    say(f"[{', '.join(words)}]")


def _ignore(_event: str) -> None:
    """The reply is printed when it is complete."""
