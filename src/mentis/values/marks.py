"""The markers only Mentis may set in a prompt, and how look-alikes of them are undone.

Text from outside stands between `<untrusted NONCE>` and `</untrusted NONCE>`. Inside, and in
everything a guest says where system text is tagged, a look-alike loses its bracket.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from hashlib import sha256
from hmac import new as keyed

FENCE = "untrusted"
SYSTEM = "system"
# Angle brackets, also those that NFKC leaves alone, and what shows nothing or looks like a dash.
_ANGLES = "<\uff1c\ufe64\u2039\u2329\u27e8\u276e\u02c2\u1438\u3008"
_ALIKE = str.maketrans(
    {
        **dict.fromkeys("_\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
        **dict.fromkeys("\u115f\u1160\u2800\u3164"),
    }
)
_UNSEEN = ("Cf", "Mn", "Me", "Cc")
_ANGLE = re.compile(f"[{_ANGLES}]")
_NAMES = re.compile(rf"\s*/?\s*({FENCE}|{SYSTEM}(?![a-z0-9])|mentis|\|)")
_SEEN, _LOOKED_AT = 64, 512
HARMLESS = "&lt;"


def neutral(text: str) -> str:
    """The text with look-alikes of markers made plain; the text itself where there are none."""
    if "<" not in text and text.isascii():
        return text
    pieces: list[str] = []
    done = 0
    for found in _ANGLE.finditer(text):
        if _begins_a_marker(text, found.end()):
            pieces += (text[done : found.start()], HARMLESS)
            done = found.end()
    return "".join((*pieces, text[done:])) if pieces else text


def nonce_of(texts: Iterable[str], secret: bytes) -> str:
    """The same for the same texts and secret, and not to be guessed without the secret."""
    made = keyed(secret, digestmod=sha256)
    for text in texts:
        made.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return made.hexdigest()[:12]


def _begins_a_marker(text: str, start: int) -> bool:
    """However it is disguised: by unseen characters, other forms of its letters, or its case."""
    near = text[start : start + _SEEN]
    if near.isascii() and near.isprintable():
        return _NAMES.match(near.casefold().replace("_", "-")) is not None
    around = text[start : start + _LOOKED_AT]
    seen = [c for c in around if c.isspace() or unicodedata.category(c) not in _UNSEEN][:_SEEN]
    if len(seen) < _SEEN and len(around) == _LOOKED_AT:
        return True  # nobody puts that much that is not seen behind a bracket to no purpose
    folded = unicodedata.normalize("NFKC", "".join(seen)).translate(_ALIKE).casefold()
    return _NAMES.match(folded) is not None
