"""One wording of a block taken apart once: the spans that never change, and the keys between."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from mentis.values.block import Block, Variant
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.trust import Trust

from .templates import parse

GAP = re.compile(r"\n{3,}")


class WordingPiece(NamedTuple):
    """A literal run and the key behind it; `verbatim` is the key as it stands in the text."""

    literal: Span | None
    verbatim: Span | None
    key: str


class Wording(NamedTuple):
    """`solid` says that it is never empty, whatever its keys stand for."""

    block: str
    pieces: tuple[WordingPiece, ...]
    keys: tuple[str, ...]
    solid: bool


def wordings_of(block: Block, variant: Variant) -> tuple[Wording, ...]:
    """Of the text of a block, or of each of its messages."""
    if block.type == "text":
        return (wording_of(block, variant.content),)
    return tuple(wording_of(block, message.content) for message in variant.messages)


def wording_of(block: Block, content: str) -> Wording:
    return _wording(block.id, content, block.origin, trust=block.trust, stability=block.stability)


@lru_cache(maxsize=32768)
def _wording(
    block_id: str, content: str, origin: str, *, trust: Trust, stability: Stability | None
) -> Wording:
    """Gaps and ends are tidied here as far as no value has a part in them."""
    lasts = stability or Stability.STABLE

    def literal(text: str, key: str = "", reason: str = "") -> Span:
        return Span(text, block_id, key, origin, trust, lasts, reason)

    template = parse(GAP.sub("\n\n", content).strip())
    pieces = tuple(
        WordingPiece(
            literal(run) if run else None,
            literal(f"{{{{{key}}}}}", key, "no value") if key else None,
            key,
        )
        for run, key in template.pieces
    )
    solid = any(run.strip() for run, _ in template.pieces)
    return Wording(block_id, pieces, template.keys, solid)
