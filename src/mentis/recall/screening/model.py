"""The trained weights, and what they say of a text: its worst window and the whole."""

from __future__ import annotations

import sys
import zlib
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate
from typing import cast

from mentis.errors import StoreDamaged
from mentis.values.value import Value

from .features import BITS, BUCKETS, part_buckets, rule_buckets
from .reading import IDEA_SCALE, PART_SCALE, RULE_SCALE, TextReading, root, variety

_MOST_WORDS = 20_000


@dataclass(frozen=True, slots=True)
class TextScore(Value):
    """`start` and `end` are the tokens of the worst window, `tokens` is how many there are."""

    window: float
    whole: float
    tokens: int
    start: int
    end: int


class LinearModel:
    """One linear model. Sums for words are kept: texts repeat them."""

    def __init__(self, packed: bytes, told: Mapping[str, object]) -> None:
        raw = _unpacked(packed)
        if sha256(raw).hexdigest() != told["sha256"]:
            raise StoreDamaged(
                "the weights of the screening model are not those it was released with",
                hint="install Mentis anew",
            )
        self.numbers = array("h", raw)
        if sys.byteorder == "big":
            self.numbers.byteswap()
        self.scale = cast("float", told["scale"])
        self.bias = cast("float", told["bias"])
        self._words: dict[str, tuple[int, int]] = {}

    def scores(self, one: TextReading, runs: Sequence[tuple[int, int]]) -> list[float]:
        """For each run of tokens, first and past the last."""
        numbers = self.numbers
        pairs = [self._parts(token.word) for token in one.tokens]
        parts = [0, *accumulate(total for total, _ in pairs)]
        counts = [0, *accumulate(count for _, count in pairs)]
        words = [0, *accumulate(sum([numbers[at] for at in here]) for here in one.words)]
        ideas = [0, *accumulate(sum([numbers[at] for at in here]) for here in one.ideas)]
        return [
            self.bias
            + self.scale
            * (
                PART_SCALE * (parts[end] - parts[start]) / root(counts[end] - counts[start])
                + PART_SCALE * (words[end] - words[start]) / root(3 * (end - start))
                + IDEA_SCALE * (ideas[end] - ideas[start]) / root(end - start)
                + RULE_SCALE * self._rules(one, start, end)
            )
            for start, end in runs
        ]

    def _parts(self, word: str) -> tuple[int, int]:
        known = self._words.get(word)
        if known is None:
            if len(self._words) >= _MOST_WORDS:
                self._words.clear()
            buckets = part_buckets(word)
            known = self._words[word] = sum([self.numbers[at] for at in buckets]), len(buckets)
        return known

    def _rules(self, one: TextReading, start: int, end: int) -> int:
        inside = {
            bucket
            for hit in one.hits
            if start <= hit.start and hit.end <= end
            for bucket in rule_buckets(hit.rule.number, hit.rule.category)
        }
        return sum(self.numbers[bucket] for bucket in inside)


def score(windows: LinearModel, whole: LinearModel, one: TextReading) -> TextScore | None:
    """None for a text without a word."""
    if not one.tokens:
        return None
    scores = windows.scores(one, one.windows)
    best = max(range(len(scores)), key=lambda number: (scores[number], -number))
    all_of_it = whole.scores(one, [(0, len(one.tokens))])[0]
    all_of_it = whole.bias + variety(one) * (all_of_it - whole.bias)
    return TextScore(scores[best], all_of_it, len(one.tokens), *one.windows[best])


def score_passages(
    windows: LinearModel, whole: LinearModel, one: TextReading, runs: Sequence[tuple[int, int]]
) -> list[TextScore]:
    """Each run as if it were a text of its own."""
    scores = list(zip(windows.scores(one, one.windows), one.windows, strict=True))
    found: list[TextScore] = []
    for (start, end), all_of_it in zip(runs, whole.scores(one, runs), strict=True):
        inside = [(worst, run) for worst, run in scores if start <= run[0] and run[1] <= end]
        worst, run = max(inside, key=lambda pair: (pair[0], -pair[1][0]))
        found.append(TextScore(worst, all_of_it, end - start, *run))
    return found


def _unpacked(packed: bytes) -> bytes:
    reader = zlib.decompressobj()
    try:
        raw = reader.decompress(packed, 2 * BUCKETS)
    except zlib.error as error:
        raise StoreDamaged(
            f"the weights of the screening model cannot be read: {error}",
            hint="install Mentis anew",
        ) from error
    if len(raw) != 2 * BUCKETS or BUCKETS.bit_length() - 1 != BITS:
        raise StoreDamaged("the weights of the screening model are cut", hint="install Mentis anew")
    return raw
