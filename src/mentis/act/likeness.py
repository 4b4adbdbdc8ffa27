"""When two texts are the same to whoever acts on them.

`normal` works character by character, so that a part of a text stays a part of it. Everything here
takes time in proportion to the text, whatever stands in it.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote

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
_ENTITY = re.compile(r"&#?\w{1,31};?")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{12,}")
# Every letter of base64 as one, everything else as another: a long run is found in one go.
_RUNS = bytes(ord("a") if _BASE64.match(chr(code) * 12) else 0 for code in range(256))
_RUN = b"a" * 12
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_MOST_DECODED = 50_000
_MOST_ESCAPES = 100_000
_MOST_GROWTH = 4  # times: a syllable has three parts, and only abuse has more


class TooMuch(ValueError):
    """More than can be judged in time: it has to wait."""


def normal(text: str) -> str:
    """Compatible forms, case, invisible characters and white space make no difference.

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
    return " ".join(_UNSEEN.sub("", text).split())


def readings(text: str) -> Iterator[str]:
    """What else the text says to one who takes off one layer of writing."""
    if "&" in text and (plain := _ENTITY.sub(_character, text)) != text:
        yield plain
    if "%" in text and (plain := unquote(text, errors="replace")) != text:
        yield plain
    if escapes := text.count("\\"):
        if escapes > _MOST_ESCAPES:
            raise TooMuch(f"it holds more than {_MOST_ESCAPES} escapes")
        yield _ESCAPE.sub(_unescaped, text)
    if _RUN not in text.encode("utf-8", "surrogatepass").translate(_RUNS):
        return
    if hidden := "\n".join(_decoded(text)):
        yield hidden


def _character(found: re.Match[str]) -> str:
    return html.unescape(found[0])


def _unescaped(found: re.Match[str]) -> str:
    if found[1]:
        return chr(int(found[1], 16))
    return "\n" if found[2] in "nrt" else found[2]


def _decoded(text: str) -> Iterator[str]:
    for number, found in enumerate(_BASE64.finditer(text)):
        if number == _MOST_DECODED:
            raise TooMuch(f"it holds more than {_MOST_DECODED} pieces that may be base64")
        letters = found[0].replace("-", "+").replace("_", "/")
        try:
            plain = base64.b64decode(letters + "=" * (-len(letters) % 4), validate=True).decode()
        except (binascii.Error, ValueError):
            continue
        if plain.isprintable() or all(one.isprintable() or one.isspace() for one in plain):
            yield plain
