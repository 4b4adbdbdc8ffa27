"""`mentis eval screening`: how good the filter for text from outside is on a labelled file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import home_named, home_option, home_path
from .output import say
from .report import Note, Report, Text, prints_report
from .screening import text_only_option, vectors
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.recall.screening.figures import Evaluation, ScreeningFigures


@click.command("screening", epilog="For example: mentis eval screening attacks.jsonl --json")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@text_only_option
@home_option
@prints_report
def screening_command(file: Path, *, text_only: bool) -> Report:
    """Screen every text of FILE and print AUROC and recall, per language and source.

    Each line is {"text": "...", "label": 1, "lang": "en", "source": "..."}; label 1 is an attack.
    Recall at 1 and 5 percent uses the false positives of the whole file; `dropped` and `wrongly`
    are what happens at the thresholds in force. Each text gets the vector it would be stored with.
    Where the home has patterns of your own, it says how many the others find (leave one out).
    """
    from mentis.codec.forms import to_object
    from mentis.memories.screening import labelled_file, open_screener
    from mentis.recall.screening.figures import evaluate

    screener = open_screener(home_path() if home_named() else None)
    rows = labelled_file(file)
    found = evaluate(screener, rows, vectors([row.text for row in rows], text_only=text_only))
    patterns = None if screener.patterns is None else screener.patterns.leave_one_out()
    told = {} if patterns is None else {"patterns": patterns}
    if patterns is not None:
        say(f"{patterns.found} of your {patterns.patterns} patterns are found by the others")
    return Report({**to_object(found), **told}, _lines(found))


def _lines(found: Evaluation) -> Iterator[Text]:
    numbers = ("attacks", "others", "AUROC", "recall@1%", "recall@5%", "dropped", "wrongly")
    rows = [("all", *_row(found.all))]
    rows += [(f"language {name}", *_row(one)) for name, one in found.by_language.items()]
    rows += [(f"source {name}", *_row(one)) for name, one in found.by_source.items()]
    yield TextTable(("texts", *numbers), rows, right=numbers)
    yield Note("a filter, not a boundary: what it lets through still stands in its fence")


def _row(one: ScreeningFigures) -> tuple[str, ...]:
    shares = (one.auroc, one.recall_at_1, one.recall_at_5, one.dropped, one.stopped_wrongly)
    told = ("" if share is None else f"{share:.3f}" for share in shares)
    return (str(one.attacks), str(one.others), *told)
