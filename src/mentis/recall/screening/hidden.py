"""Texts that stand in a text unseen or encoded, laid open so that they can be judged.

Unseen: tag characters, HTML comments and attributes. Encoded: base64 (also within itself), hex, the
escapes of addresses, HTML and strings, spaced-out letters, words with digits for letters, words
turned around, rot13. What is laid open is looked through once more, and all of it is bounded in
number and length. Nothing here judges, and what cannot be read as words is left alone.
"""

from __future__ import annotations

import binascii
import codecs
import re
from collections.abc import Callable, Iterator
from html import unescape
from urllib.parse import unquote_plus

from pybase64 import b64decode

MOST_PIECES = 64
MOST_CHARACTERS = 20_000
LAYERS = 2
_TAGS = re.compile("[\U000e0020-\U000e007e]{4,}")
_COMMENT = re.compile(r"<!--(.*?)(?:-->|$)", re.DOTALL)
_ATTRIBUTE = re.compile(
    r"""\b(?:alt|title|content|placeholder|value|summary|label|aria-[a-z]+|data-[a-z-]+)
    \s*=\s*(?:"([^"<>]{12,})"|'([^'<>]{12,})')""",
    re.VERBOSE | re.IGNORECASE,
)
_SPACED = re.compile(r"(?<!\w)(?:\w[ ._\-*]){5,}\w(?!\w)")
_BASE64 = re.compile(
    r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/_-]{16,}(?:\r?\n[A-Za-z0-9+/_-]{4,})*={0,2}(?![A-Za-z0-9+/=_-])"
)
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:(?:0x|\\x)?[0-9A-Fa-f]{2}[ ,:]?){12,}(?![0-9A-Za-z])")
_ADDRESS = re.compile(r"(?:[\w.~+,!'()*-]|%[0-9A-Fa-f]{2}){8,}")
_ENTITIES = re.compile(r"(?:&#(?:\d{2,6}|[xX][0-9A-Fa-f]{2,5});[\w .,!?'-]{0,3}){4,}")
_ESCAPES = re.compile(r"(?:(?:\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2})[\w .,!?'-]{0,3}){4,}")
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\x([0-9A-Fa-f]{2})")
_HEX_SIGNS = re.compile(r"0x|\\x|[ ,:]")
_URL_SAFE = str.maketrans("-_", "+/", "\r\n")
_LEET = str.maketrans("013457@$", "oieastas")
# A word of letters and such digits; an address is none.
_LEET_WORD = re.compile(
    r"(?<![\w@$.])(?![\w.-]*@[\w-]+\.\w)(?=[\w@$]*[a-zA-Z])(?=[\w@$]*[013457@$])[A-Za-z013457@$]{2,}"
)
_LONG = 4
_WORD = re.compile(r"[^\W\d_]{2,}")
_FEW_ENCODED = 3
# Small words of five languages. Where several stand turned around or moved by 13 letters, and
# hardly one as it is, the text was written to be turned back.
_SMALL_WORDS = (
    "the and you your all this that with from are not for have his but was now tell ignore previous"
    " und der die das nicht alle ist ein eine mit von zu ich sie dein den dem auf aus wie mir"
    " les des est que une pour dans pas vous tous votre toutes sont avec tes mes moi mot vos"
    " los las una para con por todas todos esto sus tus del como"
    " uma os as seu sua voce isto mais nao mim um"
)
_SMALL = frozenset(_SMALL_WORDS.split())
_BACKWARDS = frozenset(word[::-1] for word in _SMALL) - _SMALL
_MOVED = frozenset(codecs.encode(word, "rot13") for word in _SMALL) - _SMALL


def hidden_texts(text: str) -> tuple[tuple[str, ...], bool]:
    """What is laid open, in the order it was found, and whether there is more than is looked at."""
    found: dict[str, None] = {}
    left, more = MOST_CHARACTERS, False
    layer = [text[: 2 * MOST_CHARACTERS]]
    for _ in range(LAYERS):
        fresh: list[str] = []
        for one in dict.fromkeys(piece for known in layer for piece in _opened(known)):
            if one in found:
                continue
            if len(found) >= MOST_PIECES or len(one) > left:
                more = True
                continue
            found[one] = None
            fresh.append(one)
            left -= len(one)
        layer = fresh
    return tuple(found), more


def _opened(text: str) -> Iterator[str]:
    for find in _FINDERS:
        for one in find(text):
            if clean := one.strip():
                yield clean


def _runs(
    pattern: re.Pattern[str], read: Callable[[str], str], sign: str = ""
) -> Callable[[str], Iterator[str]]:
    """Each run of a pattern; a text without its sign, if it has one, is not looked through."""
    return lambda text: (read(run[0]) for run in (pattern.finditer(text) if sign in text else ()))


def _comments(text: str) -> Iterator[str]:
    return (run[1] for run in _COMMENT.finditer(text)) if "<!--" in text else iter(())


def _attributes(text: str) -> Iterator[str]:
    if "=" not in text or "<" not in text:
        return iter(())
    values = (run[1] or run[2] for run in _ATTRIBUTE.finditer(text))
    return (value for value in values if " " in value)


def _from_tags(run: str) -> str:
    return "".join(chr(ord(letter) - 0xE0000) for letter in run)


def _from_base64(run: str) -> str:
    body = run.rstrip("=").translate(_URL_SAFE)
    try:
        return _words(b64decode(body + "=" * (-len(body) % 4), validate=True))
    except (binascii.Error, ValueError):
        return ""


def _from_hex(run: str) -> str:
    digits = _HEX_SIGNS.sub("", run)
    return _words(bytes.fromhex(digits[: len(digits) // 2 * 2]))


def _from_address(run: str) -> str:
    return unquote_plus(run) if run.count("%") >= _FEW_ENCODED else ""


def _from_escapes(run: str) -> str:
    return _ESCAPE.sub(lambda one: chr(int(one[1] or one[2], 16)), run)


def _words(made: bytes) -> str:
    """The text that bytes are, if they are one: mostly letters and spaces."""
    try:
        text = made.decode("utf-8")
    except ValueError:
        return ""
    readable = sum(letter.isalpha() or letter.isspace() for letter in text)
    return text if readable >= 0.75 * len(text) else ""


def _with_letters(text: str) -> Iterator[str]:
    """The line of each run of words that have digits for letters."""
    for line in text.splitlines():
        if "\\" in line or "%" in line:
            continue  # escapes, which are read for themselves
        if sum(len(word) >= _LONG for word in _LEET_WORD.findall(line)) >= _FEW_ENCODED - 1:
            yield _LEET_WORD.sub(lambda word: word[0].translate(_LEET), line)


def _turned(text: str) -> Iterator[str]:
    """Lines that read from right to left, whole or word by word, or moved by 13 letters."""
    for line in text.splitlines():
        words = [word.lower() for word in _WORD.findall(line)]
        as_it_is = sum(word in _SMALL for word in words)
        least = max(_FEW_ENCODED - 1, len(words) // 8, 2 * as_it_is)
        if sum(word in _BACKWARDS for word in words) >= least:
            yield line[::-1]
            yield _WORD.sub(lambda word: word[0][::-1], line)
        if sum(word in _MOVED for word in words) >= least:
            yield codecs.encode(line, "rot13")


_FINDERS: tuple[Callable[[str], Iterator[str]], ...] = (
    _runs(_TAGS, _from_tags),
    _comments,
    _attributes,
    _runs(_SPACED, lambda run: run[::2]),
    _runs(_BASE64, _from_base64),
    _runs(_HEX, _from_hex),
    _runs(_ADDRESS, _from_address, "%"),
    _runs(_ENTITIES, unescape, "&#"),
    _runs(_ESCAPES, _from_escapes, "\\"),
    _with_letters,
    _turned,
)
