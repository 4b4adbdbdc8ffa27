"""Features of the linear model: words, parts of words and ideas, as numbered buckets.

The trainer and the screener share this file, so a score means the same in both. A text becomes a
row of tokens; each token brings features; a window is a run of tokens.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

from mentis.values.value import Value

BITS = 19
BUCKETS = 1 << BITS
_MASK = BUCKETS - 1
_TOKEN = re.compile(r"[^\W_]+|[:!?\"<>\[\]{}#*=|]")
_LONGEST_WORD = 24
_REACH = 6  # ideas further apart than this many tokens do not belong together


@dataclass(frozen=True, slots=True)
class Token(Value):
    word: str
    start: int
    end: int


def fold(text: str) -> str:
    """Small letters without accents: é and e, ß and ss are the same."""
    small = text.casefold()
    if small.isascii():
        return small
    return "".join(c for c in unicodedata.normalize("NFKD", small) if not unicodedata.combining(c))


def tokens_of(text: str) -> list[Token]:
    return [Token(fold(one[0]), one.start(), one.end()) for one in _TOKEN.finditer(text)]


@lru_cache(maxsize=20_000)
def _word_buckets(word: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The buckets of a word's parts, and of itself."""
    if word.isdigit():
        word = "0"
    body = f"^{word[:_LONGEST_WORD]}$"
    size = len(body)
    parts = tuple(
        crc32(body[i : i + n].encode()) & _MASK for n in (3, 4, 5) for i in range(size - n + 1)
    )
    return parts, (crc32(b"w" + word.encode()) & _MASK,)


def part_buckets(word: str) -> tuple[int, ...]:
    return _word_buckets(word)[0]


def rule_buckets(number: int, category: str) -> tuple[int, int]:
    return crc32(f"r{number}".encode()) & _MASK, crc32(f"R{category}".encode()) & _MASK


def word_buckets(words: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """For each word: itself, and it with the one and the two before it."""
    before = two = ""
    for word in words:
        both = f"{before} {word}"
        yield (
            *_word_buckets(word)[1],
            crc32(both.encode()) & _MASK,
            crc32(f"{two} {both}".encode()) & _MASK,
        )
        two, before = before, word


class Lexicon:
    """The words for an idea. A star in the data stands for any ending."""

    def __init__(self, lines: str) -> None:
        self._whole: dict[str, tuple[str, ...]] = {}
        self._stems: dict[str, tuple[str, ...]] = {}
        for line in lines.splitlines():
            if line and not line.startswith("#"):
                self._take(*line.split())
        self._known: dict[str, tuple[str, ...]] = {}

    def _take(self, idea: str, *words: str) -> None:
        for word in words:
            table = self._stems if word.endswith("*") else self._whole
            stem = word.rstrip("*")
            table[stem] = tuple(dict.fromkeys((*table.get(stem, ()), idea)))

    def ideas(self, word: str) -> tuple[str, ...]:
        found = self._known.get(word)
        if found is None:
            if len(self._known) > 20_000:
                self._known.clear()
            found = self._known[word] = self._looked_up(word)
        return found

    def _looked_up(self, word: str) -> tuple[str, ...]:
        found = dict.fromkeys(self._whole.get(word, ()))
        for size in range(2, len(word) + 1):
            found.update(dict.fromkeys(self._stems.get(word[:size], ())))
        return tuple(found)


def idea_buckets(ideas: Sequence[tuple[str, ...]]) -> Iterator[tuple[int, ...]]:
    """For each token: its ideas, each with the ideas shortly before it."""
    recent: list[tuple[int, str]] = []
    for place, here in enumerate(ideas):
        if not here:
            yield ()
            continue
        near = [(where, idea) for where, idea in recent if place - where <= _REACH]
        yield tuple(_idea_features(here, near))
        recent = [*near[-7:], *((place, idea) for idea in here)]


def _idea_features(here: tuple[str, ...], near: Sequence[tuple[int, str]]) -> Iterator[int]:
    for idea in here:
        yield crc32(f"k{idea}".encode()) & _MASK
        names = list(dict.fromkeys(other for _, other in near if other != idea))
        for number, other in enumerate(names):
            yield crc32(f"k{other}>{idea}".encode()) & _MASK
            for third in names[number + 1 : number + 4]:
                yield crc32(f"k{other}>{third}>{idea}".encode()) & _MASK
