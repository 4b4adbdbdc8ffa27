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

from .fence import FENCE
from .skeleton import is_visible, letter_skeleton, skeleton

SYSTEM = "system"
# What is drawn like the bracket, the slash and the bar of a mark, one or several of them.
ANGLES = (
    "<\u02c2\u1438\u2039\u226a\u226e\u227a\u22d6\u22d8\u2329\u276c\u276e\u2770\u27e8\u27ea\u2989\u2991"
    "\u29fc\u2a79\u2aaa\u2aa1\u2abb\u3008\u300a\ufe3d\ufe3f\ufe64\uff1c"
)
SLASHES = (
    "/\\\u2044\u2215\u2216\u2571\u2572\u27cb\u27cd\u29f5\u29f8\u29f9"
    "\u3033\u4e3f\u30ce\ufe68\uff0f\uff3c"
)
BARS = (
    "|\u00a6\u01c0\u05c0\u2016\u2223\u2225\u23d0\u2502\u2503\u2758\u2759\u275a"
    "\u2d4f\u4e28\uff5c\uffe8"
)
_ANGLE = re.compile(f"[{ANGLES}]")
DASHES = "-_\u2010\u2011\u2012\u2013\u2014\u2212"
# The first-level sections of a tick, of what goes in and of what comes out.
SECTIONS = (
    "input-ir",
    "senses",
    "act-descriptor-catalog",
    "goal-tree",
    "l1-memory",
    "output-ir",
    "acts",
)
ELEMENT = "act-descriptor"  # inside a section: one act in a helper's words
_SYSTEM = skeleton(SYSTEM)
# Whatever follows. Dashes are passed over, so that none of their many forms matters.
_MARKERS = (skeleton(FENCE), skeleton("mentis"))
_SECTIONS = (*_MARKERS, *(skeleton(name.replace("-", "")) for name in SECTIONS))
_ELEMENTS = (*_SECTIONS, skeleton(ELEMENT.replace("-", "")))
_LOOKED_AT = 512
HARMLESS = "&lt;"


def neutral(text: str) -> str:
    """The text with look-alikes of markers made plain; the text itself where there are none."""
    return _without(text, _MARKERS)


def sectionless(text: str) -> str:
    """The same, and nothing in it can be taken for the beginning or end of a tick's section."""
    return _without(text, _SECTIONS)


def elementless(text: str) -> str:
    """The same for what stands inside an element of a section."""
    return _without(text, _ELEMENTS)


def _without(text: str, names: tuple[str, ...]) -> str:
    if text.isascii() and "<" not in text:
        return text
    pieces: list[str] = []
    done = 0
    for found in _ANGLE.finditer(text):
        if _begins_a_marker(text, found.end(), names):
            pieces += (text[done : found.start()], HARMLESS)
            done = found.end()
    return "".join((*pieces, text[done:])) if pieces else text


def nonce_of(texts: Iterable[str], secret: bytes) -> str:
    """The same for the same texts and secret, and not to be guessed without the secret."""
    made = keyed(secret, digestmod=sha256)
    for text in texts:
        made.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return made.hexdigest()[:12]


def _begins_a_marker(text: str, start: int, names: tuple[str, ...]) -> bool:
    """However it is disguised: by unseen characters, by other forms of its letters, or its case."""
    around = text[start : start + _LOOKED_AT]
    word = ""
    for letter in around:
        if word == _SYSTEM and is_visible(letter):
            return not (letter.isalnum() and unicodedata.is_normalized("NFKC", letter))
        if not word and letter in BARS:
            return True
        if letter.isspace() or (not word and letter in SLASHES):
            if word:
                return word == _SYSTEM
            continue
        if letter in DASHES:
            continue
        word += letter_skeleton(letter)
        if word.startswith(names):
            return True
        if not any(name.startswith(word) for name in (*names, _SYSTEM)):
            return False
    # Nobody puts that much that is not seen behind a bracket to no purpose.
    return word == _SYSTEM or len(around) == _LOOKED_AT
