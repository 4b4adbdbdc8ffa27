"""A search that looks only into the cells nearest to the query, and at everything newer.

What it finds is ranked as exact search ranks it: only what lies in none of those cells is missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .cells_plan import CellPlan, cells_in_order
from .matrix import Matrix, Run, load_numpy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_GROWTH = 1.1


def planned_size(count: int, exact_up_to: int) -> int:
    """How many of `count` vectors, the oldest ones, are sorted into cells; 0 where all are looked
    at. Whoever has the same vectors comes to the same number, whenever they came in.
    """
    size = max(exact_up_to, 1)
    if count <= size:
        return 0
    while (larger := int(size * _GROWTH) + 1) <= count:
        size = larger
    return size


class Cells:
    """`matrix` has its rows cell after cell, and behind them those that came later."""

    def __init__(self, matrix: Matrix, plan: CellPlan) -> None:
        self.matrix = matrix
        self.plan = plan
        self._ends: NDArray[np.intp] = load_numpy().append(plan.starts[1:], plan.size)

    def rank(
        self, query: Sequence[float], *, among: NDArray[np.bool_] | None, count: int
    ) -> tuple[list[tuple[str, float]], int]:
        """The nearest it finds, best first, and how many vectors it looked at."""
        within = self._runs(query, among, count)
        looked = sum(end - start for start, end in within)
        return self.matrix.rank(query, among=among, count=count, within=within), looked

    def _runs(
        self, query: Sequence[float], among: NDArray[np.bool_] | None, count: int
    ) -> list[Run]:
        """Cells until enough rows are in them that may be found."""
        np, plan = load_numpy(), self.plan
        order = cells_in_order(self.matrix.unit(query), plan.centres)
        sizes = self._ends - plan.starts
        if among is not None:
            sizes = np.add.reduceat(among[: plan.size], plan.starts, dtype=np.intp)
        total = np.cumsum(sizes[order])
        enough = max(plan.budget, count)
        chosen = order[: int(np.searchsorted(total, enough)) + 1]
        if among is not None:
            chosen = chosen[sizes[chosen] > 0]
        chosen = np.sort(chosen)
        runs = zip(plan.starts[chosen].tolist(), self._ends[chosen].tolist(), strict=True)
        return [*runs, (plan.size, len(self.matrix))]
