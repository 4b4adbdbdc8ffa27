"""`mentis prompts what-if`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

import click

from .options import MAX_INDEX, Number, every_persona_option, given_text, home_option, home_path
from .report import Note, Report, Text, TextDiff, prints_report
from .shown import safe
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.turn.replay.what_if import EditTrial, TrialEffect


@click.command("what-if", epilog='For example: mentis prompts what-if style --text "Be brief."')
@click.argument("block_id", metavar="ID")
@click.option("--variant", default="default", show_default=True, help="Which wording.")
@click.option("--text", metavar="TEXT", help="What the block would say.")
@click.option("--from-file", type=click.File(encoding="utf-8"), help="Take the text from a file.")
@click.option(
    "--entry",
    type=Number(0, MAX_INDEX),
    help="The turn whose prompt is told anew; by default the newest. Needs --persona if several.",
)
@click.option("--diff", "route", default="", metavar="ROUTE", help="How the prompt differs there.")
@every_persona_option
@home_option
@prints_report
def what_if(  # one parameter an option
    block_id: str,
    *,
    variant: str,
    text: str | None,
    from_file: TextIO | None,
    entry: int | None,
    route: str,
    persona: str | None,
) -> Report:
    """Show what another text of a block would do, per persona and route.

    Tokens and price of the prompt before and after, how much of it a cache keeps, and what the next
    turn has to read again for that. Nothing is sent or written. `mentis fork` tries it on a turn,
    `mentis prompts edit` makes it so.
    """
    from mentis.app.agent import Agent
    from mentis.stores.files.home import find_home
    from mentis.turn.replay.replay_data import trial_data

    words = given_text(text, from_file)
    if words is None:
        raise click.UsageError("say what the block would say: --text or --from-file")
    home = find_home(home_path())
    several = persona is None and entry is None
    chosen = home.personas() if several else (home.pick_persona(persona),)
    found: dict[str, EditTrial] = {}
    for one in chosen:
        agent = Agent.open(home_path(), persona=one)
        try:
            found[one] = agent.what_if(block_id, words, variant=variant, index=entry, whole=route)
        finally:
            agent.close()

    effects = [effect for trial in found.values() for effect in trial.effects]
    data = {"personas": {one: trial_data(trial) for one, trial in found.items()}}
    return Report(data, _lines(effects))


def _lines(effects: list[TrialEffect]) -> Iterator[Text]:
    rows = [_row(one) for one in effects]
    yield TextTable(
        ("persona", "route", "tokens", "price", "cached", "next turn reads again"), rows
    )
    for one in effects:
        if one.reason:
            yield Note(f"{one.persona} on {one.route}: nothing changes: {safe(one.reason)}")
        for difference in one.differences:
            yield TextDiff(difference.diff)


def _row(one: TrialEffect) -> tuple[str, ...]:
    broken, kept = one.forecast.broken, one.kept
    size = f"{one.was.total.tokens} -> {one.now.total.tokens}"
    price = "unknown price"
    if (was := one.was.cost.usd) is not None and (now := one.now.cost.usd) is not None:
        price = "free" if was == now == 0 else f"${was:.6f} -> ${now:.6f}"
    held, again = f"{kept.bytes} of {kept.of_bytes} bytes", "nothing"
    if not kept.cached:
        again = "no cache is known of"
    elif broken is not None:
        again = f"{broken.tokens.tokens} tokens, {_more(broken.cost.usd)}"
    return one.persona, one.route, size, price, held, again


def _more(usd: float | None) -> str:
    if usd is None:
        return "unknown price"
    return f"${usd:.6f} more" if usd else "free"
