"""Verdict on a cache: what it may hold, how far it held that, and what may explain it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from mentis.facts.ability import Abilities
from mentis.values.caching import CacheVerdict
from mentis.values.trace import TokenCount

from .footprint import CacheStep, lifetime

# How far off is still as expected: these tokens, or this share when it was counted, or estimated.
_SLACK, _SHARE_EXACT, _SHARE = 128, 0.1, 0.2


def why_not_cached(
    step: CacheStep, sent: datetime, now: datetime, *, able: Abilities, blocks: int
) -> str | None:
    """Why a beginning that was sent before is not expected to be found; None when it is."""
    if step.tokens < able.cache_minimum:
        return f"{step.tokens} tokens are below the minimum of {able.cache_minimum}"
    if able.cache == "anthropic" and not step.marked:
        return ""
    passed, kept = (now - sent).total_seconds(), lifetime(step.ttl)
    if kept and passed > kept:
        return f"what is kept for {step.ttl} was sent {passed:.0f} seconds before"
    if able.cache_lookback and step.blocks and blocks - step.blocks > able.cache_lookback:
        return f"more than {able.cache_lookback} blocks lie between its mark and the new one"
    return None


def verdict_of(expected: TokenCount, read: int) -> CacheVerdict:
    share = _SHARE_EXACT if expected.exact else _SHARE
    slack = max(_SLACK, expected.tokens * share)
    if read < expected.tokens - slack or (expected.tokens and not read):
        return "less"
    return "unforeseen" if read > expected.tokens + slack else "as-expected"


def possible_causes(expected: TokenCount, able: Abilities) -> Iterable[str]:
    if not expected.exact and expected.tokens < able.cache_minimum * (1 + _SHARE):
        yield f"the count is an estimate, and close to the minimum of {able.cache_minimum} tokens"
    if not able.cache_ttls:
        yield "how long this provider keeps a prefix is not known"
    yield "the provider may have dropped it, or answered from a machine that never had it"
