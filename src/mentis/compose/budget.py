"""The token budget of a prompt: in which order things go when not all fit, and what is told.

First blocks of a priority below 0, which give way to the conversation; then the conversation,
oldest first; then what is told of the surroundings; then the other blocks, the lowest priority
first and, among equals, the last. What is required is never cut: then there is no request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mentis.ports.token_counter import TokenCounter
from mentis.values.block import Block
from mentis.values.span import Span, join_spans
from mentis.values.stability import Stability
from mentis.values.trace import BlockTrace, Cut, TokenCount, UnresolvedPlaceholder
from mentis.values.value import Value

from .computed import Facts
from .fate import join_blocks
from .history import NO_ROOM, add, count
from .layout import is_required
from .memo import Layout
from .sections import Section, joined_sections

_GIVING_WAY, _AROUND, _BLOCK = 0, 1, 2
_TOGETHER = "no room left in the context for all that stays together"


@dataclass(frozen=True, slots=True)
class Unit(Value):
    """Something told whole or not at all; of two, the one of the lower `rank` goes first.

    Units of one `bundle` stay or go together, and the bundle ranks as the highest of them.
    """

    what: str
    tokens: int
    rank: tuple[int, ...]
    bundle: str
    required: bool = False


def order_of_going(units: Iterable[Unit]) -> list[tuple[Unit, ...]]:
    """The bundles that may go, the first to go first."""
    bundles: dict[str, list[Unit]] = {}
    for unit in units:
        bundles.setdefault(unit.bundle, []).append(unit)
    free = [bundle for bundle in bundles.values() if not any(unit.required for unit in bundle)]
    return [tuple(one) for one in sorted(free, key=lambda one: max(unit.rank for unit in one))]


class BudgetPlan:
    """All that would be told but the conversation, cut down step by step until it fits."""

    def __init__(
        self,
        layout: Layout,
        sections: Sequence[Section],
        facts: Facts,
        counter: TokenCounter,
        *,
        fixed: Mapping[str, TokenCount],
    ) -> None:
        self._layout, self._sections, self._facts = layout, tuple(sections), facts
        self.counter, self._fixed = counter, fixed
        self._waiting: list[tuple[Unit, ...]] | None = None
        self._gone: frozenset[str] = frozenset()
        self.cuts: list[Cut] = []
        self.system, self.turn = layout.system, layout.turn
        self.context, self.tail = self._around(self._sections)
        self.tokens = self._count(layout.system_tokens, layout.turn_tokens)

    @property
    def needed_tokens(self) -> int:
        return add(*self.tokens.values()).tokens

    @property
    def gives_way(self) -> bool:
        """Whether anything would go before the conversation does."""
        told = (*self._layout.lasting, *self._layout.fleeting)
        return any(fate.block.priority < 0 for fate in told)

    @property
    def blocks(self) -> tuple[BlockTrace, ...]:
        if not self._gone:
            return self._layout.blocks
        return tuple(
            _left_out(one) if self._lost(one.block) else one for one in self._layout.blocks
        )

    @property
    def unresolved_keys(self) -> tuple[UnresolvedPlaceholder, ...]:
        """Keys left open in what is told."""
        found = self._layout.unresolved
        return tuple(one for one in found if not self._lost(one.block)) if self._gone else found

    def _lost(self, block_id: str) -> bool:
        return _what(block_id) in self._gone

    @property
    def required_blocks(self) -> list[str]:
        """The blocks that cannot be cut."""
        told = (*self._layout.lasting, *self._layout.fleeting)
        return [fate.block.id for fate in told if is_required(fate.block)]

    def cut_down(self, limit: int, *, before_history: bool = False) -> None:
        """Leave out the fewest bundles, in their order, until the rest needs at most `limit`."""
        if self.needed_tokens <= limit:
            return
        if self._waiting is None:
            self._waiting = order_of_going(self._units())
        may_go = self._waiting
        if before_history:
            may_go = [one for one in may_go if max(unit.rank for unit in one)[0] == _GIVING_WAY]
        number = self._enough(may_go, limit)
        self._waiting = self._waiting[number:]
        for bundle in may_go[:number]:
            reason = NO_ROOM if len(bundle) == 1 else _TOGETHER
            self.cuts.extend(Cut(unit.what, unit.tokens, reason) for unit in bundle)

    def _enough(self, may_go: Sequence[tuple[Unit, ...]], limit: int) -> int:
        """How many have to go, which then are gone; all of them where that is not enough."""
        before = frozenset(self._gone)

        def fits(number: int) -> bool:
            going = {unit.what for bundle in may_go[:number] for unit in bundle}
            self._lay_out(before | going)
            return self.needed_tokens <= limit

        low, high = 0, len(may_go)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if fits(middle) else (middle + 1, high)
        # An estimate need not fall with every block that goes, so what was found is tried again.
        while not fits(low) and low < len(may_go):
            low += 1
        return low

    def _units(self) -> Iterator[Unit]:
        told = (*self._layout.lasting, *self._layout.fleeting)
        costs = {trace.block: trace.tokens.tokens for trace in self._layout.blocks}
        bundles = _bundles([fate.block for fate in told])
        for index, fate in enumerate(told):
            block = fate.block
            tier = _GIVING_WAY if block.priority < 0 else _BLOCK
            rank, what = (tier, block.priority, -index), _what(block.id)
            yield Unit(what, costs[block.id], rank, bundles[block.id], is_required(block))
        for section in self._sections:
            for index, item in enumerate(section.items):
                what = _item(section, index)
                rank = (_AROUND, section.rank, index if section.oldest_first else -index)
                yield Unit(what, count(item.text, self.counter).tokens, rank, what)

    def _lay_out(self, gone: frozenset[str]) -> None:
        self._gone, layout = gone, self._layout
        self.system = join_blocks(one for one in layout.lasting if not self._lost(one.block.id))
        self.turn = join_blocks(one for one in layout.fleeting if not self._lost(one.block.id))
        self.context, self.tail = self._around(self._left(self._sections))
        system, turn = join_spans(self.system), join_spans(self.turn)
        self.tokens = self._count(count(system, self.counter), count(turn, self.counter))

    def _left(self, sections: Iterable[Section]) -> list[Section]:
        left = (replace(section, items=tuple(self._kept(section))) for section in sections)
        return [section for section in left if section.items]

    def _kept(self, section: Section) -> Iterator[Span]:
        for index, item in enumerate(section.items):
            if _item(section, index) not in self._gone:
                yield item

    def _around(self, sections: Iterable[Section]) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
        """What lasts a while, and what is for this turn only."""
        sections = tuple(sections)
        if not sections:
            return (), ()
        lasting = [section for section in sections if section.region is not Stability.TURN]
        fleeting = [section for section in sections if section.region is Stability.TURN]
        return joined_sections(lasting, self._facts), joined_sections(fleeting, self._facts)

    def _count(self, system: TokenCount, turn: TokenCount) -> dict[str, TokenCount]:
        tokens = {"system": system, "tools": self._fixed["tools"], "turn": turn, **self._fixed}
        if around := (*self.context, *self.tail):
            tokens["context"] = count(join_spans(around), self.counter)
        return tokens


def _bundles(blocks: Sequence[Block]) -> dict[str, str]:
    """For each block the name of its bundle: those that `keep_with` joins, directly or not."""
    head = {block.id: block.id for block in blocks}

    def find(block_id: str) -> str:
        while head[block_id] != block_id:
            block_id = head[block_id]
        return block_id

    for block in blocks:
        if block.keep_with in head:
            head[find(block.id)] = find(block.keep_with)
    return {block.id: f"block {find(block.id)}" for block in blocks}


def _what(block_id: str) -> str:
    return f"block {block_id}"


def _item(section: Section, index: int) -> str:
    return f"{section.topic.removeprefix('summary_')} {index + 1}"


def _left_out(trace: BlockTrace) -> BlockTrace:
    return replace(trace, included=False, reason=NO_ROOM, tokens=TokenCount(0))
