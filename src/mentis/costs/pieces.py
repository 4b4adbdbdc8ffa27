"""Pieces of a prompt that was put together again, each with its share of tokens and price."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from mentis.ask.prices import Tariff, cached_tokens
from mentis.ports.token_counter import TokenCounter
from mentis.values.cost import CallCost, PromptPart, PromptPiece
from mentis.values.rendering import Rendering
from mentis.values.reply import Usage
from mentis.values.source_map import SourceRange
from mentis.values.span import Span
from mentis.values.trust import Trust, least_trusted

_TURN = re.compile(r"(user|assistant|system|tool) turn \d+|turn .+/\d+|call of .+|reasoning")
_KINDS = (("memory ", "memories"), ("act ", "news of acts"), ("window ", "windows"))
_NAMES = {"current": "message", "": "form of the payload"}
TALK = "conversation"
LAYOUT = "layout"
_PICO = Decimal("1e-12")
_MILLION = 1_000_000


def piece_name(span: Span) -> str:
    """A block by its id; anything else by what it is."""
    if span.block:
        return span.block
    if _TURN.fullmatch(span.source):
        return TALK
    for begins, name in _KINDS:
        if span.source.startswith(begins):
            return name
    return _NAMES.get(span.source, span.source)


def pieces_of(
    rendering: Rendering, counter: TokenCounter, usage: Usage | None
) -> tuple[PromptPiece, ...]:
    """In the order in which they are sent, which is that in which a cache matches. Without a usage
    the tokens are those counted.
    """
    groups = list(grouped_ranges(rendering.source_map()))
    pieces = [PromptPiece(name, found[0].pointer, _trust(found), 0) for name, found in groups]
    texts = ["".join(each.span.text for each in found) for _, found in groups]
    return _shared_out(pieces, texts, counter, usage)


def pieces_of_parts(
    parts: Sequence[PromptPart], counter: TokenCounter, usage: Usage | None
) -> tuple[PromptPiece, ...]:
    """The same of a prompt that another program wrote."""
    pieces = [
        PromptPiece(one.name, one.pointer, one.trust, 0, screening=one.screening) for one in parts
    ]
    return _shared_out(pieces, [one.text for one in parts], counter, usage)


def _shared_out(
    pieces: Sequence[PromptPiece],
    texts: Sequence[str],
    counter: TokenCounter,
    usage: Usage | None,
) -> tuple[PromptPiece, ...]:
    counts = [counter.count(text).tokens for text in texts]
    whole = sum(counts)
    told = whole if usage is None else usage.input
    read, wrote = (0, 0) if usage is None else cached_tokens(usage)
    made, counted, start = list[PromptPiece](), 0, 0
    for piece, count in zip(pieces, counts, strict=True):
        counted += count
        end = round(told * counted / whole) if whole else 0
        cached = _overlap(start, end, 0, read)
        written = _overlap(start, end, read, read + wrote)
        made.append(replace(piece, tokens=end - start, cached=cached, written=written))
        start = end
    return tuple(made)


def priced_pieces(
    pieces: Sequence[PromptPiece], call: CallCost, tariff: Tariff
) -> tuple[tuple[PromptPiece, ...], Decimal | None]:
    """Each with its share, and that of the answer: together they are the price of the call."""
    if call.usd is None or tariff.input is None or tariff.output is None:
        return tuple(pieces), None
    units = [
        (p.tokens - p.cached - p.written) + p.cached * tariff.read + p.written * tariff.write
        for p in pieces
    ]
    raw = [unit * tariff.input / _MILLION for unit in units]
    answer = call.usage.output * tariff.output / _MILLION
    whole = sum(raw) + answer
    scale = float(call.usd) / whole if whole else 0.0
    shares = [Decimal(str(one * scale)).quantize(_PICO) for one in raw]
    rest = call.usd - sum(shares, Decimal(0))
    if not call.usage.output and shares:  # what rounding left over is no answer
        shares[-1], rest = shares[-1] + rest, Decimal(0)
    return tuple(replace(p, usd=usd) for p, usd in zip(pieces, shares, strict=True)), rest


def grouped_ranges(ranges: Sequence[SourceRange]) -> Iterator[tuple[str, list[SourceRange]]]:
    """What stands between two pieces belongs to the one before it."""
    name, found = "", list[SourceRange]()
    for each in ranges:
        own = name if each.span.source == LAYOUT and found else piece_name(each.span)
        if found and own != name:
            yield name, found
            found = []
        name = own
        found.append(each)
    if found:
        yield name, found


def _trust(ranges: Sequence[SourceRange]) -> Trust:
    """Of the text itself: what stands between texts says nothing about it."""
    own = [each.span.trust for each in ranges if each.span.source != LAYOUT]
    return least_trusted(own or [each.span.trust for each in ranges])


def _overlap(start: int, end: int, low: int, high: int) -> int:
    return max(0, min(end, high) - max(start, low))
