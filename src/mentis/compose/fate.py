"""The fate of one block, and the choice between blocks of one group."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from mentis.values.block import Block, Message
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.trace import BlockTrace
from mentis.values.value import Value

from .fill import FilledText
from .placeholders import Filling
from .wording import Wording

EMPTY = "empty once filled"
SEPARATOR = Span("\n\n", source="layout")


@dataclass(frozen=True, slots=True, eq=False)
class Fate(Value):
    """`texts` is empty for a block that stays out; a block of messages has one for each.

    It depends on `keys`, which had `inputs`; `wordings` are what the texts were made of.
    """

    block: Block
    region: Stability
    trace: BlockTrace
    texts: tuple[FilledText, ...]
    keys: tuple[str, ...]
    inputs: tuple[Filling | None, ...]
    wordings: tuple[Wording, ...] = ()
    messages: tuple[Message, ...] = ()


def join_blocks(told: Iterable[Fate]) -> tuple[Span, ...]:
    """With one blank line between blocks."""
    spans: list[Span] = []
    for fate in told:
        if spans:
            spans.append(SEPARATOR)
        spans.extend(fate.texts[0].spans)
    return tuple(spans)


def choose_in_groups(fates: tuple[Fate, ...]) -> tuple[Fate, ...]:
    """One block of a group is told: the one with the highest priority, then the first in order."""
    chosen: dict[str, Fate] = {}
    for fate in fates:
        group = fate.block.group
        if group is None or not fate.trace.included:
            continue
        if group not in chosen or fate.block.priority > chosen[group].block.priority:
            chosen[group] = fate
    return tuple(_unless_outdone(fate, chosen) for fate in fates) if chosen else fates


def _unless_outdone(fate: Fate, chosen: dict[str, Fate]) -> Fate:
    group = fate.block.group
    if group is None or not fate.trace.included or chosen[group] is fate:
        return fate
    reason = f"group {group} is told by {chosen[group].block.id}"
    return replace(fate, texts=(), trace=replace(fate.trace, included=False, reason=reason))
