"""`mentis eval memory`: how well a question finds the memory that answers it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from .manifest import embedder_option
from .output import say
from .rates_show import INTERVAL, interval_words, rate_words
from .report import Note, Report, Text, prints_report
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.engines.embedders import Choice
    from mentis.memories.evaluation import MemoryReport
    from mentis.recall.evaluation_set import Half


@click.command("memory", epilog="For example: mentis eval memory --half held")
@click.argument(
    "folder",
    required=False,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@click.option(
    "--half",
    type=click.Choice(["all", "open", "held"]),
    default="all",
    show_default=True,
    help="Open questions may be tuned on, held ones never are.",
)
@embedder_option
@prints_report
def memory_command(folder: Path | None, *, half: Half, choice: Choice) -> Report:
    """Measure how well questions find memories: of FOLDER, or of the shipped set.

    The folder holds memories.jsonl ({"id": "...", "text": "..."} a line) and questions.jsonl
    ({"language": "en", "text": "...", "memory": "ID"}). Each question is ranked by meaning alone,
    by words alone, and by both, as a search does it.
    """
    from functools import partial

    from mentis.memories.evaluation import evaluate

    report = anyio.run(partial(evaluate, folder, choice=choice, half=half))
    for step in report.degraded:
        say(f"note: {step.part}: {step.reason}")
    return Report(_data(report), _lines(report))


def _data(report: MemoryReport) -> dict[str, object]:
    """Every share that was counted has its interval beside it."""
    from mentis.codec.forms import to_object
    from mentis.compare.rates import rate_data

    rows = [
        {**to_object(row), "first": rate_data(row.first), "top": rate_data(row.top)}
        for row in report.rows
    ]
    return {**to_object(report), "rows": rows}


def _lines(report: MemoryReport) -> Iterator[Text]:
    counted = f"{report.memories} memories, {report.questions} questions ({report.half})"
    yield f"{counted}, embedder {report.model}"
    numbers = ("questions", "first", INTERVAL, "first 3", "MRR")
    rows = [
        (
            row.way,
            row.language,
            str(row.first.total),
            rate_words(row.first),
            interval_words(row.first),
            rate_words(row.top),
            f"{row.mrr:.3f}",
        )
        for row in report.rows
    ]
    yield TextTable(("by", "lang", *numbers), rows, right=numbers)
    yield Note("first: the right memory stands first; both is what a search does")
