"""Where blocks stand: regions from lasting to fleeting; inside a region the order holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from mentis.errors import ComposeError
from mentis.values.block import Block
from mentis.values.stability import Stability, least_stable
from mentis.values.trust import Trust


class PlacedBlock(Protocol):
    """What can be laid in order: a block and the region it falls into."""

    @property
    def block(self) -> Block: ...

    @property
    def region(self) -> Stability: ...


_Placed = TypeVar("_Placed", bound=PlacedBlock)


def region_of(block: Block, parts: Iterable[Stability]) -> Stability:
    """A block is as fleeting as its most fleeting part, whatever the part's value is just now."""
    return least_stable((block.stability or Stability.STABLE, *parts))


def check_declared(block: Block, parts: Mapping[str, Stability]) -> None:
    """A block declared stable would break the cached prefix if a part changed every turn."""
    if block.stability is not Stability.STABLE:
        return
    for key in (key for key, level in parts.items() if level is Stability.TURN):
        raise ComposeError(
            f"block {block.id!r} is declared stable, but {{{{{key}}}}} in it changes every turn",
            hint=f'declare "stability": "turn" for {block.id!r}, or take {{{{{key}}}}} out of it',
            block=block.id,
            placeholder=key,
            file=block.file,
        )


def in_layers(placed: Sequence[_Placed]) -> list[_Placed]:
    """By region, then what is appended after the rest, then by order; ties stay as they are."""
    return sorted(placed, key=_rank)


def find_displaced(placed: Sequence[_Placed]) -> list[_Placed]:
    """Those that stand behind a block they would otherwise precede, because they change sooner."""
    found: list[_Placed] = []
    most_lasting = len(Stability)
    for one in sorted(placed, key=_wanted, reverse=True):
        if one.region.rank > most_lasting:
            found.append(one)
        most_lasting = min(most_lasting, one.region.rank)
    return found


def _wanted(placed: PlacedBlock) -> tuple[bool, bool, float]:
    """The constitution before everything, what is appended after everything."""
    block = placed.block
    lesser = block.trust is not Trust.CONSTITUTION
    return (lesser, block.position == "system_prompt_append", block.order)


def _rank(placed: PlacedBlock) -> tuple[int, bool, bool, float]:
    return (placed.region.rank, *_wanted(placed))
