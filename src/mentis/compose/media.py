"""Tokens of an attachment: an estimate, always, since every provider has its own way.

An image: a token for 750 pixels, at most 1,600, which is also what one of unknown size is taken
for. Sound: 32 tokens a second; 16 KB are a second where its length is unknown. A film: 300 tokens a
second; 250 KB are a second where its length is unknown. A document: the
tokens of its extracted text; without one 2,000 for a page; 50 KB are a page where pages are
unknown. What is known of none of these counts as a minute or as five pages.
"""

from __future__ import annotations

import math

from mentis.ports.token_counter import TokenCounter
from mentis.values.part import MediaPart
from mentis.values.trace import TokenCount

_PIXELS, _IMAGE = 750, 1_600
_SECOND, _SECOND_BYTES, _SECONDS = 32, 16_000, 60
_FILM, _FILM_BYTES = 300, 250_000
_PAGE, _PAGE_BYTES, _PAGES = 2_000, 50_000, 5


def media_tokens(part: MediaPart, counter: TokenCounter) -> TokenCount:
    match part.kind:
        case "image":
            return TokenCount(_image(part))
        case "audio":
            seconds = _known(part, "seconds") or _by_size(part, _SECOND_BYTES) or _SECONDS
            return TokenCount(math.ceil(seconds * _SECOND))
        case "video":
            seconds = _known(part, "seconds") or _by_size(part, _FILM_BYTES) or _SECONDS
            return TokenCount(math.ceil(seconds * _FILM))
        case "document":
            if part.extracted:
                return TokenCount(counter.count(part.extracted).tokens)
            pages = _known(part, "pages") or _by_size(part, _PAGE_BYTES) or _PAGES
            return TokenCount(math.ceil(pages) * _PAGE)


def _image(part: MediaPart) -> int:
    pixels = _known(part, "width") * _known(part, "height")
    return min(math.ceil(pixels / _PIXELS), _IMAGE) if pixels else _IMAGE


def _by_size(part: MediaPart, one: int) -> float:
    size = _known(part, "bytes") if part.data is None else len(part.data)
    return size / one


def _known(part: MediaPart, name: str) -> float:
    """A number of the metadata; what is no sensible number is not known."""
    value = part.metadata.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return value if 0 < value < 10**9 else 0
