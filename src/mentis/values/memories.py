"""Questions to the memories and their answers, with every score and every reason."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .cognition import Memory
from .digest import Digest, digest
from .memory_kind import MemoryKind
from .trace import Degradation
from .trust import Trust
from .value import Value

Way: TypeAlias = Literal["hybrid", "semantic", "lexical"]
MemoryState: TypeAlias = Literal["current", "superseded", "quarantine"]
Flaw: TypeAlias = Literal["duplicate", "junk", "secret", "quote", "circle"]


@dataclass(frozen=True, slots=True)
class MemoryStanding(Value):
    """How often an agent's memories changed, and how many of them were forgotten.

    Equal standings mean equal memories and vectors; while `forgotten` is the same, only what came
    after a revision is new.
    """

    revision: int = 0
    forgotten: int = 0


@dataclass(frozen=True, slots=True)
class Vector(Value):
    """The vector of one memory: float32, little-endian. `text` is the digest of what it is of."""

    memory: str
    text: Digest
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class MemoryDraft(Value):
    """What somebody wants remembered. Without a trust it is untrusted, and screened as such.

    `lineage` is the least trust of what the text was made from; None means its own trust.
    """

    text: str
    kind: MemoryKind = "observation"
    trust: Trust = Trust.UNTRUSTED
    source: str = ""
    tags: tuple[str, ...] = ()
    scope: str = ""
    confidence: float = 1.0
    lineage: Trust | None = None
    valid_from: str = ""
    valid_until: str = ""
    session: str = ""


@dataclass(frozen=True, slots=True)
class MemoryFilter(Value):
    """What may be found. An empty field sets no limit; `tags` must all be there.

    `trust` is the least that is enough. `since` and `until` bound the time a memory was made.
    """

    kinds: tuple[MemoryKind, ...] = ()
    scopes: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    session: str = ""
    trust: Trust = Trust.UNTRUSTED
    since: str = ""
    until: str = ""
    private: bool = False
    superseded: bool = False
    expired: bool = False


EVERYTHING_PUBLIC = MemoryFilter()


@dataclass(frozen=True, slots=True)
class MemoryListing(Value):
    """A list of memories that a store can page: which, and in what order. An empty field sets no
    limit.

    `states`: what is neither superseded nor kept back is `current`. `words` are normal text, and
    all of them must stand in what `listed_text` says of a memory. `after` is an id: what comes
    behind it. `newest` is by the time a memory was made, `names` by its tags; else by id.
    """

    kinds: tuple[MemoryKind, ...] = ()
    states: tuple[MemoryState, ...] = ("current",)
    worths: tuple[Trust, ...] = ()
    words: tuple[str, ...] = ()
    after: str = ""
    order: Literal["id", "newest", "names"] = "id"


@dataclass(frozen=True, slots=True)
class MemoryPart(Value):
    """A part of a list of memories, and whether there is `more` behind it. `count` is how many the
    whole list has; None where words were looked for, and no further than this part goes.
    """

    memories: tuple[Memory, ...]
    count: int | None
    more: bool


@dataclass(frozen=True, slots=True)
class ScoredMemory(Value):
    """One candidate: its place and score on each path, what became of them, and why in or out.

    A rank of 0 means that this path did not bring it up. `score` decides.
    """

    memory: Memory
    score: float
    chosen: bool
    reason: str
    semantic: float = 0.0
    semantic_rank: int = 0
    lexical: float = 0.0
    lexical_rank: int = 0
    fused: float = 0.0
    decay: float = 1.0


@dataclass(frozen=True, slots=True)
class VectorSearch(Value):
    """How vectors were searched, and how many were looked at.

    `recall` is the share of the ten nearest that is found: 1 where all were looked at, else what
    was measured on a sample when the index was made. `note` says why it was so and not otherwise.
    """

    how: Literal["none", "exact", "index", "server"] = "none"
    looked_at: int = 0
    recall: float = 1.0
    note: str = ""


NO_VECTORS = VectorSearch()


@dataclass(frozen=True, slots=True)
class FoundMemories(Value):
    """`hits` in their order; `near` just missed. `filtered` counts what screening kept out.

    A near miss that nobody may be told (private, in quarantine, read like an order, superseded) has
    no text: only its id, its kind and why.
    """

    query: str
    way: Way
    hits: tuple[ScoredMemory, ...] = ()
    near: tuple[ScoredMemory, ...] = ()
    filtered: int = 0
    searched: int = 0
    embedding_calls: int = 0
    vectors: VectorSearch = NO_VECTORS
    degraded: tuple[Degradation, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredMemory(Value):
    """The memory as it is kept now. `known` says that it was there before."""

    memory: Memory
    known: bool = False
    notes: tuple[str, ...] = ()
    degraded: tuple[Degradation, ...] = ()


@dataclass(frozen=True, slots=True)
class HygieneFinding(Value):
    """Something to tidy up: which memories, what is wrong, what to do."""

    flaw: Flaw
    memories: tuple[str, ...]
    reason: str
    advice: str


@dataclass(frozen=True, slots=True)
class ImportedMemories(Value):
    """How many lines there were, and what became of them; `waiting` have no vector yet."""

    lines: int
    added: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    quarantined: tuple[str, ...] = ()
    waiting: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VectorRebuild(Value):
    """`made` vectors are new; `complete` says that no memory is without one now. `quarantined` are
    memories from outside that screening dropped once it had their vectors.
    """

    fingerprint: str
    made: int
    total: int
    complete: bool
    dropped: int = 0
    quarantined: tuple[str, ...] = ()


def normal_text(text: str) -> str:
    """What two texts have in common that differ only in case, width and white space."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def memory_state(memory: Memory) -> MemoryState:
    """What is kept back is so whether or not something took its place."""
    if memory.quarantined:
        return "quarantine"
    return "superseded" if memory.superseded_by else "current"


def listed_text(memory: Memory) -> str:
    """All by which a memory can be found in a list, as normal text."""
    told = (memory.text, memory.source, memory.kind, memory.session, *memory.tags)
    return normal_text(" ".join(told))


def text_digest(text: str) -> Digest:
    # Half a character is refused where a memory comes in; here it must only not be in the way.
    return digest(text.encode(errors="surrogatepass"))


def content_key(memory: Memory) -> Digest:
    """Two memories with the same key say the same thing in the same place, in the same sense."""
    parts = (memory.kind, memory.scope, normal_text(memory.text))
    return text_digest("\0".join(parts))
