"""`mentis chat`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from mentis.values.reply import Delta, TextDelta

from .options import home_option, home_path, persona_option, route_option, session_option
from .output import emit, emit_json, json_option, say

if TYPE_CHECKING:
    from mentis.runtime.turn import TurnResult

    from .talk import Talk

_LEAVE = frozenset({"/quit", "/exit"})


@click.command(epilog='For example: mentis chat "What did we plan for today?"')
@click.argument("text", nargs=-1)
@persona_option
@route_option
@session_option
@home_option
@json_option
def chat(
    text: tuple[str, ...], persona: str | None, route: str, session: str, *, as_json: bool
) -> int:
    """Talk to a persona; the answer streams and the turn is recorded.

    With TEXT, or with a message on standard input, one turn is made. On a terminal without TEXT,
    the conversation goes on until Ctrl-D. Ctrl-C ends an answer: what came of it is kept and
    marked as interrupted.
    """
    from .talk import open_talk

    message = " ".join(text)
    if not message and not sys.stdin.isatty():
        message = sys.stdin.read()
    with open_talk(home_path(), persona=persona, route=route) as talk:
        if message or as_json or not sys.stdin.isatty():
            return _once(talk, message, session, as_json=as_json)
        return _converse(talk, session)


def _once(talk: Talk, message: str, session: str, *, as_json: bool) -> int:
    result = talk.ask(message, session=session, hear=None if as_json else _print)
    if as_json:
        emit_json(_summary(result))
    else:
        emit("")
        say(_receipt(result))
    return 1 if result.reply.stop == "interrupted" else 0


def _converse(talk: Talk, session: str) -> int:
    say(f"You are talking to {talk.agent.id}. Ctrl-C ends an answer, Ctrl-D the conversation.")
    while True:
        try:
            message = click.prompt("you", prompt_suffix="> ", err=True)
        except click.Abort:
            say("")
            return 0
        if message.strip() in _LEAVE:
            return 0
        result = talk.ask(message, session=session, hear=_print)
        emit("")
        say(_receipt(result))


def _print(delta: Delta) -> None:
    if isinstance(delta, TextDelta):
        click.echo(delta.text, nl=False)


def _receipt(result: TurnResult) -> str:
    reply, entry = result.reply, result.entry
    words = [f"entry {entry.index}", entry.hash[:12], f"stop: {reply.stop}"]
    if reply.usage is not None:
        usage = reply.usage
        words.append(f"{usage.input} tokens in ({usage.cache_read} cached), {usage.output} out")
    if reply.stop == "interrupted":
        words.append("the part above is kept")
    return f"[{', '.join(words)}]"


def _summary(result: TurnResult) -> dict[str, object]:
    from mentis.codec.forms import to_object

    reply = result.reply
    return {
        "text": reply.text,
        "stop": reply.stop,
        "session": result.session,
        "usage": to_object(reply.usage) if reply.usage else None,
        "outcomes": [to_object(outcome) for outcome in result.outcomes],
        "entry": {"index": result.entry.index, "hash": result.entry.hash},
    }
