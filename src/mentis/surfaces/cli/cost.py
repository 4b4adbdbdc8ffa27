"""`mentis cost`."""

from __future__ import annotations

from datetime import datetime
from typing import get_args

import click

from mentis.errors import BadInput
from mentis.values.cost import CostKey

from .options import Number, every_persona_option, home_option, home_path
from .report import Report, json_wanted, prints_report


class Moment(click.ParamType[datetime]):
    """A day, a time, or how long ago; `end`: a day means all of it."""

    name = "when"

    def __init__(self, *, end: bool = False) -> None:
        self._end = end

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        from mentis.costs.moments import read_moment

        try:
            return read_moment(str(value), end=self._end)
        except BadInput as error:
            self.fail(error.message, param, ctx)


@click.command(epilog="For example: mentis cost --since 7d; mentis cost --by session --json")
@click.option(
    "--by",
    type=click.Choice(get_args(CostKey)),
    default="day",
    show_default=True,
    help="What to group by; `block` puts every prompt together again.",
)
@click.option("--since", type=Moment(), metavar="WHEN", help="From then on: 2026-10-04, 7d, 12h.")
@click.option("--until", type=Moment(end=True), metavar="WHEN", help="Up to then; a day is whole.")
@click.option(
    "--top",
    type=Number(0, 1000),
    default=5,
    show_default=True,
    help="How many of the most expensive turns.",
)
@click.option(
    "--newest",
    type=Number(0, 100_000),
    default=0,
    metavar="COUNT",
    help="Only the newest turns, so that a long record is not read.  [default: all]",
)
@click.option("--session", default="", metavar="NAME", help="Only this conversation.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the totals as CSV.")
@every_persona_option
@home_option
@prints_report
def cost(  # its options
    *,
    by: CostKey,
    since: datetime | None,
    until: datetime | None,
    top: int,
    newest: int,
    session: str,
    as_csv: bool,
    persona: str | None,
) -> Report:
    """Show what model calls cost, and why.

    Every call counts: all steps of turns, corrections, routes that failed, ticks, beats, titles,
    summaries, `mentis call` and `mentis routes check --live`. Tokens are what providers reported;
    prices are list prices, or `unknown price`. For the most expensive turns it names the byte from
    which the cache no longer helped, and the cheapest fix. Days are those of UTC. Nothing is sent.
    Without --persona, the whole home counts.
    """
    from mentis.app.home_costs import home_costs
    from mentis.costs.cost_data import cost_report_data
    from mentis.costs.report import CostQuestion

    from .cost_show import csv_lines, report_lines

    if as_csv and json_wanted():
        raise click.UsageError("--csv or --json, not both")
    question = CostQuestion(by, since, until, 0 if as_csv else top, newest, session=session)
    report = home_costs(home_path(), question, persona=persona)
    return Report(cost_report_data(report), csv_lines(report) if as_csv else report_lines(report))
