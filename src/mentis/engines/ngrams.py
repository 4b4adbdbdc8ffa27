"""Vectors from the letters of a text: related spellings come out close, in any language."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from zlib import crc32

from mentis.errors import UsageError
from mentis.values.function_words import ALL_FUNCTION_WORDS, fold

_WORD = re.compile(r"[^\W_]+")
_SIZES = (3, 4, 5)
_WHOLE_WORD = 2.0  # a word weighs as much as this many of its parts
_LONGEST = 8_000  # characters


def ngram_vector(text: str, dimension: int) -> list[float]:
    """Hashed pieces of the words, of length 1; all zeros for a text without a word."""
    values = [0.0] * dimension
    for piece, weight in _pieces(text).items():
        number = crc32(piece.encode())
        sign = 1 if number & 0x80000000 else -1
        values[number % dimension] += sign * math.sqrt(weight)
    length = math.hypot(*values)
    return [value / length for value in values] if length else values


def _pieces(text: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for word in _WORD.findall(fold(text[:_LONGEST])):
        if word in ALL_FUNCTION_WORDS:
            continue
        edged = f"^{word}$"
        found[edged] += _WHOLE_WORD  # pyright: ignore[reportArgumentType]  # a weight, not a count
        for size in _SIZES:
            found.update(edged[start : start + size] for start in range(len(edged) - size + 1))
    return found


class NgramEmbedder:
    """The light default: no weights, no numpy. It knows spellings, not meanings.

    `read` is applied to every text first (the gloss into English).
    """

    def __init__(self, dimension: int = 512, *, read: Callable[[str], str], name: str) -> None:
        if dimension < 1:
            raise UsageError(
                f"a vector of {dimension} dimensions cannot be made", hint="use 1 or more"
            )
        self._dimension = dimension
        self._read = read
        self._name = name

    @property
    def fingerprint(self) -> str:
        return f"{self._name}/{self._dimension}/l2"

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [ngram_vector(self._read(text), self._dimension) for text in texts]
