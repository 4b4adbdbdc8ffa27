"""Which values of a payload came from untrusted text and from nowhere else.

Looked at is every string and every key: the whole, its lines, words in a row, and the addresses and
numbers in it, also under one layer of encoding; and short strings that follow each other, as one. A
value of the model's own making, and one that it changed beyond what `likeness` sees through, is not
found here: that is what the policy `strict` is for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias, cast

from mentis.values.act import TaintedValue
from mentis.values.json import JsonObject

from .addresses import addresses, leads_somewhere, numbers
from .likeness import TooMuch, normal, readings
from .seen import SHORTEST, Clearing, SeenRequest, UntrustedText

MOST_PAYLOAD = 2 * 1024 * 1024  # characters in all
MOST_VALUES = 50_000  # strings, keys and numbers
MOST_WORK = 100_000_000  # characters compared
MOST_PIECES = 200_000  # addresses and lines in one value
MOST_TAINTED = 50  # one is enough to decide; so many are told
_MOST_PLACES = 1000
_SHOWN = 500
_MOST_BITS = 10_000
_WORDS, _WORDS_LONG = 6, 24  # so many words in a row, of so many characters, are not chance
_MOST_WORDS = 13  # of one letter each, they are that long
_FOLLOW = b"\1" * (_WORDS - 1)
_EXACT = 10**15  # a larger float has lost its last digits
_MOST_JOINED, _SHORTEST_JOINED = 64, 8  # characters: a longer string is looked at by itself
_PLAIN = re.compile(r"[A-Za-z_ -]{0,11}")  # a word or two: most keys are no more
_NO_TEXT = (bool, dict, list, tuple, Mapping)
# Something to look for, normalised: words in a row, an address, or digits.
_Piece: TypeAlias = tuple[Literal["words", "address", "digits"], str]


class _Path(NamedTuple):
    """The way to a value: that to what it is in, and the last step. Few are ever written out."""

    before: _Path | None = None
    step: str | int = ""


def tainted_in(payload: JsonObject, seen: SeenRequest) -> tuple[TaintedValue, ...]:
    """The first of them, each with the source of the text it stands in; TooMuch if it is that."""
    if seen.too_much:
        raise TooMuch(seen.too_much)
    if not seen.untrusted.sources:
        return ()
    search, found = _Search(seen), list[TaintedValue]()
    leaves = list[tuple[_Path, str]]()
    for path, value, joins in _leaves(payload):
        if not _PLAIN.fullmatch(value):
            found += search.search_value(path, value)
        if len(found) >= MOST_TAINTED:
            break
        if joins and len(value) <= _MOST_JOINED:
            leaves.append((path, value))
    if not found:
        found += search.search_joined(leaves)
    return tuple(found[:MOST_TAINTED])


class _Search:
    """Looks for pieces, and gives up when that becomes too much work."""

    def __init__(self, seen: SeenRequest) -> None:
        self._untrusted: UntrustedText = seen.untrusted
        self._clearing: Clearing = seen.clearing
        self._known: dict[_Piece, str | None] = {}
        self._work = 0

    def search_value(self, path: _Path, value: str) -> Sequence[TaintedValue]:
        """The value as a whole, or else what is in it."""
        found: dict[str, str] = {}
        for text in (value, *readings(value)):
            whole = normal(text)
            if len(whole) >= SHORTEST and (source := self._source(("words", whole))):
                return (TaintedValue(_pointer(path), _shown(value), source),)
            if leads_somewhere(whole) or not text.isprintable():  # no line ends in what is
                found |= self._inside(text, whole)
            if len(whole) >= _WORDS_LONG:
                found |= self._in_a_row(whole)
        return [
            TaintedValue(_pointer(path), _shown(one), source)
            for one, source in found.items()
            if not any(one in other for other in found if other != one)
        ]

    def search_joined(self, leaves: Sequence[tuple[_Path, str]]) -> Sequence[TaintedValue]:
        """A command or an address that was cut into strings, each of which says too little."""
        for first, (path, value) in enumerate(leaves[:-1]):
            text = value
            for _, more in leaves[first + 1 :]:
                text = f"{text} {more}"
                if len(text) >= _SHORTEST_JOINED:
                    break
            whole = normal(text)
            if len(whole) >= _SHORTEST_JOINED and (source := self._source(("words", whole))):
                return (TaintedValue(_pointer(path), _shown(text), source),)
        return self._run_together(leaves)

    def _run_together(self, leaves: Sequence[tuple[_Path, str]]) -> Sequence[TaintedValue]:
        """Those of each list, and those without a blank in them, without one between them."""
        groups: dict[object, list[tuple[_Path, str]]] = {}
        for path, value in leaves:
            if isinstance(path.step, int):
                groups.setdefault(id(path.before), []).append((path, value))
            if " " not in value:
                groups.setdefault("", []).append((path, value))
        for some in groups.values():
            text = "".join(value for _, value in some)
            if len(some) > 1 and (found := self.search_value(some[0][0], text)):
                return found
        return ()

    def _in_a_row(self, whole: str) -> dict[str, str]:
        """The first of its words that follow each other there as well, whatever stands around."""
        words = whole.split(" ")
        follow = bytes(map(self._untrusted.pairs.__contains__, pairwise(words)))
        at = follow.find(_FOLLOW)
        if at >= 0 and not self._is_cleared(("words", whole)):
            while at >= 0:
                if (row := _row(words, follow, at)) and (source := self._source(("words", row))):
                    return {row: source}
                at = follow.find(_FOLLOW, at + 1)
        return {} if whole.isascii() else self._unbroken(words)

    def _unbroken(self, words: list[str]) -> dict[str, str]:
        """Of writings without blanks: a part of each long piece in twelve characters."""
        for word in words:
            for start in range(0, len(word) - SHORTEST + 1, SHORTEST):
                part = word[start : start + SHORTEST]
                if source := self._source(("words", part)):
                    return {part: source}
        return {}

    def _inside(self, text: str, whole: str) -> dict[str, str]:
        """What of its lines, addresses and numbers came from where."""
        found: dict[str, str] = {}
        for number, piece in enumerate(_pieces(text, whole)):
            if number == MOST_PIECES:
                raise TooMuch("a value in it holds too many addresses and lines to look at")
            if source := self._source(piece):
                found[piece[1]] = source
            if len(found) == MOST_TAINTED:
                break
        return found

    def _source(self, piece: _Piece) -> str | None:
        """Where untrusted text holds it, unless other text clears it."""
        if piece not in self._known:
            source = self._find(piece)
            self._known[piece] = source and (None if self._is_cleared(piece) else source)
        return self._known[piece]

    def _find(self, piece: _Piece) -> str | None:
        untrusted, (kind, text) = self._untrusted, piece
        if kind == "digits":
            place = self._in(text, untrusted.digits)
            return untrusted.source_of_digits(place) if place >= 0 else None
        if kind == "address" and self._in(text, untrusted.marked) < 0:
            return None
        if kind == "words" and not self._may_hold(text):
            return None
        place = self._in(text, untrusted.text)
        return untrusted.source(place) if place >= 0 else None

    def _may_hold(self, text: str) -> bool:
        """Cheaper than to look: words in the middle have to follow each other there as well."""
        if " " not in text:
            return self._in(text, self._untrusted.long) >= 0
        untrusted, pairs = self._untrusted, self._untrusted.pairs
        some = text.split(" ", 3)  # of most texts these are enough to tell
        if len(some) > 3 and (some[1], some[2]) not in pairs:
            return False
        _, *inner, last = text.split(" ")
        if not untrusted.begins_a_word(last):
            return False
        if len(inner) == 1:
            return untrusted.has_word(inner[0])
        return all(pair in pairs for pair in pairwise(inner))

    def _in(self, needle: str, text: str, start: int = 0) -> int:
        place = text.find(needle, start)
        self._work += (len(text) if place < 0 else place) - start
        if self._work > MOST_WORK:
            raise TooMuch("there is too much in it to compare with what the model was shown")
        return place

    def _is_cleared(self, piece: _Piece) -> bool:
        """Addresses and numbers as a whole; words where they stand for themselves."""
        kind, sought = piece
        if kind != "words":
            return sought in self._clearing.tokens
        text, start = self._clearing.text, 0
        for _ in range(_MOST_PLACES):
            place = self._in(sought, text, start)
            if place < 0:
                return False
            if _stands_alone(text, place, place + len(sought)):
                return True
            start = place + 1
        return False


def _pieces(text: str, whole: str) -> Iterator[_Piece]:
    lines = text.splitlines()
    if len(lines) > 1:
        for line in map(normal, lines):
            if len(line) >= SHORTEST:
                yield "words", line
    for one in addresses(whole, single=" " not in whole):
        yield "address", one
    for one in numbers(whole):
        yield "digits", one


def _row(words: list[str], follow: bytes, start: int) -> str:
    """The words from there on that follow each other, as few as say enough; or nothing."""
    for end in range(start + _WORDS, start + _MOST_WORDS + 1):
        if b"\0" in follow[start : end - 1] or end > len(words):
            return ""
        if len(row := " ".join(words[start:end])) >= _WORDS_LONG:
            return row
    return ""


def _stands_alone(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    return not any(_goes_on(one) for one in (before, after) if one)


def _goes_on(character: str) -> bool:
    return character.isalnum() or character == "_" or bool(unicodedata.combining(character))


def _leaves(payload: JsonObject) -> Iterator[tuple[_Path, str, bool]]:
    """Every string, key and number as text, with the way to it, in the order they are written.

    Of strings also that they may belong to what stands beside them.
    """
    left: list[tuple[_Path, object]] = [(_Path(), payload)]
    size = count = 0
    while left:
        path, value = left.pop()
        text = _text(value)
        inner = [] if text is not None else _members(path, value)
        texts = [(path, text)] if text is not None else _keys(inner)
        count += 1 + len(inner)
        for _, one in texts:
            size += len(one)
        if size > MOST_PAYLOAD or count > MOST_VALUES:
            raise TooMuch("the payload is too large to be compared with what the model was shown")
        for way, one in texts:
            yield way, one, isinstance(value, str)
        inner.reverse()
        left += inner


def _members(path: _Path, value: object) -> list[tuple[_Path, object]]:
    if isinstance(value, Mapping):
        members = cast("Mapping[object, object]", value).items()
        return [(_Path(path, str(key)), member) for key, member in members]
    if isinstance(value, (list, tuple)):
        items = enumerate(cast("Sequence[object]", value))
        return [(_Path(path, number), item) for number, item in items]
    return []


def _keys(members: list[tuple[_Path, object]]) -> list[tuple[_Path, str]]:
    return [(way, way.step) for way, _ in members if isinstance(way.step, str)]


def _pointer(path: _Path) -> str:
    steps, way = list[str](), path
    while way.before is not None:
        steps.append(str(way.step).replace("~", "~0").replace("/", "~1"))
        way = way.before
    return _shown("".join(f"/{step}" for step in reversed(steps)))


def _text(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, _NO_TEXT):
        return None
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise TooMuch("a number in it is too long to be compared with what the model was shown")
    return _digits(value) if isinstance(value, float) else str(value)


def _digits(value: float) -> str:
    """In full, as a text would have it: 9e16 is a nine and sixteen noughts."""
    if not value.is_integer():
        return str(value)
    digits = str(int(value))
    return digits if abs(value) < _EXACT else f"{digits}; {digits[:15]}"


def _shown(value: str) -> str:
    return value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…"
