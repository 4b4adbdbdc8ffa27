"""A prefix cache: its forecast before a call, and what it came to after it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .rendering import Boundary
from .reply import CacheDiagnosis
from .span import Span
from .trace import TokenCount
from .value import LATE, Value

NONE = TokenCount(0)
# `unforeseen`: more was read than we knew to be there.
CacheVerdict: TypeAlias = Literal["as-expected", "less", "unforeseen"]


@dataclass(frozen=True, slots=True)
class Price(Value):
    """`units` are tokens of plain input; `usd` is what they cost, where that is known."""

    units: float
    usd: float | None = None


@dataclass(frozen=True, slots=True)
class BoundaryCost(Value):
    """`tokens` from the beginning up to this boundary; too few are not kept by the provider."""

    boundary: Boundary
    tokens: TokenCount
    enough: bool
    hit: Price
    missed: Price


@dataclass(frozen=True, slots=True)
class CacheBreak(Value):
    """Where a prompt departs from the one before it, and what has to be read again for that.

    `byte` is the first that differs in the body without cache marks; `span` stands there now.
    `cost` is what reading the lost tokens anew costs more than finding them would have.
    """

    byte: int
    pointer: str
    span: Span | None
    kept: int
    lost: int
    tokens: TokenCount
    cost: Price


@dataclass(frozen=True, slots=True)
class Forecast(Value):
    """A cache plan counted and priced. `rate` says what a token costs, or why that is not known.

    `expected` of the `prompt` should be found in the cache, by what this agent sent before.
    """

    boundaries: tuple[BoundaryCost, ...]
    prompt: TokenCount
    minimum: int
    rate: str
    key: str = ""
    expected: TokenCount = NONE
    broken: CacheBreak | None = None


@dataclass(frozen=True, slots=True)
class CacheReconciliation(Value):
    """What was expected of the cache, beside what the provider reported; all in tokens.

    `prompt` was counted before the call, `input` reported after it. `reasons` say what explains
    the difference, or may explain it. `diagnosis` is what the provider said, where it was asked,
    and `disagreement` where that is not what our own comparison found.
    """

    route: str
    expected: TokenCount
    read: int
    written: int
    prompt: TokenCount
    input: int
    verdict: CacheVerdict
    reasons: tuple[str, ...] = ()
    diagnosis: CacheDiagnosis | None = field(default=None, metadata=LATE)
    disagreement: str = field(default="", metadata=LATE)
