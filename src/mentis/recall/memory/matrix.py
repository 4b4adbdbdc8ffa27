"""Exact search by vectors: one product with a matrix, then the best, told apart to the last bit.

The product is made in float32. Which of two near ones comes first must not hang on how this
machine adds up, so everything close to the cut is reckoned again in float64 and rounded; what is
equal then stands in the order of its ids. numpy is loaded by the first matrix.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from operator import neg
from typing import TYPE_CHECKING, Any, TypeAlias

from mentis.errors import BadInput, EngineMissing
from mentis.values.memories import Vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

Run: TypeAlias = tuple[int, int]  # the first row, and the one behind the last
# More than float32 can be off over a few thousand dimensions of a unit vector.
_MARGIN = 1e-4
_CHUNK = 4096
_HEAP = 16
_DECIMALS = 6


class Matrix:
    """Vectors of one embedder, each scaled to length 1, in any order."""

    def __init__(self, vectors: Sequence[Vector] = ()) -> None:
        self._np = load_numpy()
        self.ids: list[str] = []
        self.replaced = 0  # how many vectors were put in the place of another
        self._places: dict[str, int] = {}
        self._room: Floats = self._np.empty((0, 0), dtype=self._np.float32)
        self._rows: Floats = self._room
        self.put(vectors)

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, memory_id: str) -> bool:
        return memory_id in self._places

    @property
    def rows(self) -> Floats:
        """The vectors, one a row, in the order of `ids`."""
        return self._rows

    @property
    def dimension(self) -> int:
        return int(self._rows.shape[1])

    def put(self, vectors: Sequence[Vector]) -> None:
        """Add them, or put them in the place of those with the same id."""
        for start in range(0, len(vectors), _CHUNK):
            self._put(vectors[start : start + _CHUNK])

    def _put(self, vectors: Sequence[Vector]) -> None:
        fresh = self._scaled(self._read(vectors))
        self.replaced += sum(vector.memory in self._places for vector in vectors)
        for vector in vectors:
            if vector.memory not in self._places:
                self._places[vector.memory] = len(self.ids)
                self.ids.append(vector.memory)
        self._grow(len(self.ids), fresh.shape[1])
        self._rows[[self._places[vector.memory] for vector in vectors]] = fresh

    def _grow(self, count: int, dimension: int) -> None:
        """By an eighth again, so that one more memory does not copy all of them."""
        if count > len(self._room):
            room = self._np.empty((count + count // 8 + 64, dimension), dtype=self._np.float32)
            if len(self._rows):
                room[: len(self._rows)] = self._rows
            self._room = room
        self._rows = self._room[:count]

    def reorder(self, order: NDArray[np.intp]) -> Matrix:
        """A new one of the rows at these places, in this order."""
        made = Matrix()
        made.ids = [self.ids[place] for place in order.tolist()]
        made._places = {name: place for place, name in enumerate(made.ids)}
        made._room = made._rows = self._rows.take(order, axis=0)
        return made

    def follow(self, other: Matrix, start: int) -> None:
        """Add the rows of another one from a place on; none of them may be here already."""
        count, fresh = len(self.ids), other.rows[start : len(other)]
        for name in other.ids[start:]:
            self._places[name] = len(self.ids)
            self.ids.append(name)
        self._grow(len(self.ids), other.dimension)
        self._rows[count:] = fresh

    def rank(
        self,
        query: Sequence[float],
        *,
        among: NDArray[np.bool_] | None,
        count: int,
        within: Sequence[Run] | None = None,
    ) -> list[tuple[str, float]]:
        """The nearest by cosine, best first. `among` has one truth value for each of `ids`.

        With `within` only these runs of rows are looked at.
        """
        wanted = self.unit(query)
        if not self.ids or count < 1:
            return []
        places = self._near(wanted, among, count, within)
        names = map(self.ids.__getitem__, places.tolist())
        found = sorted(zip(map(neg, self._exact(places, wanted)), names, strict=True))
        return [(name, -score) for score, name in found[:count]]

    def _near(
        self,
        wanted: Floats,
        among: NDArray[np.bool_] | None,
        count: int,
        within: Sequence[Run] | None,
    ) -> NDArray[np.intp]:
        np = self._np
        if within is None:
            rough = self._rows @ wanted
        else:
            rough = np.concatenate([self._rows[start:end] @ wanted for start, end in within])
            among = among if among is None else np.concatenate([among[a:b] for a, b in within])
        if among is not None:
            rough[~among] = -np.inf
        close = self._close_to_cut(rough, count)
        return close if within is None else self._placed(close, within)

    def _placed(self, close: NDArray[np.intp], within: Sequence[Run]) -> NDArray[np.intp]:
        """From places among the runs to places among all rows."""
        np = self._np
        starts = np.array([start for start, _ in within])
        before = np.cumsum([0, *(end - start for start, end in within)])[:-1]
        run = np.searchsorted(before, close, side="right") - 1
        return close - before[run] + starts[run]

    def place(self, name: str) -> int | None:
        return self._places.get(name)

    def mask(self, allowed: set[str]) -> NDArray[np.bool_]:
        inside = (name in allowed for name in self.ids)
        return self._np.fromiter(inside, dtype=bool, count=len(self.ids))

    def _close_to_cut(self, rough: Floats, count: int) -> NDArray[np.intp]:
        """All of the best `count`, and a few more."""
        cut = least_of_best(rough, count) - _MARGIN
        close = rough > cut if cut == -math.inf else rough >= cut
        return close.nonzero()[0]

    def cosines(self, query: Sequence[float], names: Sequence[str]) -> dict[str, float]:
        """Of those that have a row here."""
        placed = [(name, place) for name in names if (place := self.place(name)) is not None]
        if not placed:
            return {}
        places = self._np.array([place for _, place in placed], dtype=self._np.intp)
        scores = self._exact(places, self.unit(query))
        return {name: score for (name, _), score in zip(placed, scores, strict=True)}

    def _exact(self, places: NDArray[np.intp], wanted: Floats) -> list[float]:
        np, scores = self._np, list[float]()
        precise = wanted.astype(np.float64)
        for start in range(0, len(places), _CHUNK):
            rows = self._rows.take(places[start : start + _CHUNK], axis=0).astype(np.float64)
            scores += (rows @ precise).round(_DECIMALS).tolist()
        return scores

    def _read(self, vectors: Sequence[Vector]) -> Floats:
        size = len(vectors[0].data) if not self.ids else self.dimension * 4
        for vector in vectors:
            if len(vector.data) != size or not size or size % 4:
                raise BadInput(
                    f"the vector of memory `{vector.memory}` has {len(vector.data) / 4:g}"
                    f" dimensions, and {size / 4:g} are expected",
                    hint="vectors of two embedders never mix: run `mentis memory rebuild`",
                )
        joined = b"".join([vector.data for vector in vectors])
        return self._np.frombuffer(joined, dtype="<f4").reshape(len(vectors), -1)

    def unit(self, query: Sequence[float]) -> Floats:
        np = self._np
        wanted = np.array(query, dtype=np.float64)
        if self.ids and wanted.shape != (self.dimension,):
            raise BadInput(
                f"the query has {wanted.size} dimensions, the memories {self.dimension}",
                hint="vectors of two embedders never mix: run `mentis memory rebuild`",
            )
        length = math.sqrt((wanted * wanted).sum())
        if not math.isfinite(length):
            raise _no_number()
        return (wanted / (length or 1.0)).astype(np.float32)

    def _scaled(self, rows: Floats) -> Floats:
        """Length 1; a vector of zeros stays one and is near to nothing."""
        np = self._np
        precise = rows.astype(np.float64)
        if not np.isfinite(precise).all():
            raise _no_number()
        lengths = np.sqrt((precise * precise).sum(axis=1, keepdims=True))
        lengths[lengths == 0] = 1.0
        return (precise / lengths).astype(np.float32)


def least_of_best(scores: Any, count: int) -> float:  # noqa: ANN401 - of any kind of float
    """No more than the score of place `count`; the best of each heap tell it quickly."""
    heaps = len(scores) // _HEAP
    in_heaps = scores[: heaps * _HEAP].reshape(_HEAP, heaps)
    best = in_heaps.max(axis=0) if heaps > count else scores.copy()
    if count >= len(best):
        return -math.inf
    best.partition(len(best) - count)
    return best[len(best) - count]


def _no_number() -> BadInput:
    return BadInput(
        "a vector holds something that is not a number",
        hint="the embedder is broken; use another one",
    )


def load_numpy() -> Any:  # noqa: ANN401 - an optional package
    if "numpy" not in sys.modules:
        # Read once, when numpy is loaded: threads that spin for products this small cost more than
        # they bring.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        import numpy as np
    except ImportError as error:
        raise EngineMissing(
            "searching by meaning needs the package numpy, which is not installed",
            hint="pip install 'mentis[recall]'; until then words are searched",
        ) from error
    return np
