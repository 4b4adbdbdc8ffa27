"""Words that rules look for, in their forms and in five languages: `words.json` lists them.

An item of the list is a word, or several in a row. `*` at an end stands for any letters there, `~`
for up to three words between, `^` for the beginning of the text and `$` for its end. Texts are cut
at every sign, at `_` and at a capital inside a word, so that `verify_chain` says verify. A word may
be written without its accents; one that has others than the list is another word.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Literal, TypeAlias, cast

Idea: TypeAlias = Literal[
    "verify",
    "plan",
    "audit",
    "recovery",
    "repair",
    "restart",
    "offline",
    "grave",
    "identity",
    "none",
    "denial",
    "later",
    "dated",
    "sequence",
    "intent",
    "past",
    "owed",
    "settled",
    "empty",
]
_LANGUAGES = ("en", "de", "fr", "pt", "es")
_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[^\WA-Z_])(?=[A-Z])")
_SENTENCE = re.compile(r"[^.!?;\n]+[.!?;\n]?")
_CLAUSE = re.compile(r"[^.!?;:,()\n]+")
_GAP = 3  # words that `~` stands for at most
_DENIED = 3  # words that a denial reaches
_SPAN = 20  # words among which a promise says who and when
_MOST_PUT_OFF = 200  # characters: what is longer says something
# `check in` and its like, which check nothing.
_IN_OUT = frozenset(("in", "out"))


@cache
def _lists() -> dict[str, dict[str, list[str]]]:
    text = files("mentis.ledger.guardian").joinpath("words.json").read_text(encoding="utf-8")
    return cast("dict[str, dict[str, list[str]]]", json.loads(text))


def words_of(text: str) -> list[str]:
    """The words of a text, small, each part of `snake_case` and `camelCase` by itself."""
    return [word.casefold() for word in _WORD.findall(_HUMP.sub(" ", text))]


@dataclass(slots=True)
class _Words:
    """Single words of one idea: whole ones, beginnings, ends."""

    whole: set[str] = field(default_factory=set[str])
    begins: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()

    def add(self, item: str) -> None:
        plain = _unaccented(item)
        if item.startswith("*"):
            self.ends += (item[1:],)  # without accents an end says too little
        elif item.endswith("*"):
            self.begins += (item[:-1], plain[:-1])
        else:
            self.whole |= {item, plain}

    def has(self, word: str) -> bool:
        return word in self.whole or word.startswith(self.begins) or word.endswith(self.ends)


@dataclass(frozen=True, slots=True)
class _Phrase:
    """Words in a row; a gap may be before each but the first."""

    parts: tuple[tuple[bool, _Words], ...]
    first: bool = False
    last: bool = False

    def opens(self, word: str) -> bool:
        return self.parts[0][1].has(word)

    def ending(self, words: Sequence[str], start: int) -> int:
        """Where it ends when it begins at `start`, or -1."""
        if self.first and start:
            return -1
        place = start
        for gap, part in self.parts:
            reach = range(place, min(len(words), place + (_GAP if gap else 0) + 1))
            found = next((at for at in reach if part.has(words[at])), -1)
            if found < 0:
                return -1
            place = found + 1
        return -1 if self.last and place < len(words) else place


@dataclass(frozen=True, slots=True)
class WordList:
    """Everything that says one idea. Phrases are found by their first word where it is a whole one,
    so that a long text is read once.
    """

    words: _Words
    phrases: Mapping[str, tuple[_Phrase, ...]]
    loose: tuple[_Phrase, ...]

    def places(self, words: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Where it is said, as first place and the one after the last."""
        known: dict[str, tuple[bool, tuple[_Phrase, ...]]] = {}
        for start, word in enumerate(words):
            if word not in known:
                opened = (*self.phrases.get(word, ()), *self.loose)
                known[word] = self.words.has(word), tuple(p for p in opened if p.opens(word))
            whole, phrases = known[word]
            if whole:
                yield start, start + 1
            for phrase in phrases:
                if (end := phrase.ending(words, start)) > start:
                    yield start, end


@cache
def word_list(idea: Idea, language: str = "") -> WordList:
    """The list of an idea in one language, or in all of them."""
    lists = _lists()[idea]
    chosen = [lists.get(language, [])] if language else list(lists.values())
    words, loose, phrases = _Words(), list[_Phrase](), dict[str, tuple[_Phrase, ...]]()
    for item in chain.from_iterable(chosen):
        if item.strip("*").isalpha():
            words.add(item)
            continue
        phrase = _phrase(item)
        opening = phrase.parts[0][1]
        if not opening.whole:
            loose.append(phrase)
        for word in opening.whole:
            phrases[word] = (*phrases.get(word, ()), phrase)
    return WordList(words, phrases, tuple(loose))


def _phrase(item: str) -> _Phrase:
    parts: list[tuple[bool, _Words]] = []
    gap = False
    for word in item.strip("^$").split():
        if word == "~":
            gap = True
            continue
        part = _Words()
        part.add(word)
        parts.append((gap, part))
        gap = False
    return _Phrase(tuple(parts), item.startswith("^"), item.endswith("$"))


def _unaccented(word: str) -> str:
    parts = unicodedata.normalize("NFKD", word)
    return "".join(sign for sign in parts if not unicodedata.combining(sign))


def says(text: str, *ideas: Idea) -> bool:
    """Whether the text says one of these ideas, and nothing up to three words before denies it."""
    clauses = _CLAUSE.findall(unicodedata.normalize("NFC", text))
    return any(_says(words_of(clause), ideas) for clause in clauses)


def _says(words: Sequence[str], ideas: Iterable[Idea]) -> bool:
    places = [one for one in _places(words, ideas) if not _aside(words, one)]
    if not places:
        return False
    denied = [end for _, end in word_list("denial").places(words)]
    return any(not any(0 <= start - at < _DENIED for at in denied) for start, _ in places)


def _aside(words: Sequence[str], place: tuple[int, int]) -> bool:
    """Who checks in, or checks something out, checks nothing."""
    start, end = place
    return words[start].startswith("check") and not _IN_OUT.isdisjoint(words[end : end + 1])


def _places(
    words: Sequence[str], ideas: Iterable[Idea], language: str = ""
) -> Iterator[tuple[int, int]]:
    return (place for idea in ideas for place in word_list(idea, language).places(words))


def find_promise(text: str) -> str:
    """The first sentence that promises something for later, or an empty text."""
    for found in _SENTENCE.finditer(unicodedata.normalize("NFC", text)):
        sentence = found[0].strip()
        words = [] if sentence.endswith("?") else words_of(sentence)
        if words and any(_promises(words, language) for language in _LANGUAGES):
            return " ".join(sentence.split())
    return ""


def _promises(words: Sequence[str], language: str) -> bool:
    """Who and when are told in one language: `on` is somebody in French and a place in English."""
    if _unhidden(words, ("owed",), hidden="settled", language=language):
        return True
    when = _unhidden(words, ("later", "dated"), hidden="sequence", language=language)
    if not when or any(True for _ in word_list("past", language).places(words)):
        return False
    who = [start for start, _ in word_list("intent", language).places(words)]
    return any(abs(at - start) <= _SPAN for at in when for start in who)


def _unhidden(
    words: Sequence[str], ideas: Iterable[Idea], *, hidden: Idea, language: str
) -> list[int]:
    """Where an idea is said, but for what belongs to something that means another thing."""
    found = list(_places(words, ideas, language))
    if not found:
        return []
    covered = {n for a, b in word_list(hidden, language).places(words) for n in range(a, b)}
    return [a for a, b in found if covered.isdisjoint(range(a, b))]


def is_put_off(text: str) -> bool:
    """Whether a text says nothing but that something comes later."""
    words = words_of(unicodedata.normalize("NFC", text[:_MOST_PUT_OFF]))
    if not words or len(text) > _MOST_PUT_OFF:
        return False
    told = list(_places(words, ("later", "owed")))
    rest = set(range(len(words))) - {n for a, b in told for n in range(a, b)}
    return bool(told) and all(word_list("empty").words.has(words[n]) for n in rest)
