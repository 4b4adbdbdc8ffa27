"""Finds memories by the words they share with a query (BM25). Pure, and the same every time."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import normalize

from mentis.values.cognition import Memory
from mentis.values.value import Value

_WORD = re.compile(r"\w+")
_SATURATION, _LENGTH = 1.2, 0.75  # the usual constants of BM25
# Kinds that could give orders: an import may have brought them, nothing here tells them.
_INSTRUCTING = frozenset({"system", "meta", "override"})


@dataclass(frozen=True, slots=True)
class Found(Value):
    memory: Memory
    score: float


def search(memories: Sequence[Memory], query: str, limit: int) -> tuple[Found, ...]:
    """The best `limit` of those that share a word with the query, of equals by their ids."""
    told = [memory for memory in memories if memory.kind not in _INSTRUCTING]
    counts = [Counter(_words(" ".join((memory.text, *memory.tags)))) for memory in told]
    weights = _weights(set(_words(query)), counts)
    usual = sum(count.total() for count in counts) / max(len(counts), 1)
    found = [
        Found(memory, score)
        for memory, count in zip(told, counts, strict=True)
        if (score := _score(count, weights, usual))
    ]
    return tuple(sorted(found, key=lambda each: (-each.score, each.memory.id))[:limit])


def _words(text: str) -> list[str]:
    return _WORD.findall(normalize("NFKC", text).casefold())


def _weights(words: set[str], counts: Sequence[Counter[str]]) -> dict[str, float]:
    """A word that few memories have says more about those."""
    having = {word: sum(word in count for count in counts) for word in sorted(words)}
    every = len(counts)
    return {
        word: math.log(1 + (every - number + 0.5) / (number + 0.5))
        for word, number in having.items()
        if number
    }


def _score(count: Counter[str], weights: dict[str, float], usual: float) -> float:
    if not count:
        return 0.0
    length = 1 - _LENGTH + _LENGTH * count.total() / usual
    parts = (
        weight * count[word] * (_SATURATION + 1) / (count[word] + _SATURATION * length)
        for word, weight in weights.items()
    )
    return round(sum(parts), 4)
