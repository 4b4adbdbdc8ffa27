"""Thresholds moved by what an owner's own ordinary text scores.

The shipped thresholds hold for the shipped data. Somebody whose notes are full of trigger words
adds them (label 0) and calibrates: each language's thresholds move up until the stated share of
those notes, and no more, lies above. They never move below the shipped ones by themselves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor
from typing import cast

from mentis.errors import BadInput, StoreDamaged
from mentis.ports.screener import StoredVector
from mentis.values.value import Value

from .fusion import WAYS, Way
from .knowledge import Knowledge, Rates, Thresholds, whole_thresholds
from .labelled import LabelledText
from .language import OTHER
from .screener import TextScreener

_FEWEST = 20  # of one language; fewer say nothing about a share
Scores = Mapping[tuple[Way, str], Sequence[float]]


@dataclass(frozen=True, slots=True)
class ThresholdCalibration(Value):
    """`counts` are the ordinary texts per language, `with_vectors` how many of all had a vector;
    `model` names the weights it holds for.
    """

    model: str
    thresholds: Thresholds
    counts: Mapping[str, int]
    with_vectors: int
    rates: Rates


def calibrate(
    knowledge: Knowledge,
    rows: Sequence[LabelledText],
    vectors: Sequence[StoredVector] | None = None,
) -> ThresholdCalibration:
    """Without vectors only the thresholds of text alone move."""
    if vectors is not None and len(vectors) != len(rows):
        raise BadInput("not every text has its vector", hint="one vector for each line")
    scores: dict[tuple[Way, str], list[float]] = {}
    screener = TextScreener(knowledge)
    for number, row in enumerate(rows):
        if not row.attack:
            _score(screener, row, None if vectors is None else vectors[number], scores)
    if not scores:
        raise BadInput("there is no ordinary text to calibrate with", hint="add rows with label 0")
    moved = {way: _moved(knowledge, way, scores) for way in WAYS}
    counts = {language: len(found) for (way, language), found in scores.items() if way == "text"}
    heard = sum(len(found) for (way, _), found in scores.items() if way == "vector")
    return ThresholdCalibration(
        knowledge.model, moved, dict(sorted(counts.items())), heard, dict(knowledge.rates)
    )


def _score(
    screener: TextScreener,
    row: LabelledText,
    vector: StoredVector | None,
    scores: dict[tuple[Way, str], list[float]],
) -> None:
    """Text alone and the strict way share a score; the vector's way has one of its own."""
    language, _, alone = screener.raw_score(row.text)
    scores.setdefault(("text", language), []).append(alone)
    scores.setdefault(("strict", language), []).append(alone)
    if vector is not None:
        _, way, total = screener.raw_score(row.text, vector)
        if way == "vector":
            scores.setdefault(("vector", language), []).append(total)


def _moved(knowledge: Knowledge, way: Way, scores: Scores) -> dict[str, dict[str, float]]:
    made: dict[str, dict[str, float]] = {}
    for outcome, shipped in knowledge.thresholds[way].items():
        made[outcome] = dict(shipped)
        for language in (*shipped, OTHER):
            found = scores.get((way, language), ())
            if len(found) >= _FEWEST:
                limit = conformal(found, knowledge.rates[way][outcome])
                made[outcome][language] = max(shipped[language], limit)
    return made


def conformal(scores: Sequence[float], rate: float) -> float:
    """What a further text of the same kind lies above with at most this chance; with too few to
    say so, the highest of them.
    """
    allowed = floor(rate * (len(scores) + 1))
    return sorted(scores, reverse=True)[max(0, allowed - 1)]


def apply_calibration(knowledge: Knowledge, text: str) -> Knowledge:
    """With the thresholds of a calibration file; those of other weights are not used, and told."""
    try:
        told = cast("dict[str, object]", json.loads(text))
        model, thresholds = told["model"], told["thresholds"]
        if model == knowledge.model:
            return knowledge.with_thresholds(whole_thresholds(thresholds), "home")
    except (ValueError, KeyError, TypeError, StoreDamaged) as error:
        raise BadInput(
            f"the screening thresholds cannot be read: {error}",
            hint="write them anew: mentis screening calibrate",
        ) from error
    return knowledge.with_thresholds(
        knowledge.thresholds, "shipped; the home's are of another model"
    )
