"""Thresholds moved by what an owner's own ordinary text scores.

The shipped thresholds hold for the shipped data. Somebody whose notes are full of trigger words
adds them (label 0) and calibrates: each language's thresholds move up until the stated share of
those notes, and no more, lies above. They never move below the shipped ones by themselves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from mentis.errors import BadInput
from mentis.values.value import Value

from .figures import threshold
from .knowledge import Knowledge, Thresholds
from .labelled import Labelled
from .language import OTHER
from .screener import TextScreener

_FEWEST = 20  # of one language; fewer say nothing about a share


@dataclass(frozen=True, slots=True)
class Calibration(Value):
    """`counts` are the ordinary texts per language; `model` names the weights it holds for."""

    model: str
    thresholds: Mapping[str, Mapping[str, float]]
    counts: Mapping[str, int]
    rates: Mapping[str, float]


def calibrate(knowledge: Knowledge, rows: Sequence[Labelled]) -> Calibration:
    screener = TextScreener(knowledge)
    scores: dict[str, list[float]] = {}
    for row in rows:
        if not row.attack:
            language, score = screener.raw_score(row.text)
            scores.setdefault(language, []).append(score)
    if not scores:
        raise BadInput("there is no ordinary text to calibrate with", hint="add rows with label 0")
    moved = {
        outcome: _moved(shipped, scores, knowledge.rates[outcome])
        for outcome, shipped in knowledge.thresholds.items()
    }
    counts = {language: len(found) for language, found in sorted(scores.items())}
    return Calibration(knowledge.model, moved, counts, dict(knowledge.rates))


def _moved(
    shipped: Mapping[str, float], scores: Mapping[str, Sequence[float]], rate: float
) -> dict[str, float]:
    moved = dict(shipped)
    for language in (*shipped, OTHER):
        found = scores.get(language, ())
        if len(found) >= _FEWEST:
            moved[language] = max(shipped[language], threshold(found, rate) or 0.0)
    return moved


def calibrated(knowledge: Knowledge, text: str) -> Knowledge:
    """With the thresholds of a calibration file; those of other weights are not used, and told."""
    try:
        told = cast("dict[str, object]", json.loads(text))
        thresholds = cast("Thresholds", told["thresholds"])
        right = all(OTHER in thresholds[outcome] for outcome in ("suspicious", "dropped"))
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(
            f"the screening thresholds cannot be read: {error}",
            hint="write them anew: mentis screening calibrate",
        ) from error
    if not right:
        raise BadInput(
            "the screening thresholds are not whole",
            hint="write them anew: mentis screening calibrate",
        )
    if told.get("model") != knowledge.model:
        return knowledge.with_thresholds(
            knowledge.thresholds, "shipped; the home's are of another model"
        )
    return knowledge.with_thresholds(thresholds, "home")
