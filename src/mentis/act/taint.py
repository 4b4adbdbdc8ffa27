"""Which values of a payload came from untrusted text and from nowhere else.

Looked at is every string and every key: the whole, its lines, words in a row, and the addresses and
numbers in it, also under other writings; short strings that follow each other, as one; and values
of any length where the field says that they decide who gets what. A value of the model's own
making, and one that it changed beyond what `likeness` and `encodings` see through, is not found
here: that is what the policy `strict` is for.
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
from .encodings import all_readings, readings
from .fields import HANDLES, ID_WORDS, ActFields, FieldKind, words_of_name
from .likeness import TooMuch, normal, tight
from .seen import SHORTEST, Clearing, Form, SeenRequest, UntrustedText
from .short_words import amounts_in, phrase_of

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
_MOST_BESIDE = 6  # strings beside each other that may make one value
_SHORTEST_BESIDE, _LONGEST_TIGHT = 10, 200
_NEAR = 64  # characters before a number, in which a word says what it numbers
_MOST_SHORT = 200  # characters of what is compared as a short value
_PLAIN = re.compile(r"[A-Za-z_ -]{0,11}")  # a word or two: most keys are no more
_NO_TEXT = (bool, dict, list, tuple, Mapping)
# Something to look for, normalised: words in a row, an address, or digits.
_Piece: TypeAlias = tuple[Literal["words", "address", "tight", "told", "prose", "amount"], str]
_NO_FIELDS = ActFields({})


class _Path(NamedTuple):
    """The way to a value: that to what it is in, and the last step. Few are ever written out."""

    before: _Path | None = None
    step: str | int = ""


class _Leaf(NamedTuple):
    path: _Path
    text: str
    role: Literal["key", "text", "number"]


def tainted_in(
    payload: JsonObject, seen: SeenRequest, fields: ActFields | None = None
) -> tuple[TaintedValue, ...]:
    """The first of them, each with the source of the text it stands in; TooMuch if it is that.

    `fields` are those that the act declares: without them short values are not looked at.
    """
    if seen.too_much:
        raise TooMuch(seen.too_much)
    if not seen.untrusted.sources:
        return ()
    search, found = _Search(seen), list[TaintedValue]()
    leaves = list[tuple[_Path, str]]()
    known = fields or _NO_FIELDS
    for path, value, role in _leaves(payload):
        if role == "key" and value in known.names:
            continue
        before = len(found)
        if not _PLAIN.fullmatch(value):
            found += search.search_value(path, value)
        kind = None if fields is None or role == "key" else fields.kind(_field_name(path))
        if kind is not None and len(found) == before:
            found += search.search_short(path, value, kind, known.act)
        if len(found) >= MOST_TAINTED:
            break
        if role != "key" and len(value) <= _MOST_JOINED:
            leaves.append((path, value))
    if not found:
        found += search.search_joined(leaves)
    return tuple(found[:MOST_TAINTED])


def _field_name(path: _Path) -> str:
    """Of the field that it is in: what is listed is in that of the list."""
    way: _Path | None = path
    while way is not None and isinstance(way.step, int):
        way = way.before
    return "" if way is None else str(way.step)


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
        for text in self._readings(value):
            whole = normal(text)
            if len(whole) >= SHORTEST and (source := self._source_of_whole(whole)):
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

    def _readings(self, value: str) -> Iterator[str]:
        """What the owner wrote just so is not turned round."""
        if self._stands_in_clearing(normal(value)):
            return iter((value, *readings(value)))
        return all_readings(value)

    def search_short(
        self, path: _Path, value: str, kind: FieldKind, act: frozenset[str]
    ) -> Sequence[TaintedValue]:
        """A value of any length, in a field that decides who gets what. What a tool counts or names
        itself, as a whole field of its result, is no prose and taints none of its own kind."""
        if len(value) > _MOST_SHORT:
            return ()
        piece: Literal["told", "prose"] = "prose" if kind in HANDLES else "told"
        near = frozenset(words_of_name(_field_name(path))) | ID_WORDS if kind == "id" else None
        for text in self._readings(value):
            whole = normal(text)
            pieces: list[_Piece] = [(piece, phrase_of(whole))]
            if kind == "amount":
                pieces = [("amount", one) for one in amounts_in(whole)] or pieces
            for one in pieces:
                if near and one[1].strip().isdecimal():
                    source = self._source_of_number(one[1], near, act)
                else:
                    source = one[1] and self._source(one)
                if source:
                    return (TaintedValue(_pointer(path), _shown(value), source),)
        return ()

    def _source_of_whole(self, whole: str) -> str | None:
        """As it is written, or with something else between its letters and digits."""
        if source := self._source(("words", whole)):
            return source
        dense = tight(whole)
        if not SHORTEST <= len(dense) <= _LONGEST_TIGHT:
            return None
        source = self._source(("tight", dense))
        return None if source and self._is_cleared(("words", whole)) else source

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
        return self._run_together(leaves) or self._beside(leaves)

    def _run_together(self, leaves: Sequence[tuple[_Path, str]]) -> Sequence[TaintedValue]:
        """Those of each list, and those without a blank in them, without one between them; numbers
        with one, too: they may be the codes of letters."""
        groups: dict[object, list[tuple[_Path, str]]] = {}
        for path, value in leaves:
            if isinstance(path.step, int):
                groups.setdefault(id(path.before), []).append((path, value))
            if " " not in value:
                groups.setdefault("", []).append((path, value))
        for some in groups.values():
            texts = [value for _, value in some]
            numbered = all(map(str.isdecimal, texts))
            for text in ("".join(texts), *((" ".join(texts),) if numbered else ())):
                if len(some) > 1 and (found := self.search_value(some[0][0], text)):
                    return found
        return ()

    def _beside(self, leaves: Sequence[tuple[_Path, str]]) -> Sequence[TaintedValue]:
        """Name, host and end of an address in arguments of their own, forwards and backwards."""
        dense = [(path, one) for path, value in leaves if (one := tight(normal(value)))]
        for some in (dense, dense[::-1]):
            for first, (path, text) in enumerate(some):
                if self._in(text, self._untrusted.tight) < 0:
                    continue
                for _, more in some[first + 1 : first + _MOST_BESIDE]:
                    text += more  # noqa: PLW2901
                    if len(text) > _LONGEST_TIGHT:
                        break
                    if len(text) >= _SHORTEST_BESIDE and (source := self._source(("tight", text))):
                        return (TaintedValue(_pointer(path), _shown(text), source),)
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

    def _source_of_number(
        self, phrase: str, near: frozenset[str], act: frozenset[str]
    ) -> str | None:
        """Where prose says it as what it is: a number is one of a file after `file`, `number` or
        what is done with it, in quotes or after `#`, and not where it is a day of June. So it is
        with the owner's words, which clear it."""
        number, untrusted, clearing = phrase.strip(), self._untrusted, self._clearing
        if self._is_named(number, near, clearing.told, clearing.text, unsure=False):
            return None
        if not self._is_named(number, near | act, untrusted.prose, untrusted.text, unsure=True):
            return None
        return self._source_in("prose", phrase) or untrusted.sources[0]

    def _is_named(
        self, number: str, names: frozenset[str], words: str, text: str, *, unsure: bool
    ) -> bool:
        """`unsure` is the answer where it stands in too many places to look at each."""
        if any(self._in(one, text) >= 0 for one in (f"'{number}'", f"`{number}`", f"#{number} ")):
            return True
        place = -1
        for _ in range(_MOST_PLACES):
            place = self._in(f" {number} ", words, place + 1)
            if place < 0:
                return False
            if not names.isdisjoint(words[max(0, place - _NEAR) : place].split(" ")[-3:]):
                return True
        return unsure

    def _find(self, piece: _Piece) -> str | None:
        kind, text = piece
        match kind:
            case "tight" | "told" | "prose":
                return self._source_in(kind, text)
            case "amount":
                return self._source_of_amount(text)
            case "address":
                if self._in(text, self._untrusted.marked) >= 0:
                    return self._source_in("text", text)
                dense = tight(text)
                return self._source_in("tight", dense) if len(dense) >= SHORTEST else None
            case "words":
                return self._source_in("text", text) if self._may_hold(text) else None

    def _source_in(self, form: Form, text: str) -> str | None:
        place = self._in(text, self._untrusted.in_form(form))
        return self._untrusted.source(form, place) if place >= 0 else None

    def _source_of_amount(self, amount: str) -> str | None:
        """Where it stands, if it is there to be found as it is written here."""
        if amount not in self._untrusted.amounts:
            return None
        return self._source_in("prose", f" {amount} ") or self._untrusted.sources[0]

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
        match kind:
            case "address":
                return sought in self._clearing.tokens
            case "tight":
                return sought in self._clearing.tight
            case "told" | "prose":
                return self._in(sought, self._clearing.told) >= 0
            case "amount":
                return sought in self._clearing.amounts
            case "words":
                return self._stands_in_clearing(sought)

    def _stands_in_clearing(self, sought: str) -> bool:
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
        yield "tight", one


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


def _leaves(payload: JsonObject) -> Iterator[_Leaf]:
    """Every string, key and number as text, with the way to it, in the order they are written."""
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
        role = "key" if text is None else "text" if isinstance(value, str) else "number"
        for way, one in texts:
            yield _Leaf(way, one, role)
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
