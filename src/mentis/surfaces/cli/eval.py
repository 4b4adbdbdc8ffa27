"""`mentis eval`: how good the parts are that choose, on fixed sets of examples."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from mentis.errors import UsageError

from .eval_answers import answers_command
from .eval_memory import memory_command
from .eval_run import run_command
from .eval_screening import screening_command
from .groups import RenamedGroup
from .manifest import embedder_option
from .output import say
from .rates_show import INTERVAL, interval_words, rate_words
from .report import Note, Report, Text, prints_report
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.engines.embedders import Choice
    from mentis.recall.evaluation_set import EvaluationSource, Half
    from mentis.tools.selection_eval import EvalRow, SelectionReport
    from mentis.values.proportion import Proportion


@click.group("eval", cls=RenamedGroup)
def eval() -> None:  # noqa: A001  # the command is called so
    """Measure selection, memory, screening and answers on sets of examples."""


eval.add_command(screening_command)
eval.add_command(run_command)
eval.add_command(answers_command)
eval.add_command(memory_command)


_file = click.Path(exists=True, dir_okay=False, path_type=Path)


@eval.command(epilog="For example: mentis eval selection --half held")
@click.argument(
    "folder",
    required=False,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@click.option("--tasks", type=_file, help="Tasks of your own, as JSON lines or a JSON list.")
@click.option("--tools", type=_file, help="The tools those tasks are about: name, description.")
@click.option("--skills", type=_file, help="The skills those tasks are about.")
@click.option(
    "--half",
    type=click.Choice(["all", "open", "held"]),
    default="all",
    show_default=True,
    help="Open tasks may be tuned on, held ones never are.",
)
@click.option("--no-examples", "bare", is_flag=True, help="Names and descriptions alone.")
@click.option("--overlap", "only_overlap", is_flag=True, help="Only the check for shared wording.")
@click.option("--calibrate", is_flag=True, help="Say where the cut should be for this embedder.")
@click.option(
    "--write",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --calibrate: the file of cuts it goes to (manifests/cuts.json in your home).",
)
@embedder_option
@prints_report
def selection(  # noqa: PLR0913  # one parameter for each option
    folder: Path | None,
    *,
    tasks: Path | None,
    tools: Path | None,
    skills: Path | None,
    half: Half,
    bare: bool,
    only_overlap: bool,
    calibrate: bool,
    write: Path | None,
    choice: Choice,
) -> Report:
    """Measure selection on a set of tasks: FOLDER, files, or the shipped one.

    Exit code 1 when a task of a folder or of the shipped set shares three content words in a row
    with a description, an example or a phrase that ships; for files it is only reported.
    """
    from functools import partial

    from mentis.recall.evaluation_set import EvaluationSource
    from mentis.tools.selection_eval import evaluate

    if write is not None and not calibrate:
        raise UsageError("--write is for --calibrate", hint="mentis eval selection --calibrate")
    source = EvaluationSource(folder, tasks, tools, skills)
    if only_overlap:
        return _overlap(source)
    measure = partial(evaluate, source, choice=choice, half=half, examples=not bare)
    report = anyio.run(measure)
    for step in report.degraded:
        say(f"note: {step.part}: {step.reason}")
    if write is not None:
        _write_cut(write, report)
    code = 1 if report.overlap and tasks is None else 0
    return Report(_data(report), _lines(report, calibrate=calibrate), code=code)


def _write_cut(path: Path, report: SelectionReport) -> None:
    from mentis.tools.selection import write_cut

    if report.cut is None:
        raise UsageError("no task found what it expects: there is no cut to write")
    write_cut(path, report.model, report.cut)
    say(f"wrote {path}")


def _overlap(source: EvaluationSource) -> Report:
    from mentis.recall.evaluation import overlap
    from mentis.recall.evaluation_set import load_set

    found = overlap(load_set(source))

    def text() -> Iterator[Text]:
        for task, words in found:
            yield f"{words}: {task}"
        yield f"{len(found)} shared content 3-grams"

    return Report(
        {"overlap": [{"task": task, "words": words} for task, words in found]},
        text(),
        code=1 if found else 0,
    )


def _data(report: SelectionReport) -> dict[str, object]:
    """Every share that was counted has its interval beside it."""
    from mentis.codec.forms import to_object
    from mentis.compare.rates import rate_data, share_data

    saving = report.saving
    shares = {"ranked": saving.ranked, "kept": saving.kept, "abstained": saving.abstained}
    told = dict(to_object(saving))
    for name, counted in shares.items():
        told |= share_data(name, counted)
    rows = [
        {
            **to_object(row),
            "figures": {**to_object(row.figures), "complete": rate_data(row.figures.complete)},
        }
        for row in report.rows
    ]
    return {**to_object(report), "saving": told, "rows": rows}


def _lines(report: SelectionReport, *, calibrate: bool) -> Iterator[Text]:
    from mentis.recall.evaluation import shown_of

    said = f"{report.tools} tools, {report.skills} skills, {report.tasks} tasks ({report.half})"
    yield f"{said}, embedder {report.model}"
    yield f"{len(report.overlap)} shared content 3-grams"
    columns = ("path", "kind", "lang", "difficulty", "tasks")
    numbers = ("recall@5", "MRR", "all", INTERVAL)
    rows = [_cells(row) for row in report.rows]
    yield TextTable((*columns, *numbers), rows, right=("tasks", *numbers))
    yield Note(
        "all: tasks that find all they need among the first"
        f" {shown_of('tool')} tools or {shown_of('skill')} skills; more figures with --json"
    )
    saving = report.saving
    yield (
        f"tokens: {saving.selected:.0f} selected of {saving.everything} in all, "
        f"{saving.reduction:.1%} fewer"
    )
    ranked, kept = f"{_told(saving.ranked)} by rank", f"{_told(saving.kept)} after the cut"
    yield f"tasks that get all they need: {ranked}, {kept}"
    yield (
        f"where nothing fits: {saving.none_selected:.2f} selected on average, "
        f"nothing at all in {_told(saving.abstained)}"
    )
    if calibrate and report.cut is not None:
        cut = report.cut
        numbers = f"floor {cut.floor}, margin {cut.margin}, skill_floor {cut.skill_floor}"
        yield f"cut for {report.model}: {numbers}"


def _told(counted: Proportion) -> str:
    """How often, to a tenth of a percent, and from and to at 95 %."""
    interval = interval_words(counted)
    return f"{counted.rate:.1%} ({INTERVAL}: {interval})" if interval else "none of none"


def _cells(row: EvalRow) -> tuple[str, ...]:
    found = row.figures
    about = (row.path, row.kind, row.language, row.difficulty, str(found.tasks))
    numbers = (f"{found.recall_5:.3f}", f"{found.mrr:.3f}")
    return (*about, *numbers, rate_words(found.complete), interval_words(found.complete))
