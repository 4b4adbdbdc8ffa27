"""`mentis eval answers`: how often the answers to a file of messages pass their checks."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import click

from .compare import MessageChoice, SideChoice, compare_report, message_options
from .options import home_option, persona_option
from .output import say
from .report import Report, prints_report


@click.command("answers", epilog="For example: mentis eval answers talk.jsonl --min-score 0.9")
@message_options
@click.option("--side", multiple=True, metavar="KEY=VALUE", help="How it answers, as compare --b.")
@click.option(
    "--min-score",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    default=1.0,
    show_default=True,
    help="The share of answers that must pass.",
)
@persona_option
@home_option
@prints_report
def answers_command(
    *,
    persona: str | None,
    side: tuple[str, ...],
    min_score: float,
    answers: bool,
    yes: bool,
    **given: object,
) -> Report:
    """Answer the messages of a file, check every answer, and count.

    The file is as for `mentis compare`, which measures two ways side by side. Exit code 1 when
    fewer answers pass than asked for.
    """
    choice = MessageChoice(**given)  # pyright: ignore[reportArgumentType]  # by their names
    report = compare_report(choice, SideChoice(side, (), answers=answers, yes=yes), persona)
    measured = cast("dict[str, list[dict[str, float]]]", report.data)["sides"][0]
    low = bool(measured["total"]) and measured["rate"] < min_score
    if low:
        say(f"below {min_score:g}")
    return replace(report, code=1 if low else 0)
