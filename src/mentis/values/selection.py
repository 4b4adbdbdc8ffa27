"""Selection of capabilities: what can be selected, its manifest, and what was and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .trace import Degradation
from .value import Value

Kind: TypeAlias = Literal["tool", "skill", "pattern"]
Step: TypeAlias = Literal["hybrid", "lexical", "base"]


@dataclass(frozen=True, slots=True)
class Capability(Value):
    """A tool or skill as selection sees it. `examples` are tasks it is right for, in any language.

    A pattern is a text that screening compares with; it is kept like them and never selected.
    `stances` are the stances it is for; none means all. `source` says where it was found.
    """

    name: str
    kind: Kind
    description: str
    examples: tuple[str, ...] = ()
    stances: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class ManifestEntry(Value):
    """One capability in a manifest. Its vectors are `rows` rows from `start` on, description first.

    `readings` are its texts as the embedder reads them, for ranking by words. `digest` is that of
    everything the vectors were made from.
    """

    capability: Capability
    digest: str
    start: int
    rows: int
    readings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ManifestHeader(Value):
    """What the vectors are and what made them; `content` is the digest of all that follows."""

    version: int
    generator: str
    model: str
    reading: str
    dimension: int
    normalised: bool
    rows: int
    content: str


@dataclass(frozen=True, slots=True)
class Manifest(Value):
    """Capabilities with their vectors: 32-bit floats, little-endian, row after row."""

    header: ManifestHeader
    entries: tuple[ManifestEntry, ...] = ()
    vectors: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class SelectionLimits(Value):
    """How much may be selected. `embed_seconds` is how long the embedder may take.

    `max_results` is how many are found by ranking, of tools, skills and memories each. The least
    scores are those measured for the embedder, unless somebody says otherwise.
    """

    max_tools: int = 10
    max_skills: int = 3
    max_memories: int = 3
    max_results: int = 5
    near_misses: int = 3
    embed_seconds: float = 5.0
    min_score: float | None = None
    memory_min_score: float | None = None


@dataclass(frozen=True, slots=True)
class Candidate(Value):
    """One capability that was looked at: its scores, its rank in its kind, and why in or out. Of
    memories only those that just missed are candidates, by their ids.
    """

    name: str
    kind: Kind | Literal["memory"]
    rank: int
    score: float
    dense: float | None
    lexical: float
    chosen: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Selection(Value):
    """`candidates` are those chosen and the near misses; `step` is how far down the ladder it went.

    `embedding_calls` counts what was asked, also when a cache answered.
    """

    tools: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    step: Step = "base"
    embedding_calls: int = 0
    degraded: tuple[Degradation, ...] = ()
