"""All that a line of ours may begin with in a conversation's prompt, in whatever language."""

from __future__ import annotations

from collections.abc import Iterator

from mentis.values.library import Library

from .headings import frames_in, headings_in
from .sections import TOPICS

_OF_VALUES = "heading_"


def headings_of(library: Library) -> tuple[str, ...]:
    """Of blocks and sections, told or not, of values, and the lines that frame a block."""
    texts = tuple(_texts(library))
    found = (*_in_words(library), *headings_in(*texts), *frames_in(*texts))
    return tuple(dict.fromkeys(found))


def _in_words(library: Library) -> Iterator[str]:
    for words in library.words.values():
        for topic, said in words.items():
            if topic in TOPICS:
                yield f"[{' '.join(said)}]"
            elif topic.startswith(_OF_VALUES):
                yield f"## {' '.join(said)}"


def _texts(library: Library) -> Iterator[str]:
    for block in library.blocks:
        for variant in block.variants.values():
            yield variant.content
            yield from (message.content for message in variant.messages)
