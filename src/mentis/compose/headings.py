"""Look-alikes of our headings and separators in text that is not ours, made plain to see.

A line that could be taken for the beginning of a layer, or for the line around a block (`=== Your
memory ===`), gets a backslash before its first mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from mentis.values.skeleton import is_visible, skeleton

# What looks like a number sign, what like a bracket, and what like a piece of a line across.
_SIGNS = "#\uff03\ufe5f\u266f\u2317\u22d5\u29e3\u2a69"
_BRACKETS = "[\u2045\u27e6\u3010\u3014\u301a\ufe47\uff3b"
_STROKES = ("==", "--", "**", "__")
_LONG = "\u2e3a\u2e3b"
_DASHES = (
    "-_*=\u00ad\u00af\u02c9\u02d7\u1173\u1400\u2010\u2011\u2012\u2013\u2014\u2015\u203e\u2043\u2212\u2261"
    "\u23af\u23ba\u23bb\u23bc\u23bd\u2500\u2501\u2504\u2505\u2508\u2509\u254c\u254d\u2550\u2574\u2576"
    "\u2578\u257a\u257c\u257e\u2581\u2594\u268a\u2e17\u2e40\u30a0\u30fc\u3161\u4e00\ua78a\ufe49\ufe4a"
    "\ufe4b\ufe4c\ufe4d\ufe4e\ufe4f\ufe58\ufe63\ufe66\uff0d\uff1d\uff3f\uff70\uffe3" + _LONG
)
# What a line around a block is drawn with.
_FRAME = "=\u2261\u2550\u2e40\u30a0\ua78a\ufe66\uff1d"
DEEPEST = 1_000_000
_MAY_BE = re.compile(f"[{re.escape(_SIGNS + _BRACKETS + _DASHES)}]")


def plain_headings(text: str, headings: tuple[str, ...], depth: int = DEEPEST) -> str:
    """The text with every such line made plain; the text itself where there is none. Headings of
    more than `depth` signs are the text's own.
    """
    if not _MAY_BE.search(text):
        return text
    lines = text.splitlines(keepends=True)
    changed = list(_plain(lines, headings, depth))
    return text if changed == lines else "".join(changed)


def begins_a_layer(line: str, headings: tuple[str, ...], before: str = "") -> bool:
    """Whether a line, as it is drawn, looks like a heading or a separator of ours, or makes one
    of the line before.
    """
    return _mark(line, headings, before) is not None


def headings_in(*texts: str) -> tuple[str, ...]:
    """The headings that stand in texts of ours, as those below a layer's."""
    lines = (line.strip() for text in texts for line in text.splitlines())
    found = (line.lstrip("# ") for line in lines if line.startswith("#"))
    return tuple(dict.fromkeys(f"## {title}" for title in found if title))


def frames_in(*texts: str) -> tuple[str, ...]:
    """The lines around blocks that stand in texts of ours: strokes, and words behind them."""
    lines = (line.strip() for text in texts for line in text.splitlines())
    framed = (line for line in lines if line.startswith(_STROKES) and _title(line))
    return tuple(dict.fromkeys(f"= {line.strip(_DASHES + ' ')}" for line in framed))


def _plain(lines: Sequence[str], headings: tuple[str, ...], depth: int) -> Iterator[str]:
    before = ""
    for line in lines:
        at = _mark(line, headings, before, depth) if _MAY_BE.search(line) else None
        yield line if at is None else f"{line[:at]}\\{line[at:]}"
        before = line


def _mark(line: str, headings: tuple[str, ...], before: str, depth: int = DEEPEST) -> int | None:
    """Where the mark stands that makes a heading or a separator of this line."""
    at = next((place for place, letter in enumerate(line) if is_visible(letter)), None)
    if at is None:
        return None
    if line[at] in _BRACKETS:
        return at if _title(line).startswith(_names(headings)) else None
    if line[at] in _SIGNS:
        ours = _title(line).startswith(_names(headings, "#="))
        return at if ours and _run(line[at:], _SIGNS) <= depth else None
    if line[at] not in _DASHES:
        return None
    rest = "".join(letter for letter in line[at:] if is_visible(letter))
    if rest.strip(_DASHES):
        return at if _frames(line[at:], rest, headings) else None
    is_across = len(rest) >= 3 or any(one in _LONG for one in rest)
    return at if is_across or _title(before).startswith(_names(headings, "#")) else None


def _frames(line: str, rest: str, headings: tuple[str, ...]) -> bool:
    """Whether words behind strokes look like a line around a block: its words behind two of any
    kind, or any words behind three of the kind that ours are drawn with.
    """
    names = _names(headings, "=")
    if not names or _run(rest, _DASHES) < 2:
        return False
    return _run(line, _FRAME) >= 3 or _title(line).startswith(names)


def _run(line: str, marks: str) -> int:
    """How many marks it begins with, one next to the other."""
    drawn = "".join(letter for letter in line if is_visible(letter) or letter.isspace())
    return len(drawn) - len(drawn.lstrip(marks))


@lru_cache(maxsize=16)
def _names(headings: tuple[str, ...], signs: str = "#[=") -> tuple[str, ...]:
    """Of a heading the first word is enough to be taken for it, of one below a layer's what it
    says before a colon; of a line around a block it takes all words.
    """
    wanted = (_enough(heading) for heading in headings if heading.startswith(tuple(signs)))
    return tuple(filter(None, map(_title, wanted)))


def _enough(heading: str) -> str:
    title = heading.lstrip("#[= ")
    if heading.startswith("="):
        return title
    return title.partition(":")[0] if heading.startswith("##") else title.partition(" ")[0]


def _title(line: str) -> str:
    return "".join(letter for letter in skeleton(line) if letter.isalnum())
