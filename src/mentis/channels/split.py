"""Splits a long answer where a reader would: at a paragraph, a line, a sentence, a word."""

from __future__ import annotations

_ENDS = ("\n\n", "\n", ". ", " ")


def split_text(text: str, longest: int) -> tuple[str, ...]:
    """Pieces of at most so many UTF-16 units; only white space between two of them is lost."""
    pieces: list[str] = []
    rest = text.strip()
    while _units(rest) > longest:
        most = _fitting(rest, longest)
        end = _end(rest[:most])
        pieces.append(rest[:end].rstrip())
        rest = rest[end:].lstrip()
    return tuple(piece for piece in (*pieces, rest) if piece)


def _units(text: str) -> int:
    return len(text) + sum(one > "\uffff" for one in text)


def _fitting(text: str, longest: int) -> int:
    """How many characters have room; one of two units is not cut through."""
    units = 0
    for place, one in enumerate(text):
        units += 2 if one > "\uffff" else 1
        if units > longest:
            return max(place, 1)
    return len(text)


def _end(text: str) -> int:
    """Where it is cut: not so early that the piece would be short."""
    for end in _ENDS:
        place = text.rfind(end)
        if place >= len(text) // 3 and place > 0:
            return place + len(end)
    return len(text)
