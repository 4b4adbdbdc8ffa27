"""Which of the six languages a text is in, by its small words; and whether its script is ours.

The packages that identify languages load a second's worth of tables; six languages with one
threshold each need no more than this, and it is the same on every machine.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

OTHER = "other"
_ENOUGH_LETTERS = 6
_FOREIGN_SHARE = 0.3


class Languages:
    def __init__(self, lines: str) -> None:
        told = [line.split() for line in lines.splitlines() if line and not line.startswith("#")]
        self.names = tuple(words[0] for words in told)
        self._of: dict[str, tuple[str, ...]] = {}
        for name, *words in told:
            for word in words:
                self._of[word] = (*self._of.get(word, ()), name)

    def guess(self, words: Iterable[str]) -> str:
        """The language with the most small words; a word of several counts for each in part."""
        votes = dict.fromkeys(self.names, 0.0)
        for word in words:
            known = self._of.get(word, ())
            for name in known:
                votes[name] += 1 / len(known)
        best = max(self.names, key=lambda name: votes[name])
        return best if votes[best] else OTHER


def is_foreign(text: str) -> bool:
    """More than a third of the letters belong to a script that the model was not trained on."""
    if text.isascii():
        return False
    letters = [letter for letter in text if letter.isalpha()]
    foreign = sum(ord(letter) > 0x24F and not _is_latin(letter) for letter in letters)
    return foreign >= _ENOUGH_LETTERS and foreign > _FOREIGN_SHARE * len(letters)


def _is_latin(letter: str) -> bool:
    return unicodedata.name(letter, "").startswith("LATIN")
