"""How much new answers share with a recorded one, for servers that tell no probabilities."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_WORD = re.compile(r"\w+")


def words_of(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.casefold()))


def overlap(answer: str, recorded: str) -> float:
    """From 0 to 1: the harmonic mean of how many of their words each has of the other."""
    one, other = words_of(answer), words_of(recorded)
    shared = (one & other).total()
    return 2 * shared / (one.total() + other.total()) if shared else 0.0


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def spread(values: Sequence[float]) -> float:
    """How far apart the two are that are farthest apart."""
    return max(values) - min(values)
