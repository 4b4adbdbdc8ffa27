"""A text cut where a reader would cut it: after a paragraph or a sentence, never inside one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from mentis.ports.token_counter import TokenCounter
from mentis.values.span import Span, join_spans

from .fences import close_fence

_END = re.compile(r"""\n\s*\n|[.!?\u2026]+["'\u201d\u2019\u00bb)\]]*(?=\s)|[\u3002\uff01\uff1f]""")


def shorten(spans: Sequence[Span], limit: int, counter: TokenCounter) -> tuple[Span, ...]:
    """The longest beginning of at most `limit` tokens; nothing if no sentence fits."""
    ends = _ends(join_spans(spans))

    def fits(place: int) -> bool:
        return counter.count(join_spans(close_fence(head(spans, ends[place])))).tokens <= limit

    low, high = 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        if fits(middle):
            low = middle + 1
        else:
            high = middle
    # An estimate need not grow with every sentence, so what was found is counted once more.
    while low and not fits(low - 1):
        low -= 1
    return close_fence(head(spans, ends[low - 1])) if low else ()


def head(spans: Iterable[Span], length: int) -> tuple[Span, ...]:
    """The first characters of the joined text, still as spans."""
    kept: list[Span] = []
    for span in spans:
        if length <= 0:
            break
        kept.append(span if len(span.text) <= length else replace(span, text=span.text[:length]))
        length -= len(span.text)
    return tuple(kept)


def first_words(text: str, length: int) -> str:
    """At most so many characters from the beginning, up to the end of a word, and a mark."""
    if len(text) <= length:
        return text
    return f"{(text[:length].rsplit(None, 1) or [''])[0]} …"


def last_words(text: str, length: int) -> str:
    """At most so many characters from the end, from the beginning of a word, after a mark."""
    if len(text) <= length:
        return text
    return f"… {(text[-length:].split(None, 1) or [''])[-1]}"


def _ends(text: str) -> list[int]:
    """Where paragraphs and sentences end, without the white space behind them."""
    found = (match.start() if match[0].isspace() else match.end() for match in _END.finditer(text))
    return sorted({end for end in found if 0 < end < len(text)})
