"""`mentis eval run`: a suite of cases, each with what must hold of the assembled prompt."""

from __future__ import annotations

from pathlib import Path

import anyio
import click

from .options import home_option, home_path, persona_option
from .output import say
from .rates_show import INTERVAL, count_words, interval_words
from .report import Report, prints_report


@click.command("run", epilog="For example: mentis eval run assembly --min-score 1")
@click.argument("suite", default="assembly", required=False)
@click.option(
    "--min-score",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    default=1.0,
    show_default=True,
    help="The share of assertions that must hold.",
)
@persona_option
@home_option
@prints_report
def run_command(suite: str, *, min_score: float, persona: str | None) -> Report:
    """Assemble the tasks of SUITE (a file, or a shipped one), and check each.

    No model is called. Exit code 1 when fewer assertions hold than asked for.
    """
    from functools import partial

    from mentis.app.suite_eval import load_suite, run_suite
    from mentis.app.unstored import open_anyhow
    from mentis.codec.forms import to_object
    from mentis.compare.rates import rate_data
    from mentis.values.proportion import Proportion

    loaded = load_suite(suite)
    with open_anyhow(home_path(), persona=persona) as agent:
        found = anyio.run(partial(run_suite, agent, loaded, root=Path.cwd()))
    failed = [
        f"failed: {one.case}: {one.assertion}: {one.reason}"
        for one in found.outcomes
        if not one.passed
    ]
    low = found.score < min_score
    if low:
        say(f"below {min_score:g}")
    held = Proportion(found.passed, found.total)
    interval = f" ({INTERVAL}: {interval_words(held)})" if held.total else ""
    summary = f"{found.suite}: {count_words(held)} hold, score {found.score:g}{interval}"
    data = {**to_object(found), **rate_data(held)}
    return Report(data, (failed, summary), code=1 if low else 0)
