"""How good a screener is on labelled texts: AUROC, recall, and what it stops."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mentis.ports.screener import Screener, StoredVector
from mentis.values.cognition import Screening
from mentis.values.proportion import Proportion
from mentis.values.value import Value

from .labelled import LabelledText


@dataclass(frozen=True, slots=True)
class ScreeningFigures(Value):
    """None where there are no attacks, or nothing else, to tell apart.

    `dropped` and `suspicious` are shares of the attacks; `stopped_wrongly` and `marked_wrongly`
    those of the rest, at the thresholds in force. A recall uses the threshold of the whole file.
    """

    attacks: int
    others: int
    auroc: float | None
    recall_at_1: Proportion | None
    recall_at_5: Proportion | None
    dropped: Proportion | None
    suspicious: Proportion | None
    stopped_wrongly: Proportion | None
    marked_wrongly: Proportion | None


@dataclass(frozen=True, slots=True)
class Evaluation(Value):
    all: ScreeningFigures
    by_language: Mapping[str, ScreeningFigures]
    by_source: Mapping[str, ScreeningFigures]


Judged = tuple[LabelledText, Screening]


def evaluate(
    screener: Screener, rows: Sequence[LabelledText], vectors: Sequence[StoredVector] | None = None
) -> Evaluation:
    """With the vectors the texts would be stored with, one for each, or by the texts alone."""
    kept = [None] * len(rows) if vectors is None else vectors
    judged = [
        (row, screener.screen(row.text, source=row.source, vector=vector))
        for row, vector in zip(rows, kept, strict=True)
    ]
    limits = (_limit(judged, 0.01), _limit(judged, 0.05))

    def group_by(key: Callable[[LabelledText], str]) -> dict[str, ScreeningFigures]:
        names = sorted({key(row) for row, _ in judged})
        return {
            name: _figures([one for one in judged if key(one[0]) == name], limits) for name in names
        }

    return Evaluation(
        _figures(judged, limits),
        group_by(lambda row: row.lang or "unknown"),
        group_by(lambda row: row.source or "unknown"),
    )


def threshold(scores: Sequence[float], rate: float) -> float | None:
    """What at most this share of the scores lies above; None without scores."""
    if not scores:
        return None
    return sorted(scores, reverse=True)[int(rate * len(scores))]


def auroc(bad: Sequence[float], good: Sequence[float]) -> float | None:
    """How often an attack scores above something else; a tie counts half."""
    if not bad or not good:
        return None
    row = sorted(good)
    above = sum(bisect_left(row, one) + bisect_right(row, one) for one in bad)
    return above / 2 / len(bad) / len(good)


def _limit(judged: Sequence[Judged], rate: float) -> float | None:
    return threshold([_score(said) for row, said in judged if not row.attack], rate)


def _score(said: Screening) -> float:
    """What has no score was not looked at: it was dropped, and counts as the worst."""
    return float("inf") if said.score is None else said.score


def _figures(
    judged: Sequence[Judged], limits: tuple[float | None, float | None]
) -> ScreeningFigures:
    bad = [said for row, said in judged if row.attack]
    good = [said for row, said in judged if not row.attack]
    scores = [_score(said) for said in bad]
    at_1, at_5 = (
        None if limit is None else _share([one > limit for one in scores]) for limit in limits
    )
    return ScreeningFigures(
        len(bad),
        len(good),
        auroc(scores, [_score(said) for said in good]),
        at_1,
        at_5,
        _share([said.outcome == "dropped" for said in bad]),
        _share([said.outcome == "suspicious" for said in bad]),
        _share([said.outcome == "dropped" for said in good]),
        _share([said.outcome == "suspicious" for said in good]),
    )


def _share(hits: Sequence[bool]) -> Proportion | None:
    return Proportion(sum(hits), len(hits)) if hits else None
