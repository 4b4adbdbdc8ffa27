"""The steps of a turn, put after a prompt that stands already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mentis.ports.token_counter import TokenCounter
from mentis.values.trace import TokenCount
from mentis.values.turn import Turn

from .compose import Composition
from .computed import Facts
from .history import add, continuation_tokens
from .scene import told_turns

_NONE = TokenCount(0, exact=True)


def continue_with(
    composed: Composition, turns: Sequence[Turn], facts: Facts, counter: TokenCounter, *, limit: int
) -> Composition | None:
    """The same prompt with these turns after it; None where the room of `limit` tokens may be too
    small for all of it, so that it has to be composed anew.
    """
    tokens = composed.trace.tokens
    told = told_turns(tuple(turns), composed.request.mode, facts)
    cost = continuation_tokens(told, counter)
    before = tokens.get("continuation", _NONE)
    framing = tokens.get("framing", _NONE).tokens
    total = TokenCount(tokens["total"].tokens - before.tokens, tokens["total"].exact)
    total = add(total, cost)
    if composed.trace.cuts or total.tokens + framing > limit:
        return None
    trace = replace(composed.trace, tokens={**tokens, "continuation": cost, "total": total})
    request = replace(composed.request, continuation=told, prefill=())
    return replace(composed, request=request, trace=trace)
