"""Finds blocks by their words, and where each placeholder is used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Literal, TypeAlias

from mentis.errors import UsageError
from mentis.values.block import Block
from mentis.values.library import Library
from mentis.values.memo import IdentityMemo
from mentis.values.value import Value

Where: TypeAlias = Literal["id", "name", "description", "content"]
PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_AROUND = 40  # characters of an excerpt on each side of what was found
_BETWEEN = "\0"  # texts of a block, so that nothing is found across two of them
_BLANK = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Match(Value):
    """A block that was found, by what, and the words around it."""

    block: str
    where: Where
    excerpt: str


@dataclass(frozen=True, slots=True)
class Usages(Value):
    """`by_key` names the blocks that tell a key or ask for it in a condition.

    `orphaned` keys are used and not registered, `unused` ones registered and not used.
    """

    by_key: Mapping[str, tuple[str, ...]]
    orphaned: tuple[str, ...]
    unused: tuple[str, ...]


def search(library: Library, text: str) -> tuple[Match, ...]:
    """Blocks with these words, whatever their case: by id, name and description, else by content.

    Each block is found once, by the first of these; the order is that of the library.
    """
    return tuple(_matches(library, _wanted(text)))


def first_matches(library: Library, text: str, count: int) -> tuple[Match, ...]:
    """The first of what `search` finds; the rest is not looked for."""
    return tuple(islice(_matches(library, _wanted(text)), count))


def usages(library: Library) -> Usages:
    """Which blocks use which placeholder, in text and in conditions."""
    by_key: dict[str, list[str]] = {}
    for block in library.blocks:
        asked = chain(block.requires_any, block.requires_all, block.requires_none)
        for key in dict.fromkeys((*block_keys(block), *asked)):
            by_key.setdefault(key, []).append(block.id)
    registered = library.placeholders.keys()
    return Usages(
        by_key={key: tuple(by_key[key]) for key in sorted(by_key)},
        orphaned=tuple(sorted(by_key.keys() - registered)),
        unused=tuple(sorted(registered - by_key.keys())),
    )


def block_keys(block: Block) -> tuple[str, ...]:
    """Each placeholder in any wording of the block, once, in the order of the text."""
    return tuple(dict.fromkeys(key for text in texts(block) for key in PLACEHOLDER.findall(text)))


def texts(block: Block) -> Iterator[str]:
    """Every text of a block: of all its variants, and of their messages."""
    for variant in block.variants.values():
        yield variant.content
        yield from (message.content for message in variant.messages)


def search_part(
    library: Library, text: str, *, start: int, count: int
) -> tuple[tuple[Match, ...], int]:
    """A part of what `search` finds, and how much that is in all: only the part gets excerpts."""
    wanted = _wanted(text)
    found = list(_found(library, wanted))
    shown = found[start : start + count]
    return tuple(_match(one, wanted) for one in shown), len(found)


def _wanted(text: str) -> str:
    wanted = _plain(text).strip()
    if not wanted:
        raise UsageError("there is nothing to search for", hint="give a word or a part of one")
    return wanted


def _matches(library: Library, wanted: str) -> Iterator[Match]:
    return (_match(one, wanted) for one in _found(library, wanted))


def _found(library: Library, wanted: str) -> Iterator[Block]:
    folded = _LIBRARIES.remember(_folded_blocks, library)
    return (block for block, text in zip(library.blocks, folded, strict=True) if wanted in text)


def _match(block: Block, wanted: str) -> Match:
    """By the first text of a block with these words."""
    named: tuple[tuple[Where, str], ...] = (
        ("id", block.id),
        ("name", block.name),
        ("description", block.description),
    )
    told: Iterator[tuple[Where, str]] = (("content", text) for text in texts(block))
    where, text = next(one for one in chain(named, told) if wanted in _plain(one[1]))
    return Match(block.id, where, _excerpt(text, wanted))


def _folded_blocks(library: Library) -> tuple[str, ...]:
    return tuple([_FOLDED.remember(_folded, block) for block in library.blocks])


def _folded(block: Block) -> str:
    told = (block.id, block.name, block.description, *texts(block))
    return _BETWEEN.join(_plain(text) for text in told)


def _plain(text: str) -> str:
    return text.replace(_BETWEEN, " ").casefold()


# Most blocks of a library have none of what is looked for, and an edit changes few of them.
_FOLDED = IdentityMemo[str](8192)
_LIBRARIES = IdentityMemo[tuple[str, ...]](4)


def _excerpt(text: str, wanted: str) -> str:
    """One line around the first place; folding case may lengthen text, so places are mapped."""
    folded = _plain(text)
    first = folded.index(wanted)
    last = first + len(wanted)
    if len(folded) != len(text):
        places = [at for at, letter in enumerate(text) for _ in letter.casefold()]
        first, last = places[first], places[last - 1] + 1
    begin, end = max(0, first - _AROUND), min(len(text), last + _AROUND)
    shown = _BLANK.sub(" ", text[begin:end]).strip()
    return f"{'…' if begin else ''}{shown}{'…' if end < len(text) else ''}"
