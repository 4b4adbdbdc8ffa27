"""The table of blocks: what is in, what is out, and why."""

from __future__ import annotations

from mentis.values.trace import TokenCount, Trace

from .output import say, table

_COLUMNS = ("order", "block", "tokens", "trust", "stability", "in", "why")


def show_blocks(trace: Trace, *, every: bool = False) -> None:
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
    table(_COLUMNS, rows, right=("order", "tokens"))
    if others := len(trace.blocks) - len(concerned):
        say(f"and {others} blocks that belong to other prompts (mentis compose --all lists them)")
    for cut in trace.cuts:
        say(f"left out: {cut.what} ({cut.tokens} tokens): {cut.reason}")
    for gap in trace.unresolved:
        say(f"no value for {{{{{gap.placeholder}}}}} in {gap.block}: {gap.policy}")
    for fallback in trace.fallbacks:
        say(
            f"{fallback.block}: you wrote no {fallback.wanted} text, so your {fallback.told} one is"
            f" told: {token_text(fallback.tokens)} tokens, the shipped {fallback.shipped} one has"
            f" {token_text(fallback.shipped_tokens)}"
        )
    for step in trace.degraded:
        say(f"without {step.part}: {step.reason}")


def token_text(count: TokenCount) -> str:
    """An estimate is marked as one."""
    return str(count.tokens) if count.exact else f"~{count.tokens}"
