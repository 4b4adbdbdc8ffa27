"""Prints the figures of docs/concepts/selection.md, or puts them there (`--write`).

It runs the whole evaluation four times and needs the weights of minilm-l6, so it takes a while; run
it when ranking, gloss, phrases or examples have changed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TypeAlias

import anyio

from mentis.recall.evaluation_set import Half
from mentis.tools.selection_eval import SelectionReport, evaluate

PAGE = Path(__file__).resolve().parent.parent / "docs/concepts/selection.md"
BEGIN, END = "<!-- tools/selection_docs.py begins -->", "<!-- ends -->"
Reports: TypeAlias = dict[Half, SelectionReport]
HALVES: tuple[Half, ...] = ("open", "held")


def measured(half: Half, *, examples: bool) -> SelectionReport:
    return anyio.run(partial(evaluate, choice="minilm", half=half, examples=examples))


def recall(report: SelectionReport, path: str, language: str, difficulty: str = "all") -> str:
    wanted = (path, "tool", language, difficulty)
    for row in report.rows:
        if (row.path, row.kind, row.language, row.difficulty) == wanted:
            return f"{row.figures.recall_5:.3f}"
    return ""


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def lines() -> Iterator[str]:
    reports: Reports = {half: measured(half, examples=True) for half in HALVES}
    bare: Reports = {half: measured(half, examples=False) for half in HALVES}
    languages = list(dict.fromkeys(row.language for row in reports["held"].rows))
    head = ("language", "hybrid, open", "hybrid, held", "easy", "paraphrased", "dense", "words")
    yield "Recall@5 of tools; from the fourth column on of the held half:"
    yield ""
    yield from table(
        (*head, "words, easy", "no examples, open", "no examples, held"),
        [_row(language, reports, bare) for language in languages],
    )
    yield ""
    for half in HALVES:
        yield from _saving(half, reports[half])


def _row(language: str, reports: Reports, bare: Reports) -> tuple[str, ...]:
    held = reports["held"]
    return (
        language,
        recall(reports["open"], "hybrid", language),
        recall(held, "hybrid", language),
        recall(held, "hybrid", language, "easy"),
        recall(held, "hybrid", language, "paraphrased"),
        recall(held, "dense", language),
        recall(held, "lexical", language),
        recall(held, "lexical", language, "easy"),
        recall(bare["open"], "hybrid", language),
        recall(bare["held"], "hybrid", language),
    )


def _saving(half: Half, report: SelectionReport) -> Iterator[str]:
    saving = report.saving
    yield (
        f"- {half} half, {report.tasks} tasks, {len(report.overlap)} shared content 3-grams: "
        f"{saving.selected:.0f} of {saving.everything} tokens are shown, {saving.reduction:.1%} "
        f"fewer; {saving.ranked.rate:.1%} of tasks have all they need by rank, "
        f"{saving.kept.rate:.1%} after the cut; "
        f"where nothing fits, {saving.none_selected:.1f} are shown."
    )


def main() -> None:
    text = "\n".join(lines())
    if "--write" not in sys.argv[1:]:
        print(text)
        return
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
