"""Memories over a conversation: those told before keep their place, what is new comes at the end.

What stands together in the lasting part of the prompt is an epoch. A memory that comes up or is
written later is told at the end of each turn that needs it, and taken into the epoch when that
costs less. What may no longer be told leaves at once, whatever that costs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from mentis.values.residency import Placement, Residents
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.value import Value

from .resident import Economy, ResidentItem, place

MOST = 12  # memories of one epoch
_PREFIX = "memory "


@dataclass(frozen=True, slots=True)
class EpochMemories(Value):
    """`spans` of the epoch first, as they stood before, then those for this turn only."""

    spans: tuple[Span, ...]
    residents: Residents
    placement: Placement


def memory_id(span: Span) -> str:
    return span.source.removeprefix(_PREFIX)


def tell(
    kept: Residents,
    spans: Sequence[Span],
    wanted: Sequence[str],
    *,
    item: Callable[[Span], ResidentItem],
    economy: Economy,
) -> EpochMemories:
    """`spans` are all that may be told now; `wanted` are the ids of those that this turn needs."""
    there = {memory_id(span): span for span in spans}
    ordered = _ordered(kept, there)
    residents, placement = place(
        "memories",
        kept,
        wanted,
        items={name: item(there[name]) for name in ordered},
        most=MOST,
        economy=economy,
    )
    lasting = [_as(there[name], Stability.SESSION) for name in residents.names]
    fleeting = [_as(there[name], Stability.TURN) for name in placement.revealed]
    return EpochMemories((*lasting, *fleeting), residents, placement)


def _ordered(kept: Residents, there: Mapping[str, Span]) -> tuple[str, ...]:
    """Those of the epoch in their order, so that one that joins it stands behind them."""
    before = [name for name in kept.names if name in there]
    return tuple(dict.fromkeys((*before, *there)))


def _as(span: Span, stability: Stability) -> Span:
    return replace(span, stability=stability)
