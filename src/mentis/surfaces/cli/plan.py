"""A cache plan in words and columns: what it costs before a call, what it came to after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .output import say, table

if TYPE_CHECKING:
    from mentis.values.caching import CacheBreak, CacheReconciliation, Forecast, Price
    from mentis.values.span import Span
    from mentis.values.trace import TokenCount


def show_plan(forecast: Forecast) -> None:
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
    table(("region", "up to", "tokens", "kept for", "cached", "price if hit", "if missed"), rows)
    if not rows:
        say("no cache is planned: it is switched off, or nothing is known of one here")
        return
    if forecast.key:
        say(f"cache key: {forecast.key}")
    counted = "exact" if forecast.prompt.exact else "estimated (~)"
    say(f"the whole prompt: {_tokens(forecast.prompt)} tokens; counts are {counted}")
    say(f"prices: {forecast.rate}")
    say(f"expected from the cache, by what was sent before: {_tokens(forecast.expected)} tokens")
    if forecast.broken is not None:
        say_broken(forecast.broken)


def say_cached(cached: CacheReconciliation) -> None:
    """Only what was not as expected, what explains it, and where the provider says otherwise."""
    if cached.disagreement:
        say(f"cache: {cached.disagreement}")
    if cached.verdict == "as-expected" and not cached.reasons:
        return
    expected = f"{_tokens(cached.expected)} tokens were expected from the cache"
    reasons = f": {'; '.join(cached.reasons)}" if cached.reasons else ""
    say(f"cache: {expected}, {cached.read} came{reasons}")


def say_broken(broken: CacheBreak) -> None:
    where = f"byte {broken.byte} ({broken.pointer or 'between texts'})"
    say(f"the first difference is at {where}, in {_named(broken.span)}")
    if not broken.kept and not broken.lost:
        say("no boundary of the rendering before is known: whether its cache holds cannot be told")
        return
    if not broken.lost:
        say("every boundary planned before still holds")
        return
    said = f"{broken.lost} boundaries lost, {_tokens(broken.tokens)} tokens to be read again"
    say(f"{said}, which costs {price_text(broken.cost)} more than finding them")


def _named(span: Span | None) -> str:
    from mentis.ask.caching import span_name

    return span_name(span)


def _tokens(count: TokenCount) -> str:
    return str(count.tokens) if count.exact or not count.tokens else f"~{count.tokens}"


def price_text(price: Price) -> str:
    return f"{price.units:.0f} tokens" if price.usd is None else f"${price.usd:.6f}"
