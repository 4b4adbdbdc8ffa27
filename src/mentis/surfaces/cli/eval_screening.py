"""`mentis eval screening`: how good the filter for text from outside is on a labelled file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import home_named, home_option, home_path
from .output import say
from .rates_show import INTERVAL, interval_words
from .report import Note, Report, Text, prints_report
from .screening import text_only_option, vectors
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.recall.screening.figures import Evaluation, ScreeningFigures
    from mentis.values.proportion import Proportion


_SHARES = (
    "recall_at_1",
    "recall_at_5",
    "dropped",
    "suspicious",
    "stopped_wrongly",
    "marked_wrongly",
)


@click.command("screening", epilog="For example: mentis eval screening attacks.jsonl --json")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@text_only_option
@home_option
@prints_report
def screening_command(file: Path, *, text_only: bool) -> Report:
    """Screen every text of FILE and print AUROC and recall, per language and source.

    Each line is {"text": "...", "label": 1, "lang": "en", "source": "..."}; label 1 is an attack.
    Recall at 1 and 5 percent uses the false positives of the whole file; `dropped` and `wrongly`
    are what happens at the thresholds in force; below stand the intervals of the shares at 95 %,
    as `mentis compare` has them. Each text gets the vector it would be stored with.
    Where the home has patterns of your own, it says how many the others find (leave one out).
    """
    from mentis.memories.screening import labelled_file, open_screener
    from mentis.recall.screening.figures import evaluate

    screener = open_screener(home_path() if home_named() else None)
    rows = labelled_file(file)
    found = evaluate(screener, rows, vectors([row.text for row in rows], text_only=text_only))
    patterns = None if screener.patterns is None else screener.patterns.leave_one_out()
    told = {} if patterns is None else {"patterns": patterns}
    if patterns is not None:
        say(f"{patterns.found} of your {patterns.patterns} patterns are found by the others")
    return Report({**_data(found), **told}, _lines(found))


def _data(found: Evaluation) -> dict[str, object]:
    return {
        "all": _figures_data(found.all),
        "by_language": {name: _figures_data(one) for name, one in found.by_language.items()},
        "by_source": {name: _figures_data(one) for name, one in found.by_source.items()},
    }


def _figures_data(one: ScreeningFigures) -> dict[str, object]:
    """Every share that was counted has its interval beside it."""
    from mentis.codec.forms import to_object
    from mentis.compare.rates import share_data

    told = dict(to_object(one))
    for name in _SHARES:
        told |= share_data(name, getattr(one, name))
    return told


def _lines(found: Evaluation) -> Iterator[Text]:
    named = [("all", found.all)]
    named += [(f"language {name}", one) for name, one in found.by_language.items()]
    named += [(f"source {name}", one) for name, one in found.by_source.items()]
    shares = ("recall@1%", "recall@5%", "dropped", "wrongly")
    numbers = ("attacks", "others", "AUROC", *shares)
    rows = [(name, *_row(one)) for name, one in named]
    yield TextTable(("texts", *numbers), rows, right=numbers)
    yield ""
    intervals = [(name, *_intervals(one)) for name, one in named]
    yield TextTable((INTERVAL, *shares), intervals, right=shares)
    yield Note("a filter, not a boundary: what it lets through still stands in its fence")


def _row(one: ScreeningFigures) -> tuple[str, ...]:
    shares = (None if share is None else share.rate for share in _shown(one))
    told = ("" if share is None else f"{share:.3f}" for share in (one.auroc, *shares))
    return (str(one.attacks), str(one.others), *told)


def _intervals(one: ScreeningFigures) -> tuple[str, ...]:
    return tuple(interval_words(share) for share in _shown(one))


def _shown(one: ScreeningFigures) -> tuple[Proportion | None, ...]:
    return (one.recall_at_1, one.recall_at_5, one.dropped, one.stopped_wrongly)
