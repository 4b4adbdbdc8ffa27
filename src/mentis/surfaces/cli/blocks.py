"""The table of blocks: what is in, what is out, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mentis.values.keywords import LoreTrace
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
    yield from lore_lines(trace.lore)
    for step in trace.degraded:
        yield Note(f"without {step.part}: {step.reason}")


def lore_lines(lore: Iterable[LoreTrace]) -> Iterator[Text]:
    """What was said brought up, or nearly: which entry, where, and why."""
    rows = [
        (
            one.block,
            "yes" if one.told else "no",
            one.place,
            str(one.tokens or "-"),
            _lore_reason(one),
        )
        for one in lore
    ]
    if rows:
        yield TextTable(("entry", "in", "brought up by", "tokens", "why"), rows, right=("tokens",))


def _lore_reason(one: LoreTrace) -> str:
    chance = f"; chance drew {one.chance}" if one.told and one.chance >= 0 else ""
    draws = "".join(f"; {drawn}" for drawn in one.draws)
    reread = f"; {one.reread} tokens from there on are read again each time" if one.reread else ""
    return f"{one.reason}{chance}{draws}{reread}"


def token_text(count: TokenCount) -> str:
    """An estimate is marked as one."""
    return str(count.tokens) if count.exact else f"~{count.tokens}"
