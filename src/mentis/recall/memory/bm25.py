"""BM25 over memories: one formula, so that every store finds the same.

It needs no numpy. Where numpy is loaded anyway, it adds up faster: the same numbers, in the same
order.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from heapq import nlargest
from typing import TYPE_CHECKING, TypeAlias

from mentis.recall.lexical import terms

from .bm25_arrays import K1, Arrays, B

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MARGIN = 1e-8  # more than rounding can move a score
_Weights: TypeAlias = dict[str, float]


class Bm25:
    """Texts by id; they can be put in and taken out one by one.

    `ids` has the place of each that ever was in it.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self._places: dict[str, int] = {}
        self._counts: dict[str, Counter[str]] = {}
        self._lengths: dict[str, int] = {}
        self._holders: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._total = 0
        self._weights: dict[str, _Weights] = {}
        self._arrays: Arrays | None = None

    def __len__(self) -> int:
        return len(self._counts)

    def use_numpy(self) -> None:
        """EngineMissing where it is not installed."""
        if self._arrays is None:
            self._arrays = Arrays(self._places, self._lengths, self._holders)

    @property
    def total_length(self) -> int:
        """Words in all of them."""
        return self._total

    def place(self, name: str) -> int | None:
        return self._places.get(name)

    def known_place(self, name: str) -> int:
        return self._places[name]

    def holders(self, word: str) -> Mapping[str, int]:
        """Who says a word, and how often."""
        return self._holders.get(word, {})

    def lengths(self) -> list[int]:
        """Words of each of `ids`."""
        return [self._lengths.get(name, 0) for name in self.ids]

    def put(self, name: str, text: str) -> None:
        self.take_out(name)
        if name not in self._places:
            self._places[name] = len(self.ids)
            self.ids.append(name)
        counts = Counter(terms(text))
        self._counts[name] = counts
        self._lengths[name] = counts.total()
        self._total += counts.total()
        for word, count in counts.items():
            self._holders[word][name] = count
        self._changed(name, counts)

    def take_out(self, name: str) -> None:
        counts = self._counts.pop(name, None)
        if counts is None:
            return
        for word in counts:
            del self._holders[word][name]
            if not self._holders[word]:
                del self._holders[word]
        self._total -= self._lengths.pop(name, 0)
        self._changed(name, counts)

    def rank(
        self,
        query: str,
        *,
        among: Container[str] | None,
        count: int,
        mask: NDArray[np.bool_] | None = None,
    ) -> list[tuple[str, float]]:
        """The best, best first; equal ones in the order of their ids. None means among all.

        `mask` says the same as `among`, with one truth value for each of `ids`.
        """
        weighed = self._words_of(query)
        if self._arrays is not None and weighed and (among is None) == (mask is None):
            mean = self._total / len(self._counts)
            found = self._arrays.best(weighed, mean=mean, mask=mask, count=count, margin=MARGIN)
            close = [(score, [*map(self.ids.__getitem__, places)]) for score, places in found]
        else:
            close = self._close(weighed, among, count)
        return ordered(close, count)

    def _words_of(self, query: str) -> list[tuple[str, float]]:
        """Each word that somebody has, the most frequent first, and how much it counts."""
        times = Counter(word for word in terms(query) if word in self._holders)
        order = sorted(times, key=lambda word: (-len(self._holders[word]), word))
        return [(word, self._rarity(word) * times[word]) for word in order]

    def _close(
        self, weighed: Sequence[tuple[str, float]], among: Container[str] | None, count: int
    ) -> Iterable[tuple[float, list[str]]]:
        scores: _Weights = {}
        for word, rarity in weighed:
            for name, weight in self._weighed(word).items():
                scores[name] = scores.get(name, 0.0) + weight * rarity
        if among is not None:
            scores = {name: score for name, score in scores.items() if name in among}
        cut = min(nlargest(count, scores.values()), default=0.0) - MARGIN
        close: defaultdict[float, list[str]] = defaultdict(list)
        for name, score in scores.items():
            if score >= cut:
                close[score].append(name)
        return close.items()

    def _weighed(self, word: str) -> _Weights:
        known = self._weights.get(word)
        if known is None:
            mean = self._total / len(self._counts)
            known = self._weights[word] = {
                name: times * (K1 + 1) / (times + K1 * (1 - B + B * self._lengths[name] / mean))
                for name, times in self._holders[word].items()
            }
        return known

    def _rarity(self, word: str) -> float:
        everything, with_it = len(self._counts), len(self._holders[word])
        return math.log(1 + (everything - with_it + 0.5) / (with_it + 0.5))

    def _changed(self, name: str, words: Counter[str]) -> None:
        self._weights.clear()
        if self._arrays is not None:
            self._arrays.mark_stale(name, words)


def ordered(close: Iterable[tuple[float, list[str]]], count: int) -> list[tuple[str, float]]:
    """Texts of one kind share their score, and often hundreds do: few scores are rounded, and names
    are compared only with names.
    """
    rounded: defaultdict[float, list[str]] = defaultdict(list)
    for score, names in close:
        rounded[round(score, 9)] += names
    best: list[tuple[str, float]] = []
    for score in sorted(rounded, reverse=True):
        best += [(name, score) for name in sorted(rounded[score])[: count - len(best)]]
        if len(best) == count:
            break
    return best
