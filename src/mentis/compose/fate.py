"""What became of one block, and the choice between blocks of one group."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mentis.values.block import Block
from mentis.values.stability import Stability
from mentis.values.trace import BlockTrace
from mentis.values.value import Value

from .fill import Filled
from .placeholders import Filling


@dataclass(frozen=True, slots=True, eq=False)
class Fate(Value):
    """`filled` is None for a block that stays out. It depends on `keys`, which had `inputs`."""

    block: Block
    region: Stability
    trace: BlockTrace
    filled: Filled | None
    keys: tuple[str, ...]
    inputs: tuple[Filling | None, ...]


def choose_in_groups(fates: tuple[Fate, ...]) -> tuple[Fate, ...]:
    """One block of a group is told: the one with the highest priority, then the first in order."""
    chosen: dict[str, Fate] = {}
    for fate in fates:
        group = fate.block.group
        if group is None or fate.filled is None:
            continue
        if group not in chosen or fate.block.priority > chosen[group].block.priority:
            chosen[group] = fate
    return tuple(_unless_outdone(fate, chosen) for fate in fates) if chosen else fates


def _unless_outdone(fate: Fate, chosen: dict[str, Fate]) -> Fate:
    group = fate.block.group
    if group is None or fate.filled is None or chosen[group] is fate:
        return fate
    reason = f"group {group} is told by {chosen[group].block.id}"
    return replace(fate, filled=None, trace=replace(fate.trace, included=False, reason=reason))
