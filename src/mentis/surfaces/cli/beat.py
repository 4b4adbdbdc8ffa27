"""`mentis beat`: a moment of the agent's own, and the log of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .answer_show import AnswerPrinter
from .options import home_option, home_path, persona_option, route_option
from .output import emit_json, json_option, printable, say, table

if TYPE_CHECKING:
    from mentis.talk.beat import Beat

_MOST = 100


class _NowByDefault(click.Group):
    """`mentis beat curiosity` is `mentis beat now curiosity`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = args[0] if args else ""
        if first not in self.commands and first not in ("-h", "--help"):
            args = ["now", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_NowByDefault)
def beat() -> None:
    """Let an agent have a moment of its own, and see those it had.

    Nobody waits for it, and nothing of it goes to anybody. `mentis beat KIND` is short for
    `mentis beat now KIND`. With `beats.enabled`, `mentis run` makes them by itself.
    """


@beat.command(epilog="For example: mentis beat curiosity")
@click.argument("kind", required=False)
@click.option("--if-due", is_flag=True, help="Only if the interval since the last one is over.")
@persona_option
@route_option
@home_option
@json_option
def now(kind: str | None, *, if_due: bool, persona: str | None, route: str, as_json: bool) -> int:
    """Have one now; without KIND, chance draws one by `beats.weights`.

    With --if-due it can be called as often as you like, from a timer for example.
    """
    from .talk import open_talk

    with open_talk(home_path(), persona=persona, route=route) as talk:
        due = talk.agent.next_beat() if if_due else None
        if due is not None and due > talk.agent.clock.now():
            _show(None, str(due.isoformat(timespec="seconds")), as_json=as_json)
            return 0
        printer = None if as_json else AnswerPrinter()
        found = talk.wait_for(lambda: talk.agent.beat(kind, on_delta=printer))
    _show(found, "", as_json=as_json)
    return talk.exit_code(found.result)


@beat.command(epilog="For example: mentis beat log --json")
@click.option(
    "--last",
    type=click.IntRange(1, 10_000),
    default=_MOST,
    show_default=True,
    help="How many, counted from the newest.",
)
@persona_option
@home_option
@json_option
def log(*, last: int, persona: str | None, as_json: bool) -> None:
    """Show the beats there were, also those that failed, the oldest first."""
    from mentis.app.agent import Agent
    from mentis.codec.forms import to_object

    agent = Agent.open(home_path(), persona=persona)
    try:
        found = agent.beats(last)
    finally:
        agent.close()
    if as_json:
        emit_json([to_object(one) for one in found])
    elif not found:
        say("there was none yet")
    else:
        rows = [
            (str(b.index), b.time, b.kind, b.failure or b.state, str(b.tokens), printable(b.text))
            for b in found
        ]
        columns = ("entry", "time", "kind", "state", "tokens", "text")
        table(columns, rows, right=("entry", "tokens"))


def _show(found: Beat | None, due: str, *, as_json: bool) -> None:
    if as_json:
        from mentis.talk.talk_data import beat_data

        emit_json({"due": due} if found is None else beat_data(found))
    elif found is None:
        say(f"none is due before {due}")
    else:
        stop = "" if found.result.stop == "answer" else f", {found.result.stop}"
        say(f"[entry {found.result.entry.index}, {found.kind}{stop}]")
