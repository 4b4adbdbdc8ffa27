"""Text as a screener should see it: without disguise, and with what was hidden laid open.

`plain` is the text without what nobody sees; `hidden` are texts that stood in it unseen or
encoded: tag characters, HTML comments, one layer of base64. Nothing here judges.
"""

from __future__ import annotations

import binascii
import re
import unicodedata
from dataclasses import dataclass

from pybase64 import b64decode

from mentis.values.value import Value

_TAGS = re.compile("[\U000e0020-\U000e007e]{4,}")
_COMMENT = re.compile(r"<!--(.*?)(?:-->|$)", re.DOTALL)
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/_-]{16,}={0,2}(?![A-Za-z0-9+/=_-])")
_SPACED = re.compile(r"(?<!\w)(?:\w[ ._\-*]){5,}\w(?!\w)")
# Cyrillic and Greek letters that look like Latin ones: undone only inside words that mix scripts.
_ALIKE = str.maketrans(
    "аеорсухіјѕԁһԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧονАВЕКМНОРСТУХ",  # noqa: RUF001  # that is what it undoes
    "aeopcyxijsdhqwABEZHIKMNOPTYXovABEKMHOPCTYX",
)
_WORD = re.compile(r"\w++")
_LATIN = re.compile(r"[A-Za-z]")
_URL_SAFE = str.maketrans("-_", "+/")
# Ordinary text joins and breaks words with these; anything else unseen in number is a disguise.
_COMMON = frozenset("\u200d\ufe0f\u00ad\ufeff\u200c")
_MOST_HIDDEN = 16


@dataclass(frozen=True, slots=True)
class Normal(Value):
    """`places` gives for each character of `plain` where it stood in the text as it came."""

    plain: str
    places: tuple[int, ...] | None
    hidden: tuple[str, ...] = ()
    unseen: int = 0

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where a range of `plain` stood in the text as it came."""
        if self.places is None or not self.places:
            return start, end
        last = self.places[min(end, len(self.places)) - 1]
        return self.places[min(start, len(self.places) - 1)], last + 1


def normalise(text: str) -> Normal:
    """The same for the same text; normalising a plain text again changes nothing."""
    hidden = tuple(_hidden(text))[:_MOST_HIDDEN]
    if text.isascii() and "\r" not in text and not _odd(text):
        return Normal(text, None, hidden)
    plain, places, unseen = _stripped(text)
    return Normal(plain, places, hidden, unseen)


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


def _hidden(text: str) -> list[str]:
    found = [_from_tags(run[0]) for run in _TAGS.finditer(text)]
    found += [run[1].strip() for run in _COMMENT.finditer(text)]
    found += [run[0][::2] for run in _SPACED.finditer(text)]
    found += filter(None, (_from_base64(run[0]) for run in _BASE64.finditer(text)))
    return [one for one in found if one]


def _from_tags(run: str) -> str:
    return "".join(chr(ord(letter) - 0xE0000) for letter in run)


def _from_base64(run: str) -> str | None:
    """The text that was encoded, if it was one: mostly letters and spaces."""
    body = run.rstrip("=").translate(_URL_SAFE)
    try:
        made = b64decode(body + "=" * (-len(body) % 4), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None
    readable = sum(letter.isalpha() or letter.isspace() for letter in made)
    return made if readable >= 0.75 * len(made) else None
