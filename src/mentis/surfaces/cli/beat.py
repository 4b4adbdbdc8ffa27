"""`mentis beat`: a moment of the agent's own, and the log of them."""

from __future__ import annotations

from collections.abc import Iterator

import click

from .answer_show import AnswerPrinter
from .groups import RenamedGroup
from .options import Number, home_option, home_path, persona_option, route_option
from .output import printable
from .report import Note, Report, Text, json_wanted, prints_report
from .tables import TextTable

_MOST = 100


class _NowByDefault(RenamedGroup):
    """`mentis beat curiosity` is `mentis beat now curiosity`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = args[0] if args else ""
        if first not in self.commands and first not in ("-h", "--help"):
            args = ["now", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_NowByDefault)
def beat() -> None:
    """Give an agent a moment of its own, and list past ones.

    Nobody waits for it, and nothing that it says is sent to anybody. `mentis beat KIND` is short
    for `mentis beat now KIND`. With `beats.enabled`, `mentis run` makes them by itself.
    """


@beat.command(epilog="For example: mentis beat curiosity")
@click.argument("kind", required=False)
@click.option("--if-due", is_flag=True, help="Only if the interval since the last one is over.")
@persona_option
@route_option
@home_option
@prints_report
def now(kind: str | None, *, if_due: bool, persona: str | None, route: str) -> Report:
    """Have a beat now; without KIND, one is drawn by `beats.weights`.

    With --if-due it can be called as often as you like, from a timer for example.
    """
    from mentis.talk.talk_data import beat_data

    from .talk import open_talk

    with open_talk(home_path(), persona=persona, route=route) as talk:
        due = talk.agent.next_beat() if if_due else None
        if due is not None and due > talk.agent.clock.now():
            when = due.isoformat(timespec="seconds")
            return Report({"due": when}, Note(f"none is due before {when}"))
        printer = None if json_wanted() else AnswerPrinter()
        found = talk.wait_for(lambda: talk.agent.beat(kind, on_delta=printer))
    stop = "" if found.result.stop == "answer" else f", {found.result.stop}"
    line = f"[entry {found.result.entry.index}, {found.kind}{stop}]"
    return Report(beat_data(found), Note(line), code=talk.exit_code(found.result))


@beat.command(epilog="For example: mentis beat log --json")
@click.option(
    "--last",
    type=Number(1, 10_000),
    default=_MOST,
    show_default=True,
    help="How many, counted from the newest.",
)
@persona_option
@home_option
@prints_report
def log(*, last: int, persona: str | None) -> Report:
    """List past beats, failed ones included, oldest first."""
    from mentis.app.agent import Agent

    agent = Agent.open(home_path(), persona=persona)
    try:
        found = agent.beats(last)
    finally:
        agent.close()

    def text() -> Iterator[Text]:
        if not found:
            yield Note("there was none yet")
        else:
            rows = [
                (
                    str(b.index),
                    b.time,
                    b.kind,
                    b.failure or b.state,
                    str(b.tokens),
                    printable(b.text),
                )
                for b in found
            ]
            columns = ("entry", "time", "kind", "state", "tokens", "text")
            yield TextTable(columns, rows, right=("entry", "tokens"))

    return Report(found, text())
