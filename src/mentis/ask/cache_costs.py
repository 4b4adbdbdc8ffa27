"""Costs of the boundaries of a cache plan, when they are found and when they are not."""

from __future__ import annotations

from collections.abc import Sequence

from mentis.facts.ability import Abilities
from mentis.values.caching import BoundaryCost
from mentis.values.rendering import Boundary
from mentis.values.trace import TokenCount

from .prices import Rate


def costs_of(
    planned: Sequence[tuple[Boundary, TokenCount]], able: Abilities, rate: Rate
) -> tuple[BoundaryCost, ...]:
    """A miss writes every part before a boundary at the price of its own lifetime."""
    costs, before, missed = list[BoundaryCost](), 0, 0.0
    for boundary, tokens in planned:
        missed += (tokens.tokens - before) * write_price(boundary.ttl, able)
        before = tokens.tokens
        enough = tokens.tokens >= able.cache_minimum
        hit = rate.price(tokens.tokens * able.cache_read_price)
        costs.append(BoundaryCost(boundary, tokens, enough, hit, rate.price(missed)))
    return tuple(costs)


def write_price(ttl: str, able: Abilities) -> float:
    """What is kept an hour costs more to write; what is not asked for costs what it always does."""
    if able.cache == "anthropic" and not ttl:
        return 1.0
    return able.cache_long_write_price if ttl == "1h" else able.cache_write_price
