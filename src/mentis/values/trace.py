"""Why a request looks as it does: what went in, what stayed out, and the reason for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .keywords import LoreTrace
from .residency import Placement
from .stability import Stability
from .trust import Trust
from .value import LATE, Value


@dataclass(frozen=True, slots=True)
class TokenCount(Value):
    """`exact` says whether a tokenizer counted or an estimate was made."""

    tokens: int
    exact: bool = False


@dataclass(frozen=True, slots=True)
class BlockTrace(Value):
    """One block's fate. `moved` says that its stability, not its order, decided its place.

    `elsewhere` says that it belongs to another prompt than the one in question.
    """

    block: str
    name: str
    order: float
    included: bool
    reason: str
    trust: Trust
    stability: Stability
    tokens: TokenCount = TokenCount(0)
    variant: str = ""
    moved: bool = False
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class Cut(Value):
    """Something left out for lack of room."""

    what: str
    tokens: int
    reason: str


@dataclass(frozen=True, slots=True)
class UnresolvedPlaceholder(Value):
    """A placeholder that had no value and what stands in its place."""

    block: str
    placeholder: str
    policy: str


@dataclass(frozen=True, slots=True)
class Degradation(Value):
    """A step down the ladder: which part, and what was done instead."""

    part: str
    reason: str


@dataclass(frozen=True, slots=True)
class WordingFallback(Value):
    """A block of which the owner wrote no wording for the variant a route wants: `told` is told,
    for `tokens`, in place of the `shipped` one that would take `shipped_tokens`.
    """

    block: str
    wanted: str
    told: str
    tokens: TokenCount
    shipped: str
    shipped_tokens: TokenCount


@dataclass(frozen=True, slots=True)
class Attempt(Value):
    """One answered call of a turn. `failed` says what was wrong with the answer.

    `then` is the library block that asked again, or why nothing more was asked for.
    """

    route: str
    stop: str
    failed: tuple[str, ...] = ()
    then: str = ""


@dataclass(frozen=True, slots=True)
class Trace(Value):
    """Why a prompt is as it is: every block with its fate, what was cut, what stepped down.

    `filtered` counts memories that were kept out. `placements` say what of tools and memories
    stays in the lasting part of the prompt, and what changing that would cost. `fallbacks` are
    texts of the owner's told where a shipped one was made for the variant. `lore` are blocks that
    what was said brought up, or nearly."""

    library: str
    variant: str
    language: str
    blocks: tuple[BlockTrace, ...] = ()
    cuts: tuple[Cut, ...] = ()
    unresolved: tuple[UnresolvedPlaceholder, ...] = ()
    degraded: tuple[Degradation, ...] = ()
    tokens: Mapping[str, TokenCount] = field(default_factory=dict[str, TokenCount])
    embedding_calls: int = 0
    timings: Mapping[str, float] = field(default_factory=dict[str, float])
    attempts: tuple[Attempt, ...] = ()
    filtered: int = 0
    placements: tuple[Placement, ...] = ()
    fallbacks: tuple[WordingFallback, ...] = field(default=(), metadata=LATE)
    lore: tuple[LoreTrace, ...] = field(default=(), metadata=LATE)
