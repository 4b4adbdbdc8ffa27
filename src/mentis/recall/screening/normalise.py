"""Text as a screener should see it: without disguise, and with what was hidden laid open.

`plain` is the text without what nobody sees; `hidden` are texts that stood in it unseen or
encoded. Nothing here judges.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from mentis.values.value import Value

from .hidden import hidden_texts

# Cyrillic and Greek letters that look like Latin ones: undone only inside words that mix scripts.
_ALIKE = str.maketrans(
    "аеорсухіјѕԁһԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧονАВЕКМНОРСТУХ",  # noqa: RUF001  # that is what it undoes
    "aeopcyxijsdhqwABEZHIKMNOPTYXovABEKMHOPCTYX",
)
_WORD = re.compile(r"\w++")
_LATIN = re.compile(r"[A-Za-z]")
# Ordinary text joins and breaks words with these; anything else unseen in number is a disguise.
_COMMON = frozenset("\u200d\ufe0f\u00ad\ufeff\u200c")


@dataclass(frozen=True, slots=True)
class Normal(Value):
    """`places` gives for each character of `plain` where it stood in the text as it came.

    `unseen` counts characters that show nothing; `more` says that not all that is hidden was read.
    """

    plain: str
    places: tuple[int, ...] | None
    hidden: tuple[str, ...] = ()
    unseen: int = 0
    more: bool = False

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where a range of `plain` stood in the text as it came."""
        if self.places is None or not self.places:
            return start, end
        last = self.places[min(end, len(self.places)) - 1]
        return self.places[min(start, len(self.places) - 1)], last + 1


def normalise(text: str) -> Normal:
    """The same for the same text; normalising a plain text again changes nothing."""
    hidden, more = hidden_texts(text)
    if text.isascii() and "\r" not in text and not _odd(text):
        return Normal(text, None, hidden, more=more)
    plain, places, unseen = _stripped(text)
    return Normal(plain, places, hidden, unseen, more)


def _odd(text: str) -> bool:
    return any((c < " " and c not in "\n\t") or c == "\x7f" for c in text)


def _stripped(text: str) -> tuple[str, tuple[int, ...], int]:
    """Each character in its compatible form; what shows nothing is left out and counted."""
    letters: list[str] = []
    places: list[int] = []
    unseen = 0
    for place, letter in enumerate(text):
        if letter < "\x7f" and (letter >= " " or letter in "\n\t"):
            letters.append(letter)
            places.append(place)
            continue
        if unicodedata.category(letter) in ("Cf", "Cc", "Cs", "Co"):
            unseen += letter not in _COMMON and letter != "\r"
            continue
        for made in unicodedata.normalize("NFKC", letter):
            letters.append(made)
            places.append(place)
    return _latin("".join(letters)), tuple(places), unseen


def _latin(text: str) -> str:
    """Words of mixed scripts in Latin letters; the length stays."""
    return _WORD.sub(lambda found: _unmixed(found[0]), text)


def _unmixed(word: str) -> str:
    return word if word.isascii() or not _LATIN.search(word) else word.translate(_ALIKE)
