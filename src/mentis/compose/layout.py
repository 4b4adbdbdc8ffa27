"""The told blocks one after another, as spans, with what they cost and what they left open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from mentis.errors import ComposeError
from mentis.ports.token_counter import TokenCounter
from mentis.values.block import Block, passed_over
from mentis.values.library import Library
from mentis.values.span import join_spans
from mentis.values.stability import Stability
from mentis.values.trace import (
    BlockTrace,
    Cut,
    Degradation,
    TokenCount,
    UnresolvedPlaceholder,
    WordingFallback,
)
from mentis.values.trust import Trust

from .fate import Fate, join_blocks
from .history import count
from .judge import Judge
from .layers import check_declared, find_displaced, in_layers
from .memo import Layout, Memo
from .placeholders import Values
from .purposes import Occasion
from .shorten import shorten


def lay_out(library: Library, judge: Judge, counter: TokenCounter) -> Layout:
    """As last time, where nothing that any block depends on has changed since."""
    last = judge.memo.layout
    if last is not None and last.inputs == judge.values.get_all(last.keys):
        return last
    fates = judge.decide_all([block for block in library.blocks if block.keywords is None])
    _check_declared(fates, judge.values)
    layout = _lay_out(fates, judge, counter)
    notes = last.notes if last else _unknown_variant(library, judge.occasion.variant)
    layout = judge.memo.layout = replace(layout, notes=notes)
    return layout


def open_keys(told: Iterable[Fate], occasion: Occasion) -> tuple[UnresolvedPlaceholder, ...]:
    """Keys that had no value, each once per block, with what stands in their place."""
    return tuple(
        UnresolvedPlaceholder(fate.block.id, key, occasion.policies.of(fate.block.target))
        for fate in told
        for key in dict.fromkeys(key for filled in fate.texts for key in filled.unresolved)
    )


def stand_ins(told: Iterable[Fate]) -> tuple[Degradation, ...]:
    """Values that are not what they should have been, and why."""
    reasons = {
        (key, filling.reason): None
        for fate in told
        for key, filling in zip(fate.keys, fate.inputs, strict=True)
        if filling is not None and filling.reason
    }
    return tuple(Degradation(f"placeholder {key}", reason) for key, reason in reasons)


def _check_declared(fates: Iterable[Fate], values: Values) -> None:
    for fate in fates:
        if fate.texts and fate.block.stability is Stability.STABLE:
            keys = (key for wording in fate.wordings for key in wording.keys)
            check_declared(fate.block, {key: values.stability(key) for key in keys})


def _lay_out(fates: tuple[Fate, ...], judge: Judge, counter: TokenCounter) -> Layout:
    last = judge.memo.layout
    needed = {key: value for f in fates for key, value in zip(f.keys, f.inputs, strict=True)}
    fates, cuts = _within_limits(fates, judge.memo, counter)
    told = in_layers([fate for fate in fates if fate.texts])
    lasting = tuple(fate for fate in told if fate.region is not Stability.TURN)
    fleeting = tuple(told[len(lasting) :])
    turn = join_blocks(fleeting)
    if last is not None and last.lasting == lasting:
        system, system_tokens = last.system, last.system_tokens
    else:
        system = join_blocks(lasting)
        system_tokens = count(join_spans(system), counter)
    return Layout(
        keys=tuple(needed),
        inputs=tuple(needed.values()),
        lasting=lasting,
        fleeting=fleeting,
        system=system,
        turn=turn,
        system_tokens=system_tokens,
        turn_tokens=count(join_spans(turn), counter),
        blocks=_block_traces(fates, told, judge.memo, counter),
        unresolved=open_keys(told, judge.occasion),
        degraded=stand_ins(told),
        cuts=cuts,
        fallbacks=tuple(_fallbacks(told, judge, counter)),
    )


def _fallbacks(
    told: Iterable[Fate], judge: Judge, counter: TokenCounter
) -> Iterator[WordingFallback]:
    """Where the owner's text for any variant stands in for a shipped one made for this one."""
    wanted, language = judge.occasion.variant, judge.occasion.language
    for fate in told:
        shipped = passed_over(fate.block, wanted, language)
        if shipped is not None:
            texts = judge.fill_variant(fate.block, fate.block.variants[shipped])
            yield WordingFallback(
                block=fate.block.id,
                wanted=wanted,
                told=fate.trace.variant,
                tokens=_cost(fate, judge.memo, counter),
                shipped=shipped,
                shipped_tokens=counter.count("".join(text.text for text in texts)),
            )


def _within_limits(
    fates: tuple[Fate, ...], memo: Memo, counter: TokenCounter
) -> tuple[tuple[Fate, ...], tuple[Cut, ...]]:
    """Blocks longer than their own `max_tokens` are shortened, and what that took is recorded."""
    kept: list[Fate] = []
    cuts: list[Cut] = []
    for fate in fates:
        limit = fate.block.max_tokens
        if limit is None or not fate.texts or _cost(fate, memo, counter).tokens <= limit:
            kept.append(fate)
            continue
        known = memo.short.get(fate.block.id)
        if known is None or known[0] is not fate:
            cost = memo.costs[fate.block.id][1]
            known = memo.short[fate.block.id] = (fate, *_short(fate, limit, cost, counter))
        kept.append(known[1])
        cuts.append(known[2])
    return (tuple(kept), tuple(cuts)) if cuts else (fates, ())


def _short(fate: Fate, limit: int, cost: TokenCount, counter: TokenCounter) -> tuple[Fate, Cut]:
    block = fate.block
    if is_required(block):
        raise ComposeError(
            f"block {block.id!r} is required and has {cost.tokens} tokens, over its own limit"
            f" of {limit}",
            hint=f"raise max_tokens of {block.id!r}, or shorten its text",
            block=block.id,
            file=block.file,
        )
    spans = shorten(fate.texts[0].spans, limit, counter)
    told = replace(fate.texts[0], spans=spans, text=join_spans(spans))
    left = count(told.text, counter).tokens
    cut = Cut(f"block {block.id}", cost.tokens - left, f"over its own limit of {limit} tokens")
    if not spans:
        reason = f"no sentence of it fits into its own limit of {limit} tokens"
        trace = replace(fate.trace, included=False, reason=reason)
        return replace(fate, texts=(), trace=trace), cut
    trace = replace(fate.trace, reason=f"{fate.trace.reason}; shortened to {limit} tokens")
    return replace(fate, texts=(told,), trace=trace), cut


def is_required(block: Block) -> bool:
    """Never cut and never shortened: the constitution, and what its owner marked so."""
    return block.required or block.trust is Trust.CONSTITUTION


def _block_traces(
    fates: Iterable[Fate], told: Sequence[Fate], memo: Memo, counter: TokenCounter
) -> tuple[BlockTrace, ...]:
    """In the library's order, with a word on those that do not stand where that puts them."""
    shifted = {fate.block.id for fate in find_displaced(told)}
    traces: list[BlockTrace] = []
    for fate in fates:
        trace = fate.trace
        if fate.texts:
            trace = replace(trace, tokens=_cost(fate, memo, counter))
        traces.append(_with_move(fate, trace) if fate.block.id in shifted else trace)
    return tuple(traces)


def _cost(fate: Fate, memo: Memo, counter: TokenCounter) -> TokenCount:
    filled = fate.texts[0]
    known = memo.costs.get(fate.block.id)
    if known is None or known[0] is not filled:
        known = memo.costs[fate.block.id] = (filled, counter.count(filled.text))
    return known[1]


def _with_move(fate: Fate, trace: BlockTrace) -> BlockTrace:
    reason = f"{trace.reason}; moved behind what lasts longer, to the {fate.region} region"
    return replace(trace, moved=True, reason=reason)


def _unknown_variant(library: Library, variant: str) -> tuple[Degradation, ...]:
    """A variant that no block knows is legal, but more often a slip: say what was told instead."""
    names = (name.partition("@")[0] for block in library.blocks for name in block.variants)
    conditions = (block.variant_condition for block in library.blocks)
    if variant == "default" or variant in names or variant in conditions:
        return ()
    return (Degradation("variant", f"no block has a variant {variant!r}; default was told"),)
