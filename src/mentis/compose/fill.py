"""One block's wording into spans: what is literal, what was put in, and where it came from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from mentis.values.block import Block
from mentis.values.span import Span, join_spans
from mentis.values.stability import Stability
from mentis.values.trust import Trust
from mentis.values.value import Value

from .placeholders import Values
from .templates import parse

_GAP = re.compile(r"\n{3,}")


@dataclass(frozen=True, slots=True)
class Filled(Value):
    """The spans of a block; joined they are its text. `unresolved` keys stand there verbatim."""

    spans: tuple[Span, ...]
    text: str
    unresolved: tuple[str, ...] = ()


def fill(block: Block, content: str, values: Values) -> Filled:
    """One pass; more than one empty line in a row becomes one, and the ends are stripped."""
    spans: list[Span] = []
    unresolved: dict[str, None] = {}
    literals = _literals(
        block.id, content, block.origin, trust=block.trust, stability=block.stability
    )
    for literal, verbatim, key in literals:
        if literal is not None:
            spans.append(literal)
        if verbatim is None:
            continue
        filling = values.get(key)
        if filling is None:
            unresolved[key] = None
            spans.append(verbatim)
        elif filling.text:
            made = (filling.source, filling.trust, values.stability(key))
            spans.append(Span(filling.text, block.id, key, *made))
    kept = tidy(spans)
    return Filled(kept, join_spans(kept), tuple(unresolved))


def tidy(spans: Iterable[Span]) -> tuple[Span, ...]:
    """What collapsing and stripping the joined text would leave, still as spans."""
    spans = tuple(spans)
    text = join_spans(spans)
    if text and not (text[0].isspace() or text[-1].isspace() or "\n\n\n" in text):
        return spans
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    inner = (gap for gap in _GAP.finditer(text) if start <= gap.start() < end)
    gaps = ((gap.start() + 2, gap.end()) for gap in inner)
    drops = [(0, start), *gaps, (end, len(text))]
    return tuple(_without(spans, drops))


def _without(spans: Iterable[Span], drops: list[tuple[int, int]]) -> Iterator[Span]:
    """The spans less the given ranges of their joined text; ranges are sorted and apart."""
    offset = 0
    for span in spans:
        here, at = offset, 0
        pieces: list[str] = []
        for low, high in drops:
            if high > here and low < here + len(span.text):
                pieces.append(span.text[at : max(at, low - here)])
                at = max(at, high - here)
        offset += len(span.text)
        if text := "".join((*pieces, span.text[at:])):
            yield replace(span, text=text) if text != span.text else span


@lru_cache(maxsize=32768)
def _literals(
    block_id: str, content: str, origin: str, *, trust: Trust, stability: Stability | None
) -> tuple[tuple[Span | None, Span | None, str], ...]:
    """The spans that never change, built once: literal runs, and each key as it stands."""
    lasts = stability or Stability.STABLE

    def literal(text: str, key: str = "", reason: str = "") -> Span:
        return Span(text, block_id, key, origin, trust, lasts, reason)

    return tuple(
        (
            literal(run) if run else None,
            literal(f"{{{{{key}}}}}", key, "no value") if key else None,
            key,
        )
        for run, key in parse(content).pieces
    )
