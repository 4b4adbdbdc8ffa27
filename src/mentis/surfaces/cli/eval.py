"""`mentis eval`: how good the parts are that choose, on fixed sets of examples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from .eval_screening import screening_command
from .manifest import embedder_option
from .output import emit, emit_json, json_option, say, table

if TYPE_CHECKING:
    from mentis.engines.embedders import Choice
    from mentis.recall.evaluation import Half
    from mentis.runtime.selection_eval import Report, Row


@click.group("eval")
def eval() -> None:  # noqa: A001  # the command is called so
    """Measure the parts that choose, on fixed sets of examples."""


eval.add_command(screening_command)


@eval.command(epilog="For example: mentis eval selection --half held")
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
    help="Open tasks may be tuned on, held ones never are.",
)
@click.option("--overlap", "only_overlap", is_flag=True, help="Only the check for shared wording.")
@embedder_option
@json_option
def selection(
    folder: Path | None, *, half: Half, only_overlap: bool, choice: Choice, as_json: bool
) -> int:
    """Rank the tasks of a set (FOLDER, else the one that ships) and print how often it was right.

    Exit code 1 when a task shares three content words in a row with a description or example.
    """
    if only_overlap:
        return _overlap(folder, as_json=as_json)
    from functools import partial

    from mentis.codec.forms import to_object
    from mentis.runtime.selection_eval import evaluate

    report = anyio.run(partial(evaluate, folder, choice=choice, half=half))
    for step in report.degraded:
        say(f"note: {step.part}: {step.reason}")
    if as_json:
        emit_json(to_object(report))
    else:
        _show(report)
    return 1 if report.overlap else 0


def _overlap(folder: Path | None, *, as_json: bool) -> int:
    from mentis.recall.evaluation import load_set, overlap

    found = overlap(load_set(folder))
    if as_json:
        emit_json({"overlap": [{"task": task, "words": words} for task, words in found]})
    else:
        for task, words in found:
            emit(f"{words}: {task}")
        emit(f"{len(found)} shared content 3-grams")
    return 1 if found else 0


def _show(report: Report) -> None:
    said = f"{report.tools} tools, {report.skills} skills, {report.tasks} tasks ({report.half})"
    emit(f"{said}, embedder {report.model}")
    emit(f"{len(report.overlap)} shared content 3-grams")
    columns = ("path", "kind", "language", "difficulty", "tasks")
    numbers = ("recall@1", "recall@3", "recall@5", "precision@1", "precision@5", "MRR")
    rows = [_cells(row) for row in report.rows]
    table((*columns, *numbers), rows, right=("tasks", *numbers))
    saving = report.saving
    emit(
        f"tokens: {saving.selected:.0f} selected of {saving.everything} in all, "
        f"{saving.reduction:.1%} fewer, with {saving.kept:.1%} of what was expected"
    )
    emit(
        f"where nothing fits: {saving.none_selected:.2f} selected on average, "
        f"nothing at all in {saving.abstained:.1%}"
    )


def _cells(row: Row) -> tuple[str, ...]:
    found = row.figures
    recalls = (found.recall_1, found.recall_3, found.recall_5)
    numbers = (*recalls, found.precision_1, found.precision_5, found.mrr)
    about = (row.path, row.kind, row.language, row.difficulty, str(found.tasks))
    return (*about, *(f"{number:.3f}" for number in numbers))
