"""When two texts are the same to whoever acts on them.

`normal` works character by character, so that a part of a text stays a part of it. Everything here
takes time in proportion to the text, whatever stands in it.
"""

from __future__ import annotations

import re
import unicodedata

_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e0fff]+"
)
_ALIKE = {
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb", '"'),
    **dict.fromkeys("\u2044\u2215\u29f8", "/"),
    "\u3002": ".",
}
# The same as `_UNSEEN` for ASCII: what is not to be seen is taken away.
_SEEN_ASCII = [None if _UNSEEN.match(chr(code)) else code for code in range(128)]
_LIKE = re.compile(f"[{''.join(_ALIKE)}]")
_DIGIT = re.compile(r"(?![0-9])\d")  # of any other script
_BETWEEN = re.compile(r"[\W_]+")
_MOST_GROWTH = 4  # times: a syllable has three parts, and only abuse has more


class TooMuch(ValueError):
    """More than can be judged in time: it has to wait."""


def normal(text: str) -> str:
    """Compatible forms, case, scripts of digits, invisible characters and white space make no
    difference.

    TooMuch for a text that is made to grow.
    """
    if text.isascii():
        text = text.lower()
        if not text.isprintable():
            return " ".join(text.translate(_SEEN_ASCII).split())
        return " ".join(text.split()) if "  " in text else text.strip()
    taken_apart = unicodedata.normalize("NFKD", text)
    if len(taken_apart) > _MOST_GROWTH * len(text) + 1000:
        raise TooMuch("its characters stand for too many others")
    text = unicodedata.normalize("NFKD", taken_apart.casefold())
    text = _LIKE.sub(lambda found: _ALIKE[found[0]], text)
    text = _DIGIT.sub(lambda found: str(unicodedata.decimal(found[0])), text)
    return " ".join(_UNSEEN.sub("", text).split())


def tight(normalised: str) -> str:
    """Letters and digits alone: whatever groups them or stands between makes no difference."""
    return _BETWEEN.sub("", normalised)
