"""How many vectors are sorted into cells of near ones, and how well that finds what is near.

Whatever decides is reckoned in whole numbers that float32 adds up without an error, in any order:
the same vectors, in the same order, make the same cells on every machine. Nothing is left to
chance, not even a seed. How many vectors a search must look at follows from a sample: of each one
the ten nearest are found exactly, and then where the cells have them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .matrix import load_numpy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .matrix import Floats

# A vector of length 1 becomes whole numbers of this size; their products stay below 2 ** 24.
_WHOLE = 2048
_CHUNK = 8192
_ROUNDS, _PER_CELL, _MOST_CELLS = 8, 32, 1024
_SAMPLE, _NEAREST = 128, 10
# The share of the ten nearest that a search must find, and that it may go on for.
ENOUGH, _WANTED = 0.95, 0.98
# The share of all vectors that a search looks at: at least, at most, and the step between.
_LEAST, _MOST, _STEP = 32, 4, 1.5


@dataclass(frozen=True, slots=True, eq=False)
class CellPlan:
    """`order` has the places of the rows, cell after cell; `starts` where each cell begins there.

    A search looks at cells until it has looked at `budget` rows; `recall` is what that finds.
    """

    centres: Floats
    order: NDArray[np.intp]
    starts: NDArray[np.intp]
    budget: int
    recall: float

    @property
    def size(self) -> int:
        return len(self.order)


class StoppedError(Exception):
    """Somebody asked to stop. It never leaves this room."""


def plan(rows: Floats, stop: Callable[[], bool] = bool) -> CellPlan | None:
    """None when it was stopped. It takes seconds for 100,000 rows, and calls `stop` meanwhile."""
    try:
        return _Planner(rows, stop).plan()
    except StoppedError:
        return None


def whole(rows: Floats) -> Floats:
    """Unit vectors as whole numbers."""
    return load_numpy().rint(rows * _WHOLE)


def cells_in_order(query: Floats, centres: Floats) -> NDArray[np.intp]:
    """The cells, those nearest to a unit vector first; equally near ones in their order."""
    return load_numpy().argsort(-(centres @ whole(query)), kind="stable")


class _Planner:
    def __init__(self, rows: Floats, stop: Callable[[], bool]) -> None:
        self._np: Any = load_numpy()
        self._rows = rows
        self._stop = stop

    def plan(self) -> CellPlan:
        np = self._np
        centres = self._learn()
        cells = self._assign(self._rows, centres)
        counts = np.bincount(cells, minlength=len(centres))
        order = np.argsort(cells, kind="stable")
        full = counts > 0
        starts = (np.cumsum(counts) - counts)[full]
        budget, recall = self._measure(centres, cells, counts)
        return CellPlan(centres[full], order, starts, budget, recall)

    def _learn(self) -> Floats:
        """The middles of the cells, by k-means on a part of the rows taken at even distances."""
        np, total = self._np, len(self._rows)
        count = min(_MOST_CELLS, max(1, math.isqrt(4 * total)), total)
        size = min(total, count * _PER_CELL)
        sample = whole(self._rows[np.arange(size) * total // size])
        centres = sample[np.arange(count) * size // count]
        for _ in range(_ROUNDS):
            cells = self._assign(sample, centres, scaled=True)
            centres = self._middles(sample, cells, centres)
        return centres

    def _middles(self, sample: Floats, cells: NDArray[np.intp], before: Floats) -> Floats:
        """A cell that nothing is near to stays where it was."""
        np = self._np
        counts = np.bincount(cells, minlength=len(before))
        full = counts > 0
        starts = (np.cumsum(counts) - counts)[full]
        sums = np.add.reduceat(sample[np.argsort(cells, kind="stable")], starts, dtype=np.float64)
        # Whole numbers again, so that their squares add up without an error too.
        means = np.rint(sums / counts[full][:, None] * 16)
        lengths = np.sqrt((means * means).sum(axis=1, keepdims=True))
        lengths[lengths == 0] = 1.0
        made = before.copy()
        made[full] = np.rint(means / lengths * _WHOLE)
        return made

    def _assign(self, rows: Floats, centres: Floats, *, scaled: bool = False) -> NDArray[np.intp]:
        """For each row the nearest cell; of equally near ones the first."""
        np = self._np
        found = np.empty(len(rows), dtype=np.intp)
        for start, chunk in self._chunks(rows):
            near = (chunk if scaled else whole(chunk)) @ centres.T
            found[start : start + len(chunk)] = near.argmax(axis=1)
        return found

    def _measure(
        self, centres: Floats, cells: NDArray[np.intp], counts: NDArray[np.intp]
    ) -> tuple[int, float]:
        """The smallest budget that finds what is wanted, and what it finds; else the largest."""
        np, total = self._np, len(self._rows)
        if total < 2:
            return total, 1.0
        size = min(_SAMPLE, total)
        chosen = np.arange(size) * total // size
        asked = whole(self._rows[chosen])
        near = self._nearest(asked, chosen)
        order = np.argsort(-(asked @ centres.T), axis=1, kind="stable")
        before = np.cumsum(counts[order], axis=1) - counts[order]
        rows_before = np.empty_like(before)
        np.put_along_axis(rows_before, order, before, axis=1)
        needed = np.take_along_axis(rows_before, cells[near], axis=1)
        most, budget = max(1, total // _MOST), max(1, total // _LEAST)
        while budget < most and (needed < budget).mean() < _WANTED:
            budget = math.ceil(budget * _STEP)
        budget = min(budget, most)
        return budget, round(float((needed < budget).mean()), 4)

    def _nearest(self, asked: Floats, chosen: NDArray[np.intp]) -> NDArray[np.intp]:
        """The places of those nearest to each one asked for, without itself."""
        np, total = self._np, len(self._rows)
        wanted = min(_NEAREST, total - 1)
        # Score and place in one number: no two are equal, so there is no tie to break.
        best = np.empty((len(asked), 0), dtype=np.int64)
        for start, chunk in self._chunks(self._rows):
            scores = (asked @ whole(chunk).T).astype(np.int64)
            places = np.arange(start, start + len(chunk))
            keys = (scores << 32) + (total - places)
            keys[places[None, :] == chosen[:, None]] = np.iinfo(np.int64).min
            both = np.concatenate([best, keys], axis=1)
            best = np.partition(both, both.shape[1] - wanted, axis=1)[:, -wanted:]
        return total - (best & 0xFFFFFFFF)

    def _chunks(self, rows: Floats) -> Iterator[tuple[int, Floats]]:
        for start in range(0, len(rows), _CHUNK):
            if self._stop():
                raise StoppedError
            yield start, rows[start : start + _CHUNK]
