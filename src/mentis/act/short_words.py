"""Short values as a text says them: its words without what surrounds them, and its amounts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from .likeness import TooMuch, normal

_EDGE = re.compile(r"^[\W_]+|[\W_]+$")
_PARTS = re.compile(r"""[:=#;,/()\[\]{}|<>"'`\\$€£]+""")
_CLOCK = re.compile(r"\d{1,2}:\d\d(?::\d\d)?")
_NUMBER = re.compile(r"\d+(?:[.,'_ ]\d+)*")
_SCALE = re.compile(r"\s?(k|thousand|tausend|mille|mil|m|mio|million\w*|millones|milh[oõ]es)\b")
_THOUSAND = frozenset({"k", "thousand", "tausend", "mille", "mil"})
_GROUP = 3  # digits
_MOST_JSON = 1024 * 1024
_MOST_NODES = 100_000
_MOST_AMOUNTS = 100_000
_LONGEST_NUMBER = 40


def words_of(normalised: str) -> str:
    """Its words one after the other, a blank around each; then the parts of each that has some."""
    words, parts = list[str](), list[str]()
    for raw in normalised.split(" "):
        if raw.isalnum():  # as most are: nothing to take off, no parts
            words.append(raw)
        elif word := _EDGE.sub("", raw):
            words.append(word)
            if not word.isalnum() and not _CLOCK.fullmatch(word):
                some = [part for one in _PARTS.split(word) if (part := _EDGE.sub("", one))]
                parts += some if len(some) > 1 else ()
    return f" {' '.join(words)} \x00 {' '.join(parts)} "


def phrase_of(normalised: str) -> str:
    """The value as it would stand among such words; empty where it says nothing."""
    words = [word for raw in normalised.split(" ") if (word := _EDGE.sub("", raw))]
    return f" {' '.join(words)} " if words else ""


def amounts_in(normalised: str) -> Iterator[str]:
    """Each number in it, in each way that it can be read: `1.200` is 1200 and 1.2."""
    for number_of, found in enumerate(_NUMBER.finditer(normalised)):
        if number_of == _MOST_AMOUNTS:
            raise TooMuch("it holds too many numbers")
        text = found[0]
        scale = _SCALE.match(normalised, found.end())
        zeros = 0 if scale is None else _GROUP if scale[1] in _THOUSAND else 2 * _GROUP
        for one in {text, *text.split(" ")}:
            if len(one) <= _LONGEST_NUMBER:
                for number in _numbers(one):
                    yield number
                    if zeros:
                        yield _scaled(number, zeros)


def prose_of(text: str) -> str | None:
    """What a structured result says in words: its strings and keys that have a blank in them. None
    where it is no JSON, and all of it may be prose."""
    start = text[:64].lstrip()[:1]
    if start not in ("{", "[") or len(text) > _MOST_JSON:
        return None
    try:
        left: list[Any] = [json.loads(text)]
    except (ValueError, RecursionError):
        return None
    said, nodes = list[str](), 0
    while left:
        node = left.pop()
        nodes += 1
        if nodes > _MOST_NODES:
            return None
        if isinstance(node, str):
            said.append(node)
        elif isinstance(node, Mapping):
            members = cast("Mapping[str, Any]", node)
            said.extend(members)
            left.extend(members.values())
        elif isinstance(node, list):
            left.extend(cast("Sequence[Any]", node))
    return "\n".join(one for one in said if " " in normal(one))


def _numbers(text: str) -> Iterator[str]:
    text = re.sub(r"['_ ]", "", text)
    marks = [one for one in text if one in ".,"]
    if not marks:
        yield _plain(text, "")
        return
    whole, _, rest = text.rpartition(marks[-1])
    digits = re.sub("[.,]", "", whole)
    if len(set(marks)) == 2 or len(marks) == 1:  # the last one is the point
        yield _plain(digits, rest)
    if len(set(marks)) == 1 and len(rest) == _GROUP:
        yield _plain(digits + rest, "")


def _plain(whole: str, rest: str) -> str:
    rest = rest.rstrip("0")
    return (whole.lstrip("0") or "0") + (f".{rest}" if rest else "")


def _scaled(number: str, zeros: int) -> str:
    whole, _, rest = number.partition(".")
    moved = rest[:zeros].ljust(zeros, "0")
    return _plain(whole + moved, rest[zeros:])
