"""BM25 over the words of a stored index and of what changed since: the same numbers as of all of
them in one process.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

from mentis.recall.lexical import terms

from .bm25 import MARGIN, Bm25, ordered
from .bm25_arrays import K1, B, close_scores
from .matrix import load_numpy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .stored_index import StoredIndex


class StoredWords:
    """Places are those of the file, and behind them those of what came later. A memory that
    changed is stale in the file.
    """

    def __init__(self, stored: StoredIndex) -> None:
        self._np: Any = load_numpy()
        self._stored = stored
        self._later = Bm25()
        self.alive: NDArray[np.bool_] = self._np.ones(len(stored), dtype=bool)
        self._stale = 0
        self._stale_length = 0
        self._slopes: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        """How many memories there are."""
        return len(self._stored) - self._stale + len(self._later)

    @property
    def later(self) -> Bm25:
        return self._later

    def put(self, name: str, text: str) -> None:
        self._slopes = None
        self.retire(name)
        self._later.put(name, text)

    def retire(self, name: str) -> None:
        """What the file says of it no longer holds."""
        place = self._stored.ids.place(name)
        if place is not None and self.alive[place]:
            self._slopes = None
            self.alive[place] = False
            self._stale += 1
            self._stale_length += int(self._stored.lengths[place])

    def name(self, place: int) -> str:
        inside = len(self._stored)
        return self._stored.ids[place] if place < inside else self._later.ids[place - inside]

    def rank(self, query: str, *, mask: NDArray[np.bool_], count: int) -> list[tuple[str, float]]:
        """As `Bm25.rank`; `mask` has one truth value for each place."""
        np, scores = self._np, self._scores(query)
        if scores is None:
            return []
        scores[~mask] = 0.0
        close = close_scores(np, scores, count=count, margin=MARGIN)
        named = [(score, self._first(places, count)) for score, places in close]
        return ordered(named, count)

    def _first(self, places: list[int], count: int) -> list[str]:
        """Names of those with one score, no more than may be wanted: hundreds often share it, and
        in the file they stand in the order of their names.
        """
        inside = bisect_left(places, len(self._stored))
        return [self.name(place) for place in (*places[: min(inside, count)], *places[inside:])]

    def _scores(self, query: str) -> NDArray[np.float64] | None:
        """Added up word by word, the most frequent first, as `Bm25` does."""
        np, every = self._np, len(self)
        said = {word: self._holders(word) for word in dict.fromkeys(terms(query))}
        times = Counter(word for word in terms(query) if len(said[word][0]))
        if not times:
            return None
        slopes = self._slopes_now()
        places, weights = list[Any](), list[Any]()
        for word in sorted(times, key=lambda word: (-len(said[word][0]), word)):
            where, often = said[word]
            rarity = math.log(1 + (every - len(where) + 0.5) / (len(where) + 0.5)) * times[word]
            places.append(where)
            weights.append(often * (K1 + 1) / (often + K1 * slopes[where]) * rarity)
        return np.bincount(np.concatenate(places), np.concatenate(weights), minlength=len(slopes))

    def _slopes_now(self) -> NDArray[np.float64]:
        """What the length of each counts for."""
        slopes = self._slopes
        if slopes is None:
            stored, later = self._stored, self._later
            total = stored.total_length - self._stale_length + later.total_length
            lengths = self._np.concatenate([stored.lengths, later.lengths()])
            slopes = self._slopes = 1 - B + B * lengths / (total / len(self))
        return slopes

    def _holders(self, word: str) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        np, inside = self._np, len(self._stored)
        places, times = self._stored.holders(word)
        if self._stale:
            held = self.alive[places]
            places, times = places[held], times[held]
        later = self._later.holders(word)
        if not later:
            return places.astype(np.intp), times.astype(np.float64)
        added = [inside + self._later.known_place(name) for name in later]
        return (
            np.concatenate([places.astype(np.intp), np.array(added, dtype=np.intp)]),
            np.concatenate([times.astype(np.float64), np.array([*later.values()], float)]),
        )


def names_in(names: Sequence[str], allowed: Container[str]) -> Any:  # noqa: ANN401 - an array
    """One truth value for each name."""
    inside = (name in allowed for name in names)
    return load_numpy().fromiter(inside, dtype=bool, count=len(names))
