"""Texts into the word pieces of an uncased BERT vocabulary."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path

_PIECE = re.compile(r"\w+|[^\w\s]")
_UNSPACED = re.compile(r"([\u3400-\u9fff\uf900-\ufaff])")
_LONGEST_WORD = 100
_LONGEST_TEXT = 8_000  # characters; far more than the pieces that are kept can hold


def read_vocabulary(path: Path) -> dict[str, int]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return {piece: number for number, piece in enumerate(lines)}


class WordPiece:
    def __init__(self, vocabulary: Mapping[str, int], *, longest: int) -> None:
        self._vocabulary = vocabulary
        self._longest = longest
        self._unknown = vocabulary["[UNK]"]

    def pieces(self, text: str) -> list[int]:
        """The numbers of the pieces between the two marks; what is past `longest` is left out."""
        found: list[int] = []
        for word in _PIECE.findall(_cleaned(text[:_LONGEST_TEXT])):
            found.extend(self._word(word))
            if len(found) > self._longest - 2:
                break
        return [self._vocabulary["[CLS]"], *found[: self._longest - 2], self._vocabulary["[SEP]"]]

    def _word(self, word: str) -> list[int]:
        """The longest known beginning, then the longest known rest, and so on."""
        if len(word) > _LONGEST_WORD:
            return [self._unknown]
        found: list[int] = []
        start = 0
        while start < len(word):
            end = len(word)
            while end > start and _name(word, start, end) not in self._vocabulary:
                end -= 1
            if end == start:
                return [self._unknown]
            found.append(self._vocabulary[_name(word, start, end)])
            start = end
        return found


def _name(word: str, start: int, end: int) -> str:
    return f"##{word[start:end]}" if start else word[:end]


def _cleaned(text: str) -> str:
    """Lower case, no accents, every character of an unspaced script by itself."""
    spread = unicodedata.normalize("NFD", text.lower())
    plain = "".join(one for one in spread if unicodedata.category(one) not in ("Mn", "Cc", "Cf"))
    return _UNSPACED.sub(r" \1 ", plain.replace("_", " _ "))
