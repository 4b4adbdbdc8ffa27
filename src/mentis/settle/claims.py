"""Claims of a window, held against the acts that really happened.

A window is written in a person's words, so only what names an act can be held against one: by the
name itself, or by all the words of a name that has several. Anything else stays unverifiable;
nothing is called a match, or a lie, by guessing. A text that names several acts makes as many
claims; where it says that one is not done, nothing can be held against that.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import cast

from mentis.values.action import Outcome
from mentis.values.window import Claim, Claims, Support

_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
MOST_CLAIMS = 64
_MOST_CHARS = 400
_NEAR = 3
# In the languages of the library: what denies the words before it as well, and what does not.
_NOT = frozenset(
    [
        "not",
        "never",
        "cannot",
        "dont",
        "didnt",
        "skip",
        "skipped",
        "avoid",
        "avoided",
        "nicht",
        "nie",
        "niemals",
    ]
)
_NO = frozenset(["no", "without", "nor", "neither", "instead", "ohne", "statt", "weder"])
_SHORT = re.compile(r"n['\u2019]t\b", re.IGNORECASE)
_ENDS = re.compile(r"[;!?\n]|\.(?=\s|$)|\b(?:but|then|aber|dann|sondern)\b", re.IGNORECASE)


def claims(
    window: Mapping[str, object], outcomes: Sequence[Outcome], known: Collection[str] = ()
) -> Claims:
    """`known` are the acts that could have been done; those that were tried are known anyway."""
    names = sorted({*known, *(one.action.type for one in outcomes)}, key=lambda n: (-len(n), n))
    texts = _texts(window.get("actions"))[:MOST_CLAIMS]
    made = tuple(claim for text in texts for claim in _judged(text, names, outcomes))
    named = {claim.act for claim in made}
    done = dict.fromkeys(one.action.type for one in outcomes if one.state == "done")
    unclaimed = tuple(name for name in done if name not in named)
    return Claims(_worst(made), made, unclaimed)


def _worst(made: Sequence[Claim]) -> Support:
    """Of the claims that name an act; what names none says nothing for or against the others."""
    verdicts = {claim.verdict for claim in made if claim.act}
    if "unsupported" in verdicts:
        return "unsupported"
    return "match" if verdicts == {"match"} else "unverifiable"


def _judged(text: str, names: Sequence[str], outcomes: Sequence[Outcome]) -> tuple[Claim, ...]:
    """A claim for each act that the text names."""
    shown = text[:_MOST_CHARS]
    denied = Claim(shown, "unverifiable", why="it says what is not done")
    made = [
        _held(shown, name, outcomes, sure=sure) if says else denied
        for part in _ENDS.split(_SHORT.sub("n not", text))
        for name, sure, says in _named(part, names)
    ]
    found = tuple(dict.fromkeys(claim for claim in made if claim is not None))
    return found or (Claim(shown, "unverifiable", why="it names no act"),)


def _held(shown: str, name: str, outcomes: Sequence[Outcome], *, sure: bool) -> Claim | None:
    states = [one.state for one in outcomes if one.action.type == name]
    if "done" in states:
        return Claim(shown, "match", name)
    if "waiting" in states:
        return Claim(shown, "unverifiable", name, "it waits for a person")
    if not sure:
        return None
    why = f"it came to {states[-1]!r}" if states else "nothing of the kind was tried"
    return Claim(shown, "unsupported", name, why)


def _named(text: str, names: Sequence[str]) -> Iterator[tuple[str, bool, bool]]:
    """The acts that a sentence names, whether that is certain, and whether it says that they are
    done: first those written as names, then the longest. Words that stand for one of them do not
    stand for another.

    A name of a single word may be only a word: it is certain where it is written as a name.
    """
    words, used = _words(text), set[int]()
    parts = {name: _parts(name) for name in names}
    there = {name: _places(parts[name], words) if parts[name] else [] for name in names}
    denies = _denying(words, [one for name in names if len(parts[name]) > 1 for one in there[name]])
    written = [n for n in names if _written_as_name(n, text, single=len(parts[n]) == 1)]
    for name in dict.fromkeys((*written, *names)):
        places = there[name]
        if not any(not used.issuperset(place) for place in places):
            continue
        used.update(*places)
        says = not all(any(_denies(one, place) for one in denies) for place in places)
        yield name, name in written or len(parts[name]) > 1, says


def _denying(words: Sequence[str], names: Sequence[Sequence[int]]) -> list[tuple[int, bool]]:
    """Where the sentence says no, and whether that denies what stands before it as well."""
    part_of_a_name = {place for name in names for place in name}
    return [
        (place, word in _NOT)
        for place, word in enumerate(words)
        if place not in part_of_a_name and (word in _NOT or word in _NO or word.startswith("kein"))
    ]


def _denies(said: tuple[int, bool], name: Sequence[int]) -> bool:
    """All that follows in the sentence; a `not` also what stands at most three words before."""
    place, back = said
    return place < name[-1] or (back and place <= name[-1] + _NEAR)


def _written_as_name(name: str, text: str, *, single: bool) -> bool:
    there = re.escape(name)
    if not single:
        return re.search(rf"(?<![\w-]){there}(?![\w-])", text) is not None
    return re.search(rf"[`'\"]{there}[`'\"]|(?<![\w-]){there}\(", text) is not None


def _places(parts: Sequence[str], words: Sequence[str]) -> list[tuple[int, ...]]:
    """Where all words of the name are, in its order, with at most two others between two."""
    starts = [place for place, word in enumerate(words) if word == parts[0]]
    found = (_follow(parts[1:], words, start) for start in starts)
    return [places for places in found if places]


def _follow(parts: Sequence[str], words: Sequence[str], place: int) -> tuple[int, ...]:
    places = [place]
    for part in parts:
        near = words[places[-1] + 1 : places[-1] + 1 + _NEAR]
        if part not in near:
            return ()
        places.append(places[-1] + 1 + near.index(part))
    return tuple(places)


@lru_cache(maxsize=1024)
def _parts(name: str) -> tuple[str, ...]:
    return tuple(_words(name))


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(_HUMP.sub(" ", text))]


def _texts(value: object) -> list[str]:
    if not isinstance(value, list | tuple):
        return []
    return [one for one in cast("Sequence[object]", value) if isinstance(one, str)]
