"""The table of blocks: what is in, what is out, and why."""

from __future__ import annotations

from collections.abc import Iterator

from mentis.values.trace import TokenCount, Trace

from .report import Note, Text
from .tables import TextTable

_COLUMNS = ("order", "block", "tokens", "trust", "stability", "in", "why")


def block_lines(trace: Trace, *, every: bool = False) -> Iterator[Text]:
    """The table; blocks that belong to other prompts are only counted, unless asked for."""
    concerned = [block for block in trace.blocks if every or not block.elsewhere]
    rows = [
        (
            f"{block.order:g}",
            block.block,
            token_text(block.tokens) if block.included else "-",
            str(block.trust),
            f"{block.stability}{' (moved)' if block.moved else ''}",
            "yes" if block.included else "no",
            block.reason,
        )
        for block in concerned
    ]
    yield TextTable(_COLUMNS, rows, right=("order", "tokens"))
    if others := len(trace.blocks) - len(concerned):
        yield Note(
            f"and {others} blocks that belong to other prompts (mentis compose --all lists them)"
        )
    for cut in trace.cuts:
        yield Note(f"left out: {cut.what} ({cut.tokens} tokens): {cut.reason}")
    for gap in trace.unresolved:
        yield Note(f"no value for {{{{{gap.placeholder}}}}} in {gap.block}: {gap.policy}")
    for fallback in trace.fallbacks:
        yield Note(
            f"{fallback.block}: you wrote no {fallback.wanted} text, so your {fallback.told} one is"
            f" told: {token_text(fallback.tokens)} tokens, the shipped {fallback.shipped} one has"
            f" {token_text(fallback.shipped_tokens)}"
        )
    for step in trace.degraded:
        yield Note(f"without {step.part}: {step.reason}")


def token_text(count: TokenCount) -> str:
    """An estimate is marked as one."""
    return str(count.tokens) if count.exact else f"~{count.tokens}"
