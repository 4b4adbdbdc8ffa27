"""A cache plan in words and columns: what it costs before a call, what it came to after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .report import Note, Text
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.values.caching import CacheBreak, CacheReconciliation, Forecast, Price
    from mentis.values.span import Span
    from mentis.values.trace import TokenCount


def plan_lines(forecast: Forecast) -> Iterator[Text]:
    """Prices are in dollars where one is known, else in tokens of plain input."""
    rows = [
        (
            cost.boundary.region,
            cost.boundary.pointer,
            _tokens(cost.tokens),
            cost.boundary.ttl or "-",
            "yes" if cost.enough else f"below {forecast.minimum}",
            price_text(cost.hit),
            price_text(cost.missed),
        )
        for cost in forecast.boundaries
    ]
    if not rows:
        yield Note("no cache is planned: it is switched off, or nothing is known of one here")
        return
    yield TextTable(
        ("region", "up to", "tokens", "ttl", "cached", "price if hit", "if missed"), rows
    )
    if forecast.key:
        yield Note(f"cache key: {forecast.key}")
    counted = "exact" if forecast.prompt.exact else "estimated (~)"
    yield Note(f"the whole prompt: {_tokens(forecast.prompt)} tokens; counts are {counted}")
    yield Note(f"prices: {forecast.rate}")
    yield Note(
        f"expected from the cache, by what was sent before: {_tokens(forecast.expected)} tokens"
    )
    if forecast.broken is not None:
        yield from broken_lines(forecast.broken)


def cached_lines(cached: CacheReconciliation) -> Iterator[Text]:
    """Only what was not as expected, what explains it, and where the provider says otherwise."""
    if cached.disagreement:
        yield Note(f"cache: {cached.disagreement}")
    if cached.verdict == "as-expected" and not cached.reasons:
        return
    expected = f"{_tokens(cached.expected)} tokens were expected from the cache"
    reasons = f": {'; '.join(cached.reasons)}" if cached.reasons else ""
    yield Note(f"cache: {expected}, {cached.read} came{reasons}")


def broken_lines(broken: CacheBreak) -> Iterator[Text]:
    where = f"byte {broken.byte} ({broken.pointer or 'between texts'})"
    yield Note(f"the first difference is at {where}, in {_named(broken.span)}")
    if not broken.kept and not broken.lost:
        yield Note(
            "no boundary of the rendering before is known: whether its cache holds cannot be told"
        )
        return
    if not broken.lost:
        yield Note("every boundary planned before still holds")
        return
    said = f"{broken.lost} boundaries lost, {_tokens(broken.tokens)} tokens to be read again"
    yield Note(f"{said}, which costs {price_text(broken.cost)} more than finding them")


def _named(span: Span | None) -> str:
    from mentis.ask.caching import span_name

    return span_name(span)


def _tokens(count: TokenCount) -> str:
    return str(count.tokens) if count.exact or not count.tokens else f"~{count.tokens}"


def price_text(price: Price) -> str:
    return f"{price.units:.0f} tokens" if price.usd is None else f"${price.usd:.6f}"
