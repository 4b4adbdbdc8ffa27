"""The adding up of BM25 with numpy: who says a word, and how often, as arrays that are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from .matrix import least_of_best, load_numpy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

K1, B = 1.2, 0.75


class Arrays:
    """Made anew, word by word, of what changed."""

    def __init__(
        self,
        places: Mapping[str, int],
        lengths: Mapping[str, int],
        holders: Mapping[str, Mapping[str, int]],
    ) -> None:
        self._np: Any = load_numpy()
        self._places = places
        self._lengths = lengths
        self._holders = holders
        self._told: dict[str, tuple[NDArray[np.intp], NDArray[np.float64]]] = {}
        self._weights: dict[str, tuple[NDArray[np.intp], NDArray[np.float64]]] = {}
        self._length: NDArray[np.float64] = self._np.empty(0)
        self._stale: set[str] = set(lengths)

    def mark_stale(self, name: str, words: Iterable[str]) -> None:
        self._stale.add(name)
        self._weights.clear()  # they hang on the mean length
        for word in words:
            self._told.pop(word, None)

    def best(
        self,
        weighed: Sequence[tuple[str, float]],
        *,
        mean: float,
        mask: NDArray[np.bool_] | None,
        count: int,
        margin: float,
    ) -> Iterator[tuple[float, list[int]]]:
        """Each score of those that are among the best, and of some below, and who has it."""
        scores = self._scores(weighed, mean)
        if mask is not None:
            scores[~mask] = 0.0
        return close_scores(self._np, scores, count=count, margin=margin)

    def _scores(self, weighed: Sequence[tuple[str, float]], mean: float) -> NDArray[np.float64]:
        """Added up word by word, as they come."""
        np = self._np
        self._refresh()
        said = [(*self._weighed(word, mean), rarity) for word, rarity in weighed]
        places = np.concatenate([where for where, _, _ in said])
        weights = np.concatenate([weights * rarity for _, weights, rarity in said])
        return np.bincount(places, weights, minlength=len(self._places))

    def _weighed(self, word: str, mean: float) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        known = self._weights.get(word)
        if known is None:
            places, times = self._of(word)
            slope = 1 - B + B * self._length[places] / mean
            known = self._weights[word] = (places, times * (K1 + 1) / (times + K1 * slope))
        return known

    def _of(self, word: str) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Each place once, so that adding at places is adding."""
        known = self._told.get(word)
        if known is None:
            np, holders = self._np, self._holders[word]
            where = (self._places[name] for name in holders)
            places = np.fromiter(where, dtype=np.intp, count=len(holders))
            times = np.fromiter(holders.values(), dtype=np.float64, count=len(holders))
            known = self._told[word] = (places, times)
        return known

    def _refresh(self) -> None:
        if not self._stale:
            return
        if len(self._length) < len(self._places):
            room = self._np.zeros(len(self._places) * 3 // 2)
            room[: len(self._length)] = self._length
            self._length = room
        for name in self._stale:
            self._length[self._places[name]] = self._lengths.get(name, 0)
        self._stale.clear()


def close_scores(
    np: Any,  # noqa: ANN401 - the package, which is loaded late
    scores: NDArray[np.float64],
    *,
    count: int,
    margin: float,
) -> Iterator[tuple[float, list[int]]]:
    """Each score above 0 of those that are among the best, and of some below, and who has it: their
    places in order.
    """
    cut = least_of_best(scores, count) - margin
    places = (scores >= cut if cut > 0 else scores > 0).nonzero()[0]
    found = scores[places]
    order = found.argsort(kind="stable")
    places, found = places[order], found[order]
    starts = [0, *(np.diff(found).nonzero()[0] + 1).tolist(), len(found)]
    for start, end in pairwise(starts):
        if start < end:
            yield float(found[start]), places[start:end].tolist()
