"""`mentis eval run`: a suite of cases, each with what must hold of the assembled prompt."""

from __future__ import annotations

from pathlib import Path

import anyio
import click

from .options import home_option, home_path, persona_option
from .output import emit, emit_json, json_option, say


@click.command("run", epilog="For example: mentis eval run assembly --min-score 1")
@click.argument("suite", default="assembly", required=False)
@click.option(
    "--min-score",
    type=click.FloatRange(0, 1),
    default=1.0,
    show_default=True,
    help="The share of assertions that must hold.",
)
@persona_option
@home_option
@json_option
def run_command(suite: str, *, min_score: float, persona: str | None, as_json: bool) -> int:
    """Assemble the tasks of SUITE (a file, or one that ships) and check what must hold.

    No model is called. Exit code 1 when fewer assertions hold than asked for.
    """
    from functools import partial

    from mentis.app.suite_eval import load_suite, run_suite
    from mentis.app.unstored import open_anyhow
    from mentis.codec.forms import to_object

    loaded = load_suite(suite)
    with open_anyhow(home_path(), persona=persona) as agent:
        found = anyio.run(partial(run_suite, agent, loaded, root=Path.cwd()))
    if as_json:
        emit_json(to_object(found))
    else:
        for one in found.outcomes:
            if not one.passed:
                emit(f"failed: {one.case}: {one.assertion}: {one.reason}")
        emit(f"{found.suite}: {found.passed} of {found.total} hold, score {found.score:g}")
    if found.score < min_score:
        say(f"below {min_score:g}")
        return 1
    return 0
