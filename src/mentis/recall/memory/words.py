"""A text as the words it is searched by, in any language, without a stemmer."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_WORD = re.compile(r"[^\W_]+")
# Scripts that put no space between words: there, two neighbouring characters count as one.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]+"
)


def words(text: str) -> list[str]:
    """Case, width and accents do not count: `Größe`, `GRÖSSE` and `grosse` are one word."""
    found: list[str] = []
    for word in _WORD.findall(_folded(text)):
        found.extend(_pieces(word))
    return found


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return "".join(sign for sign in apart if not unicodedata.combining(sign))


def _pieces(word: str) -> Iterator[str]:
    if word.isascii() or not _UNSPACED.search(word):
        yield word
        return
    place = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > place:
            yield word[place : run.start()]
        yield from _pairs(run[0])
        place = run.end()
    if place < len(word):
        yield word[place:]


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for number in range(len(run) - 1):
        yield run[number : number + 2]
