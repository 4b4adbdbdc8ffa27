"""Logistic regressions for the screening model, in numpy: of windows, texts, vectors and votes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mentis.recall.screening.features import Lexicon
from mentis.recall.screening.normalise import normalise
from mentis.recall.screening.reading import LONGEST, features, read, whole_features
from mentis.recall.screening.rules import Rules
from screening_rows import DATA, Row

Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Indices: TypeAlias = NDArray[np.integer[Any]]
Loss: TypeAlias = Callable[[Floats], tuple[float, Floats]]
MOST_WINDOWS = 96  # that are scored of one text
MOST_LEARNED = {0: 12, 1: 24}  # that are learned from, evenly spread, by label
TEXT_L2 = 2.0
HEAD_L2 = 5.0
ITERATIONS = 16


class Matrix:
    """All windows of all rows, and after them each row as a whole, as one sparse matrix."""

    def __init__(self, rows: Sequence[Row]) -> None:
        lexicon = Lexicon((DATA / "lexicon.txt").read_text("utf-8"))
        rules = Rules((DATA / "rules.txt").read_text("utf-8"))
        buckets: list[NDArray[np.int32]] = []
        values: list[NDArray[np.float32]] = []
        owners: list[int] = []
        learned: list[bool] = []
        wholes: list[list[tuple[int, float]]] = []
        tokens: list[int] = []
        for number, row in enumerate(rows):
            normal = normalise(row.text)
            one = read("\n".join((normal.plain[:LONGEST], *normal.hidden)), lexicon, rules)
            runs = one.windows[:MOST_WINDOWS] or [(0, 0)]
            every = -(-len(runs) // MOST_LEARNED[row.label])
            for place, (start, end) in enumerate(runs):
                _append(buckets, values, features(one, start, end))
                owners.append(number)
                learned.append(place % every == 0)
            wholes.append(whole_features(one))
            tokens.append(len(one.tokens))
        self.windows = len(owners)
        for whole in wholes:
            _append(buckets, values, whole)
        self.owner = np.array([*owners, *range(len(rows))])
        self.is_window = np.arange(len(self.owner)) < self.windows
        self.learned = np.append(np.array(learned), np.ones(len(rows), bool))
        self.tokens = np.array(tokens)
        self.lengths = np.array([len(one) for one in buckets])
        self.used, inverse = np.unique(np.concatenate(buckets), return_inverse=True)
        self.columns = inverse.astype(np.int32)
        self.values = np.concatenate(values)
        self.labels = np.array([row.label for row in rows])
        self.cares = cares(rows)

    def scores(self, weights: Floats) -> Floats:
        """Of every window, then of every whole text."""
        starts = np.concatenate(([0], np.cumsum(self.lengths)[:-1]))
        return np.add.reduceat(self.values * weights[self.columns], starts) + weights[-1]

    def part(self, rows: Mask) -> tuple[Indices, NDArray[np.float32], Indices, Indices]:
        chosen = np.repeat(rows, self.lengths)
        lengths = self.lengths[rows]
        starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
        return self.columns[chosen], self.values[chosen], starts, lengths

    def highest(self, scores: Floats) -> Floats:
        best = np.full(len(self.labels), -99.0)
        np.maximum.at(best, self.owner[: self.windows], scores[: self.windows])
        return best


def cares(rows: Sequence[Row]) -> Floats:
    """Sentences of packages are many and easy; what is measured counts for more."""
    return np.array([1.5 if row.measured else 0.5 for row in rows])


def _append(
    buckets: list[NDArray[np.int32]],
    values: list[NDArray[np.float32]],
    pairs: list[tuple[int, float]],
) -> None:
    pairs = pairs or [(0, 0.0)]
    buckets.append(np.array([bucket for bucket, _ in pairs], np.int32))
    values.append(np.array([value for _, value in pairs], np.float32))


def train_text(matrix: Matrix, chosen: Mask) -> tuple[Floats, Floats]:
    """Two models: of windows (an attack is as bad as its worst ones) and of whole texts."""
    positives = matrix.labels[chosen].sum()
    balance = (0.5 * (chosen.sum() - positives) / positives) ** 0.5
    weight = np.where(matrix.labels[matrix.owner] == 1, balance, matrix.cares[matrix.owner])
    taken = chosen[matrix.owner] & matrix.learned
    whole = _fit(matrix, taken & ~matrix.is_window, weight)
    # The model of whole texts says which windows of an attack are the attack.
    scores = matrix.scores(whole)
    windows = _fit(matrix, *_picked(matrix, scores, taken & matrix.is_window, weight))
    scores = matrix.scores(windows)
    return _fit(matrix, *_picked(matrix, scores, taken & matrix.is_window, weight), windows), whole


def _picked(matrix: Matrix, scores: Floats, rows: Mask, weight: Floats) -> tuple[Mask, Floats]:
    best = matrix.highest(scores)
    attack = matrix.labels[matrix.owner] == 1
    rows = rows & (~attack | (scores >= best[matrix.owner] - 0.7))
    count = np.maximum(1, np.bincount(matrix.owner[rows], minlength=len(matrix.labels)))
    return rows, weight / np.where(attack, count[matrix.owner], count[matrix.owner] ** 0.5)


def _fit(matrix: Matrix, rows: Mask, share: Floats, start: Floats | None = None) -> Floats:
    columns, values, starts, lengths = matrix.part(rows)
    sign = matrix.labels[matrix.owner[rows]] * 2.0 - 1
    share = share[rows]
    size = len(matrix.used)

    def loss(weights: Floats) -> tuple[float, Floats]:
        margin = sign * (np.add.reduceat(values * weights[columns], starts) + weights[-1])
        pull = -share * sign / (1 + np.exp(margin))
        slope = np.empty(size + 1)
        slope[:size] = np.bincount(columns, np.repeat(pull, lengths) * values, size)
        slope[:size] += TEXT_L2 * weights[:size]
        slope[size] = pull.sum()
        penalty = 0.5 * TEXT_L2 * float(weights[:size] @ weights[:size])
        return float(share @ np.logaddexp(0, -margin)) + penalty, slope

    return descend(loss, np.zeros(size + 1) if start is None else start, ITERATIONS)


def fit_dense(columns: Floats, labels: Mask, share: Floats, l2: float) -> Floats:
    """A weight for each column, and last the constant."""
    table = np.column_stack((columns, np.ones(len(columns))))
    nothing = np.zeros(len(table[0]))
    sign = labels * 2.0 - 1
    penalised = np.append(np.full(columns.shape[1], l2), 0.0)

    def loss(weights: Floats) -> tuple[float, Floats]:
        margin = sign * (table @ weights)
        pull = -share * sign / (1 + np.exp(np.clip(margin, -50, 50)))
        penalty = 0.5 * float(penalised @ (weights * weights))
        slope = table.T @ pull + penalised * weights
        return float(share @ np.logaddexp(0, -margin)) + penalty, slope

    return descend(loss, nothing, 80)


def descend(loss: Loss, at: Floats, iterations: int) -> Floats:
    """L-BFGS with a step that is halved until it helps."""
    value, slope = loss(at)
    moves: list[Floats] = []
    turns: list[Floats] = []
    for _ in range(iterations):
        way = _direction(slope, moves, turns)
        step = 1.0
        while True:
            there = at - step * way
            new_value, new_slope = loss(there)
            if new_value <= value - 1e-4 * step * float(slope @ way) or step < 1e-4:
                break
            step /= 2
        moves, turns = [*moves, there - at][-8:], [*turns, new_slope - slope][-8:]
        if abs(value - new_value) < 1e-5 * abs(value):
            return there
        at, value, slope = there, new_value, new_slope
    return at


def _direction(slope: Floats, moves: Sequence[Floats], turns: Sequence[Floats]) -> Floats:
    way = slope.copy()
    kept: list[float] = []
    for move, turn in zip(reversed(moves), reversed(turns), strict=True):
        kept.append(float(move @ way) / float(turn @ move))
        way -= kept[-1] * turn
    way *= (
        float(moves[-1] @ turns[-1]) / float(turns[-1] @ turns[-1])
        if moves
        else 10 / np.abs(slope).sum()
    )
    for move, turn, one in zip(moves, turns, reversed(kept), strict=True):
        way += move * (one - float(turn @ way) / float(turn @ move))
    return way
