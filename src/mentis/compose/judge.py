"""Decides for each block whether it is told, with its spans, or left out, with the reason.

Every builder and `compose` sit on this one judge; they differ in the occasion they bring.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mentis.values.block import Block, Variant, variant_name
from mentis.values.stability import Stability
from mentis.values.trace import BlockTrace

from .conditions import elsewhere, required_keys, why_in, why_out
from .fate import EMPTY, Fate, choose_in_groups
from .fill import FilledText, fill
from .layers import region_of
from .placeholders import Values
from .purposes import Occasion
from .wording import Wording, wordings_of

if TYPE_CHECKING:
    from .memo import Memo


@dataclass(frozen=True, slots=True)
class Judge:
    """Decides block after block for one occasion."""

    occasion: Occasion
    values: Values
    memo: Memo

    def decide_all(self, blocks: Iterable[Block]) -> tuple[Fate, ...]:
        return choose_in_groups(tuple([self.decide(block) for block in blocks]))

    def decide(self, block: Block) -> Fate:
        """As last time, where every key the block depends on has the value it had then."""
        known = self.memo.fates.get(block.id)
        if known is not None and known.inputs == self.values.get_all(known.keys):
            return known
        fate = self.memo.fates[block.id] = self._decide(block)
        return fate

    def tell(self, block: Block) -> Fate:
        """The block's text whatever its conditions say; its trace still says what they do."""
        return self._fill(self.consider(block))

    def consider(self, block: Block) -> Fate:
        """What stands against the block, if anything does; nothing is filled yet."""
        occasion, values = self.occasion, self.values
        chosen = variant_name(block, occasion.variant, occasion.language)
        variant = None if chosen is None else block.variants[chosen]
        wordings = () if variant is None else wordings_of(block, variant)
        needed = (key for wording in wordings for key in wording.keys)
        keys = tuple(dict.fromkeys((*needed, *required_keys(block))))
        region = region_of(block, self._parts(wordings))
        against = why_out(block, occasion, values)
        trace = BlockTrace(
            block=block.id,
            name=block.name,
            order=block.order,
            included=against is None,
            reason=against or why_in(block, values),
            trust=block.trust,
            stability=region,
            variant=chosen or "",
            elsewhere=against is not None and elsewhere(block, occasion, values),
        )
        return Fate(
            block=block,
            region=region,
            trace=trace,
            texts=(),
            keys=keys,
            inputs=values.get_all(keys),
            wordings=wordings,
            messages=variant.messages if variant else (),
        )

    def _decide(self, block: Block) -> Fate:
        fate = self.consider(block)
        if not fate.trace.included:
            return fate
        told = self._fill(fate)
        if any(filled.text for filled in told.texts):
            return told
        return replace(fate, trace=replace(fate.trace, included=False, reason=EMPTY))

    def _parts(self, wordings: Iterable[Wording]) -> list[Stability]:
        return [self.values.stability(key) for wording in wordings for key in wording.keys]

    def fill_variant(self, block: Block, variant: Variant) -> tuple[FilledText, ...]:
        """One wording of a block with its values, whether it is the one that is told or not."""
        return self._texts(block, wordings_of(block, variant))

    def _fill(self, fate: Fate) -> Fate:
        return replace(fate, texts=self._texts(fate.block, fate.wordings))

    def _texts(self, block: Block, wordings: Iterable[Wording]) -> tuple[FilledText, ...]:
        policy = self.occasion.policies.of(block.target)
        return tuple([fill(wording, self.values, policy) for wording in wordings])
