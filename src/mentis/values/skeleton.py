"""The skeleton of a text: each character as the Latin letters it is drawn like, in one case.

Two texts with the same skeleton may be taken for one another. It is for comparing, never to be
shown.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

_UNSEEN = ("Cf", "Mn", "Me", "Cc", "Cs", "Co", "Cn")
_BLANK = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
# Where capital and small letter are drawn like different ones, each has its own place. What only
# differs by a stroke, a hook or a frame is found by its name (`_based`).
# ruff: noqa: RUF001  # that is what they are for
ALIKE = {
    "a": "4@аАαΑΛλʌɅΔДᎪꓮᗅᗩɑ⍺ⲁ卂Ѧѧæ",
    "b": "ЬьвВβΒᏴꓐᗷƄƅⲃß乃8",
    "c": "сСϲϹᏟꓚᑕ¢©ⲥ匚ҁ",
    "d": "ԁԀᎠꓓᗞᗪðÐƉ∂ծ",
    "e": "3еЕεΕєЄэЭзЗᎬꓰ℮ɛƐҽҼəɘǝΣξ€ⲉ乇ꬲᘿ",
    "f": "ϝϜꓝᖴ千",
    "g": "ɡցԌԍᏀꓖ",
    "h": "һҺнНΗհᎻᏂꓧᕼⲏ卄",
    "i": "lL1|!іІιΙıӏӀǀɩƖᎥꓲᏞᒪꓡ∣│丨ⵏ¡ⲓ\u05c0\u05d5\u05df",
    "j": "јЈϳͿᎫꓙᒍ",
    "k": "кКκΚᏦꓗᛕĸⲕ",
    "n": "ΝηиИпПπոռŋŊꓠᑎⲛ几ր",
    "o": "0оОοΟօՕꓳσθΘөӨ○◯\u05e1ⵔ〇०০๐ဝⲟ回ᗝ",
    "p": "рРρΡᏢꓑᑭþÞⲣ卩",
    "q": "ԛԚզգ",
    "r": "гГΓяЯᎡᏒꓣᖇꭇꭈᴦⲅ尺",
    "s": "5$ѕЅᏚꓢᔕ§ƨƧςՏֆ丂",
    "t": "7+тТτΤᎢꓔ†⊤⟙ⲧ丅ㄒեէ",
    "u": "υսՍꓴμцЦᑌ∪⋃ʊƱ凵ㄩʋƲ",
    "v": "νѵѴꓦᏙ∨⋁ᐯ",
    "w": "ωѡԝԜшШщЩաᎳᏔꓪᗯɯƜⲱ",
    "x": "хХχΧꓫ×⨯᙭жЖⲭ",
    "y": "уУγΥүҮчЧꓬᎩᎽყ¥ⲩㄚ",
    "z": "2ζΖᏃꓜ",
    "rn": "mMмМΜᎷꓟᗰϻϺⲙო爪",
}
_LETTERS = {alike: letter for letter, drawn in ALIKE.items() for alike in drawn}


def skeleton(text: str) -> str:
    return "".join([letter_skeleton(letter) for letter in text])


def is_visible(letter: str) -> bool:
    """Whether it shows anything: no blank, no mark on another letter, nothing that only steers."""
    if letter.isascii():
        return letter.isprintable() and letter != " "
    hidden = letter.isspace() or letter in _BLANK
    return not hidden and unicodedata.category(letter) not in _UNSEEN


@lru_cache(maxsize=4096)
def letter_skeleton(letter: str) -> str:
    """What one character looks like; nothing if it shows nothing."""
    if letter in _LETTERS:
        return _LETTERS[letter]
    if not is_visible(letter):
        return ""
    spread = _based(letter)
    if spread == letter:
        spread = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", letter).casefold())
    return letter if spread == letter else skeleton(spread)


def _based(letter: str) -> str:
    """The letter without a stroke, hook or frame, and small: as its name has it."""
    name = "" if letter.isascii() else unicodedata.name(letter, "")
    plain = name.partition(" WITH ")[0].replace("LETTER SMALL CAPITAL", "SMALL LETTER")
    if "LATIN " in plain or plain.startswith("REGIONAL INDICATOR"):
        plain = f"LATIN SMALL LETTER {plain.rpartition(' ')[2]}"
    if not plain or plain == name:
        return letter
    try:
        return unicodedata.lookup(plain)
    except KeyError:
        return letter
