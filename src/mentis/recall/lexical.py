"""Ranking by shared words (BM25): no model, no numpy, the same on every machine.

Words are folded (case, accents) and cut to their first letters, so that inflected forms meet in all
languages written with an alphabet; what is written without spaces is taken in pairs of characters.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from mentis.values.function_words import ALL_FUNCTION_WORDS, fold

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]+")
_STEM = 6
_LONGEST = 20_000  # characters of a query that are looked at
_WHOLE = 0.01  # for a word that is there to its last letter: enough to decide between equals
_SATURATION = 1.2
_LENGTH = 0.5


def terms(text: str) -> list[str]:
    """The words of a text as they are compared: folded, without those that say nothing, cut."""
    return [word[:_STEM] for word in content_words(text)]


def content_words(text: str) -> list[str]:
    """The folded words of a text, in order, without those that say nothing."""
    return [word for word in _words(text) if word not in ALL_FUNCTION_WORDS]


def _words(text: str) -> Iterable[str]:
    for word in _WORD.findall(fold(_CAMEL.sub(" ", text[:_LONGEST]))):
        if _UNSPACED.fullmatch(word) and len(word) > 2:
            yield from (word[start : start + 2] for start in range(len(word) - 1))
        else:
            yield word


class LexicalIndex:
    """Texts that can be ranked against a query. Building costs once, a query touches few."""

    def __init__(self, texts: Sequence[str]) -> None:
        said = [content_words(text) for text in texts]
        counted = [Counter(word[:_STEM] for word in words) for words in said]
        lengths = [sum(counts.values()) for counts in counted]
        self.size = len(texts)
        self._postings = _postings(counted, lengths)
        self._whole = _whole_words(said)

    def scores(self, query: str) -> Mapping[int, float]:
        """BM25 of every text that shares a word with the query, by its number.

        Between those that share the same beginnings, whole words decide.
        """
        found: dict[int, float] = {}
        words = dict.fromkeys(content_words(query))
        for term in dict.fromkeys(word[:_STEM] for word in words):
            for number, weight in self._postings.get(term, ()):
                found[number] = found.get(number, 0.0) + weight
        for word in words:
            for number in self._whole.get(word, ()):
                found[number] += _WHOLE
        return found


def _whole_words(said: Sequence[Sequence[str]]) -> dict[str, list[int]]:
    """Who says each word that is longer than what is compared of it."""
    found: dict[str, list[int]] = {}
    for number, words in enumerate(said):
        for word in dict.fromkeys(words):
            if len(word) > _STEM:
                found.setdefault(word, []).append(number)
    return found


def _postings(
    counted: Sequence[Mapping[str, int]], lengths: Sequence[int]
) -> dict[str, list[tuple[int, float]]]:
    total = len(counted)
    average = (sum(lengths) / total if total else 0.0) or 1.0
    frequency = Counter(term for counts in counted for term in counts)
    postings: dict[str, list[tuple[int, float]]] = {}
    for number, counts in enumerate(counted):
        norm = _SATURATION * (1 - _LENGTH + _LENGTH * lengths[number] / average)
        for term, count in counts.items():
            rarity = math.log1p((total - frequency[term] + 0.5) / (frequency[term] + 0.5))
            weight = rarity * count * (_SATURATION + 1) / (count + norm)
            postings.setdefault(term, []).append((number, weight))
    return postings
