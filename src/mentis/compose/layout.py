"""The told blocks one after another, as spans, with what they cost and what they left open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mentis.ports.token_counter import TokenCounter
from mentis.values.block import Block
from mentis.values.span import Span, join_spans
from mentis.values.stability import Stability
from mentis.values.trace import BlockTrace, Unresolved

from .fate import Fate
from .history import count
from .judge import Judge
from .layers import in_layers, moved
from .memo import Layout

_SEPARATOR = Span("\n\n", source="layout")


def lay_out(blocks: Iterable[Block], judge: Judge) -> Layout:
    """As last time, where nothing that any block depends on has changed since."""
    last = judge.memo.layout
    if last is not None and last.inputs == judge.values.get_all(last.keys):
        return last
    layout = judge.memo.layout = _lay_out(judge.decide_all(blocks), judge.counter, last)
    return layout


def _lay_out(fates: tuple[Fate, ...], counter: TokenCounter, last: Layout | None) -> Layout:
    needed = {key: value for f in fates for key, value in zip(f.keys, f.inputs, strict=True)}
    told = in_layers([fate for fate in fates if fate.filled])
    lasting = tuple(fate for fate in told if fate.region is not Stability.TURN)
    turn = _joined(told[len(lasting) :])
    if last is not None and last.lasting == lasting:
        system, system_tokens = last.system, last.system_tokens
    else:
        system = _joined(lasting)
        system_tokens = count(join_spans(system), counter)
    return Layout(
        keys=tuple(needed),
        inputs=tuple(needed.values()),
        lasting=lasting,
        system=system,
        turn=turn,
        system_tokens=system_tokens,
        turn_tokens=count(join_spans(turn), counter),
        blocks=_block_traces(fates, told),
        unresolved=_unresolved(told),
    )


def _joined(fates: Iterable[Fate]) -> tuple[Span, ...]:
    """With one blank line between blocks."""
    spans: list[Span] = []
    for fate in fates:
        if spans:
            spans.append(_SEPARATOR)
        spans.extend(fate.filled.spans if fate.filled else ())
    return tuple(spans)


def _block_traces(fates: Iterable[Fate], told: Sequence[Fate]) -> tuple[BlockTrace, ...]:
    """In the library's order, with a word on those that do not stand where that puts them."""
    shifted = {fate.block.id for fate in moved(told)}
    return tuple(_with_move(fate) if fate.block.id in shifted else fate.trace for fate in fates)


def _with_move(fate: Fate) -> BlockTrace:
    reason = f"{fate.trace.reason}; moved behind what lasts longer, to the {fate.region} region"
    return replace(fate.trace, moved=True, reason=reason)


def _unresolved(told: Iterable[Fate]) -> tuple[Unresolved, ...]:
    return tuple(
        Unresolved(fate.block.id, key, "keep")
        for fate in told
        if fate.filled
        for key in fate.filled.unresolved
    )
