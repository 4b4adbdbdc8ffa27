"""Readings of a text by one who decodes it: escapes, base16 to base85, codes of letters, mirrors.

Each layer is taken off until nothing is left to decode, three deep at most. Everything here takes
time in proportion to the text; a text that holds more than the limits is too much to be judged.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from urllib.parse import unquote

from .likeness import TooMuch

LAYERS = 3
_MESSAGE = 4096  # characters
_SHORT = 64 * 1024  # characters: such texts come again with each step of a turn
MOST_DECODED = 50_000  # pieces in one text
MOST_ESCAPES = 100_000
MOST_GROWTH = 8  # times the text, for all that was read out of it
LONGEST_MIRRORED = 2_000  # characters: nobody spells more than that letter by letter
_SHORTEST_MIRRORED = 6
LONGEST_BASE85 = 4_096
_SMALL = 64 * 1024
_MOST_INFLATED = 256 * 1024

_ENTITY = re.compile(r"&#?\w{1,31};?")
_UNICODE_PERCENT = re.compile(r"%u([0-9a-fA-F]{4})")
_CODE_POINT = re.compile(r"\b[uU]\+([0-9a-fA-F]{2,6})[ ,;]?")
_ESCAPE = re.compile(
    r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x\{?([0-9a-fA-F]{2})\}?"
    r"|00(?:00)?([2-7][0-9a-fA-F]) ?|([0-3]?[0-7]{2})|(.))",
    re.DOTALL,
)
_QUOTED = re.compile(r"=(?:([0-9A-Fa-f]{2})|\r?\n)")
_DEFANGED = re.compile(
    r"\s?[\[({<]\s?(dot|\.|at|@|:|://|/|slash|colon|punkt|point|punto|ponto|arroba)\s?[\])}>]\s?"
    r"|\s(at|arroba)\s(?=\S{1,60}\s(?:dot|punkt|punto|ponto|point)\s)"
    r"|\s(dot|punkt)\s(?=[a-z]{2,24}\b)|(hxxp|h\*\*p|meow)(?=s?:|s?\[)",
    re.IGNORECASE,
)
_DEFANGED_AS = {
    **dict.fromkeys(("dot", ".", "punkt", "point", "punto", "ponto"), "."),
    **dict.fromkeys(("at", "@", "arroba"), "@"),
    ":": ":",
    "://": "://",
    "/": "/",
    "slash": "/",
    "colon": ":",
}
_DEFANGED_BY = (
    *("dot", "punkt", "point]", "punto", "ponto", "[.", "(.", "{.", "<.", "[ .", "( ."),
    *("[at", "(at", "{at", "<at", "[ at", "( at", "[@", "(@", "arroba", "hxxp", "h**p", "meow"),
    *("[:", "(:", "[/", "(/", "slash", "colon", "point)"),
)
_PUNYCODE = re.compile(r"xn--([a-z0-9-]{1,59})", re.IGNORECASE)
_BETWEEN = r"""(?:[\s"',+.;|]{1,6})"""  # between the chunks of one code
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{12,}={0,2}")
_CHUNK = r"[A-Za-z0-9+/_-]"
_BASE64_CHUNKS = re.compile(
    rf"(?<!{_CHUNK}){_CHUNK}{{2,}}+=*(?:{_BETWEEN}{_CHUNK}{{2,}}+=*)++", re.ASCII
)
_PLAIN_WORD = re.compile(r"[A-Za-z]?[a-z]*")
_BASE32 = re.compile(r"[A-Z2-7]{16,}={0,6}|[a-z2-7]{16,}={0,6}|[0-9A-V]{16,}={0,6}")
_BASE85 = re.compile(r"[!-u]{15,}|[0-9A-Za-z!#$%&()*+;<=>?@^_`{|}~-]{15,}")
_BASE58 = re.compile(r"[1-9A-HJ-NP-Za-km-z]{12,128}")
_HEX = re.compile(r"(?:(?:0x|\\x|%|x)?[0-9a-fA-F]{2}[\s:,.;|_-]{0,3}){6,}")
_HEX_PAIR = re.compile(r"(?:0x|\\x|%|x)?([0-9a-fA-F]{2})")
_NUMBERS = re.compile(r"(?<!\d)\d{2,3}(?:[\s,.;:|/_-]{1,3}\d{2,3}){5,}(?!\d)")
_BITS = re.compile(r"[01]{7,8}(?:[\s,.;|_-]{0,3}[01]{7,8}){5,}")
_MORSE = re.compile(r"[.\-]{1,6}(?:(?:\s{1,3}|/|\|)[.\-]{1,6}){7,}")
_BASE58_DIGITS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_LOWER = "abcdefghijklmnopqrstuvwxyz"
_ATBASH = str.maketrans(_LOWER + _LOWER.upper(), _LOWER[::-1] + _LOWER[::-1].upper())
_ROT47 = str.maketrans({code: 33 + (code - 33 + 47) % 94 for code in range(33, 127)})
_MORSE_SIGNS: str = (
    ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- "
    "-..- -.-- --.. ----- .---- ..--- ...-- ....- ..... -.... --... ---.. ----. .-.-.- .--.-. "
    "-..-. ---... -....-"
)
_MORSE_LETTERS: dict[str, str] = dict(
    zip(_MORSE_SIGNS.split(" "), "abcdefghijklmnopqrstuvwxyz0123456789.@/:-", strict=True)
)


def readings(text: str) -> tuple[str, ...]:
    """What else the text says, layer under layer; each reading once."""
    if len(text) <= _MESSAGE:
        return _known_message(text)
    return _known_readings(text) if len(text) <= _SHORT else tuple(_all_readings(text))


def _all_readings(text: str) -> Iterator[str]:
    known, layer, size = {text}, [text], 0
    tried = tuple(set[str]() for _ in _CODES)
    most = MOST_GROWTH * len(text) + _SMALL
    for depth in range(LAYERS):
        below = list[str]()
        for one in layer:
            for reading in _one_layer(one, tried, first=depth == 0):
                if not reading or reading in known:
                    continue
                known.add(reading)
                below.append(reading)
                size += len(reading)
                if size > most:
                    raise TooMuch("there is too much in it under other writings")
                yield reading
        layer = below


def all_readings(text: str) -> Iterator[str]:
    """The text itself, what it says decoded, and what it says letter by letter."""
    yield text
    yield from _mirrored(text)
    yield from readings(text)
    if _SHORTEST_MIRRORED <= len(text) <= LONGEST_MIRRORED:
        yield from readings(text[::-1])


def _mirrored(text: str) -> Iterator[str]:
    """rot13, rot47, the alphabet turned, backwards. Each is its own reverse, so it is enough to
    look at one of two texts that are compared."""
    if not _SHORTEST_MIRRORED <= len(text) <= LONGEST_MIRRORED:
        return
    yield codecs.encode(text, "rot13")
    yield text.translate(_ATBASH)
    yield text[::-1]
    if text.isascii():
        yield text.translate(_ROT47)


@lru_cache(maxsize=256)
def _known_readings(text: str) -> tuple[str, ...]:
    return tuple(_all_readings(text))


@lru_cache(maxsize=4096)  # more than a conversation has texts, or each would be decoded each time
def _known_message(text: str) -> tuple[str, ...]:
    return tuple(_all_readings(text))


def _one_layer(text: str, tried: Sequence[set[str]], *, first: bool) -> Iterator[str]:
    """Its escapes, all of one kind and of all kinds, and the codes that stand in it. What a code
    that was `tried` in a layer above says is among the readings already."""
    if text.count("\\") > MOST_ESCAPES:
        raise TooMuch(f"it holds more than {MOST_ESCAPES} escapes")
    together = text
    for mark, plain in _ESCAPED:
        if mark in together:
            together = plain(together)
        if first and mark in _ALONE and mark in text:
            yield plain(text)
    if any(mark in together.lower() for mark in _DEFANGED_BY):
        together = _DEFANGED.sub(_refanged, together)
    yield together
    for (pattern, decode), known in zip(_CODES, tried, strict=True):
        if hidden := "\n".join(_decoded(text, pattern, decode, known)):
            yield hidden


def _decoded(
    text: str, pattern: re.Pattern[str], decode: Callable[[str], bytes | str], tried: set[str]
) -> Iterator[str]:
    for number, found in enumerate(pattern.finditer(text)):
        if number == MOST_DECODED:
            raise TooMuch(f"it holds more than {MOST_DECODED} pieces that may be encoded")
        if found[0] in tried:
            continue
        tried.add(found[0])
        try:
            said = decode(found[0])
            plain = said if isinstance(said, str) else _text(said)
        except (binascii.Error, ValueError, OverflowError):
            continue
        if len(plain) > 3 and _is_readable(plain):
            yield plain


def _is_readable(plain: str) -> bool:
    return plain.isprintable() or all(one.isprintable() or one.isspace() for one in plain)


def _text(decoded: bytes) -> str:
    if decoded[:2] == b"\x1f\x8b" or decoded[:1] == b"x":
        with suppress(zlib.error):  # a word may begin with an x, too
            decoded = zlib.decompressobj(47).decompress(decoded, _MOST_INFLATED)
    if len(decoded) > 3 and decoded[1::2].count(0) * 2 > len(decoded) - 2:
        return decoded.decode("utf-16-le")
    if len(decoded) > 3 and decoded[::2].count(0) * 2 > len(decoded) - 2:
        return decoded.decode("utf-16-be")
    return decoded.decode()


def _from_base64(code: str) -> bytes:
    letters = code.rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(letters + "=" * (-len(letters) % 4), validate=True)


def _from_base64_chunks(code: str) -> bytes:
    """Joined as one code, or each chunk by itself where that is how it was made."""
    chunks = re.split(_BETWEEN, code)
    codes = [at for at, chunk in enumerate(chunks) if not _PLAIN_WORD.fullmatch(chunk)]
    if not codes:
        return b""
    chunks = chunks[codes[0] : codes[-1] + 1]  # without the sentence around it
    try:
        whole = _from_base64("".join(chunk.rstrip("=") for chunk in chunks))
        whole.decode()
    except (binascii.Error, ValueError):
        return b"".join(map(_from_base64, chunks))
    return whole


def _from_base32(code: str) -> bytes:
    letters = code.rstrip("=").upper()
    padded = letters + "=" * (-len(letters) % 8)
    try:
        decoded = base64.b32decode(padded)
        decoded.decode()
    except (binascii.Error, ValueError):
        return base64.b32hexdecode(padded)
    return decoded


def _from_base85(code: str) -> bytes:
    if len(code) > LONGEST_BASE85:
        return b""
    for decode in (base64.b85decode, base64.a85decode):
        try:
            decoded = decode(code)
            if decoded.decode().isprintable():
                return decoded
        except ValueError:
            continue
    return b""


def _from_base58(code: str) -> bytes:
    number = 0
    for letter in code:
        number = number * 58 + _BASE58_DIGITS.index(letter)
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def _from_hex(code: str) -> bytes:
    return bytes.fromhex("".join(_HEX_PAIR.findall(code)))


def _from_numbers(code: str) -> str:
    """Codes of letters, decimal or octal; nothing where one of them is no letter."""
    numbers = re.findall(r"\d+", code)
    for base in (10, 8):
        try:
            letters = [int(one, base) for one in numbers]
        except ValueError:
            continue
        if all(32 <= one < 127 for one in letters):  # what can be printed
            return "".join(map(chr, letters))
    return ""


def _from_bits(code: str) -> str:
    groups = re.findall(r"[01]+", code)
    if any(len(group) > 8 for group in groups):
        run = "".join(groups)
        groups = [run[at : at + 8] for at in range(0, len(run) - 7, 8)]
    return "".join(chr(int(group, 2)) for group in groups)


def _from_morse(code: str) -> str:
    return "".join(_MORSE_LETTERS.get(one, "?") for one in re.split(r"[\s/|]+", code) if one)


_CODES: tuple[tuple[re.Pattern[str], Callable[[str], bytes | str]], ...] = (
    (_BASE64, _from_base64),
    (_BASE64_CHUNKS, _from_base64_chunks),
    (_BASE32, _from_base32),
    (_HEX, _from_hex),
    (_NUMBERS, _from_numbers),
    (_BITS, _from_bits),
    (_MORSE, _from_morse),
    (_BASE85, _from_base85),
    (_BASE58, _from_base58),
)


def _character(found: re.Match[str]) -> str:
    return html.unescape(found[0])


def _code_point(found: re.Match[str]) -> str:
    return _letter(int(found[1], 16))


def _letter(code: int) -> str:
    return chr(code) if code < 0x110000 else "\ufffd"


def _unescaped(found: re.Match[str]) -> str:
    for group in (1, 2, 3, 4, 5):
        if found[group]:
            return _letter(int(found[group], 16))
    if found[6]:
        return chr(int(found[6], 8))
    return "\n" if found[7] in "nrt" else found[7]


def _unquoted(text: str) -> str:
    plain = _QUOTED.sub(lambda found: chr(int(found[1], 16)) if found[1] else "", text)
    try:
        return plain.encode("latin-1").decode()
    except (UnicodeEncodeError, UnicodeDecodeError):
        return plain


def _refanged(found: re.Match[str]) -> str:
    if found[4]:
        return "http"
    return _DEFANGED_AS[(found[1] or found[2] or found[3]).lower()]


def _unpunycoded(found: re.Match[str]) -> str:
    try:
        return found[1].encode().decode("punycode")
    except UnicodeError:
        return found[0]


_ESCAPED: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("&", lambda text: _ENTITY.sub(_character, text)),
    ("%u", lambda text: _UNICODE_PERCENT.sub(_code_point, text)),
    ("%", lambda text: unquote(text, errors="replace")),
    ("\\", lambda text: _ESCAPE.sub(_unescaped, text)),
    ("=", _unquoted),
    ("U+", lambda text: _CODE_POINT.sub(_code_point, text)),
    ("u+", lambda text: _CODE_POINT.sub(_code_point, text)),
    ("xn--", lambda text: _PUNYCODE.sub(_unpunycoded, text)),
    ("XN--", lambda text: _PUNYCODE.sub(_unpunycoded, text)),
)
_ALONE = ("&", "%", "\\")
