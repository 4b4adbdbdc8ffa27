"""Decides for each block whether it is told, with its spans, or left out, with the reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from mentis.ports.token_counter import TokenCounter
from mentis.values.block import Block, variant_name
from mentis.values.trace import BlockTrace

from .conditions import Occasion, required_keys, why_in, why_out
from .fate import Fate, choose_in_groups
from .fill import fill
from .layers import check_declared, region_of
from .memo import Memo
from .placeholders import Values
from .templates import parse


@dataclass(frozen=True, slots=True)
class Judge:
    """Decides block after block for one occasion."""

    occasion: Occasion
    values: Values
    counter: TokenCounter
    memo: Memo

    def decide_all(self, blocks: Iterable[Block]) -> tuple[Fate, ...]:
        return choose_in_groups(tuple(self.decide(block) for block in blocks))

    def decide(self, block: Block) -> Fate:
        """As last time, where every key the block depends on has the value it had then."""
        known = self.memo.fates.get(block.id)
        if known is not None and known.inputs == self.values.get_all(known.keys):
            return known
        fate = self.memo.fates[block.id] = self._decide(block)
        return fate

    def _decide(self, block: Block) -> Fate:
        name = variant_name(block, self.occasion.variant, self.occasion.language) or ""
        content = block.variants[name].content if name else ""
        parts = {key: self.values.stability(key) for key in parse(content).keys}
        keys = (*parts, *required_keys(block))
        inputs = self.values.get_all(keys)
        region = region_of(block, parts.values())
        trace = BlockTrace(
            block=block.id,
            name=block.name,
            order=block.order,
            included=False,
            reason=why_out(block, self.occasion, self.values) or "",
            trust=block.trust,
            stability=region,
            variant=name,
        )
        if trace.reason:
            return Fate(block, region, trace, None, keys, inputs)
        check_declared(block, parts)
        filled = fill(block, content, self.values)
        if not filled.text:
            return Fate(
                block, region, replace(trace, reason="empty once filled"), None, keys, inputs
            )
        tokens = self.counter.count(filled.text)
        told = replace(trace, included=True, reason=why_in(block, self.values), tokens=tokens)
        return Fate(block, region, told, filled, keys, inputs)
