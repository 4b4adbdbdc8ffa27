"""BM25 over memories: one implementation, so that every store finds the same."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Container
from heapq import nlargest, nsmallest
from typing import TypeAlias

from mentis.recall.lexical import terms

_K1, _B = 1.2, 0.75
_MARGIN = 1e-8  # more than rounding can move a score
_Weights: TypeAlias = dict[str, float]


class Bm25:
    """Texts by id; they can be put in and taken out one by one."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {}
        self._lengths: dict[str, int] = {}
        self._holders: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._total = 0
        self._weights: dict[str, _Weights] = {}

    def __len__(self) -> int:
        return len(self._counts)

    def put(self, name: str, text: str) -> None:
        self.take_out(name)
        counts = Counter(terms(text))
        self._counts[name] = counts
        self._lengths[name] = counts.total()
        self._total += counts.total()
        for word, count in counts.items():
            self._holders[word][name] = count
        self._weights.clear()

    def take_out(self, name: str) -> None:
        for word in self._counts.pop(name, ()):
            del self._holders[word][name]
            if not self._holders[word]:
                del self._holders[word]
        self._total -= self._lengths.pop(name, 0)
        self._weights.clear()

    def rank(
        self, query: str, *, among: Container[str] | None, count: int
    ) -> list[tuple[str, float]]:
        """The best, best first; equal ones in the order of their ids. None means among all."""
        scores = self._scores(query)
        if among is not None:
            scores = {name: score for name, score in scores.items() if name in among}
        cut = min(nlargest(count, scores.values()), default=0.0) - _MARGIN
        best = [(name, round(score, 9)) for name, score in scores.items() if score >= cut]
        return nsmallest(count, best, key=lambda one: (-one[1], one[0]))

    def _scores(self, query: str) -> _Weights:
        """The most frequent word is copied whole; only the rarer ones are gone through."""
        counts = Counter(terms(query))
        weighed = sorted(((self._weighed(word), word) for word in counts), key=_by_frequency)
        scores: _Weights = {}
        for weights, word in weighed:
            times = counts[word]
            if not scores and times == 1:
                scores = weights.copy()
                continue
            for name, weight in weights.items():
                scores[name] = scores.get(name, 0.0) + weight * times
        return scores

    def _weighed(self, word: str) -> _Weights:
        known = self._weights.get(word)
        if known is None:
            known = self._weights[word] = self._weigh(word)
        return known

    def _weigh(self, word: str) -> _Weights:
        holders = self._holders.get(word)
        if not holders:
            return {}
        everything, with_it = len(self._counts), len(holders)
        rarity = math.log(1 + (everything - with_it + 0.5) / (with_it + 0.5))
        mean = self._total / everything
        return {
            name: rarity * times * (_K1 + 1) / (times + _K1 * self._slope(name, mean))
            for name, times in holders.items()
        }

    def _slope(self, name: str, mean: float) -> float:
        return 1 - _B + _B * self._lengths[name] / mean


def _by_frequency(weighed: tuple[_Weights, str]) -> tuple[int, str]:
    return -len(weighed[0]), weighed[1]
