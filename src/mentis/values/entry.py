"""What the ledger keeps: a draft before it is stamped, an entry after, and what verify found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .json import JsonObject
from .value import Value

# Body fields that only the ledger writes: a clock that went back, the identity of the delivery.
LEDGER_FIELDS = ("clock", "delivery")


@dataclass(frozen=True, slots=True)
class Draft(Value):
    """What somebody wants recorded. `delivery` makes one delivery seen twice one entry."""

    kind: str
    source: str
    body: JsonObject
    ruleset: str | None = None
    delivery: str | None = None


@dataclass(frozen=True, slots=True)
class Entry(Value):
    """A stamped draft. `fields` are the commitments; a body field and its salt may be erased."""

    agent: str
    index: int
    time: str
    source: str
    kind: str
    ruleset: str | None
    prev: str | None
    fields: Mapping[str, str]
    hash: str
    body: JsonObject = field(default_factory=dict[str, object])
    salts: Mapping[str, str] = field(default_factory=dict[str, str])
    recipe: str = "mentis-1"
    delivery: str | None = None


@dataclass(frozen=True, slots=True)
class Head(Value):
    """The last entry of a chain, as far as the next one needs it."""

    index: int
    hash: str
    time: str


@dataclass(frozen=True, slots=True)
class Finding(Value):
    """One thing verify found wrong: which entry, which column, what."""

    index: int
    column: str
    message: str


@dataclass(frozen=True, slots=True)
class Verdict(Value):
    """Integrity: what is there has not changed. Completeness: whether anything could be missing.

    `findings` holds the first ones; `more` says how many further ones there are.
    """

    agent: str
    entries: int
    head: str | None
    findings: tuple[Finding, ...]
    completeness: str
    more: int = 0

    @property
    def intact(self) -> bool:
        return not self.findings
