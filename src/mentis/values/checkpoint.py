"""Checkpoints, the pin to check them with, proofs and segments."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from .json import JsonObject
from .value import Value


@dataclass(frozen=True, slots=True)
class Checkpoint(Value):
    """The first `size` entries of the log `origin` have this Merkle root (hex)."""

    origin: str
    size: int
    root: str


@dataclass(frozen=True, slots=True)
class KeptNote(Value):
    """A checkpoint as somebody kept it. `outside` is what this machine alone cannot change."""

    note: str
    place: str
    outside: bool


@dataclass(frozen=True, slots=True)
class WitnessKey(Value):
    """A witness by its name and the Ed25519 key that it cosigns checkpoints with."""

    name: str
    public: bytes


@dataclass(frozen=True, slots=True)
class Cosignature(Value):
    """That a witness had seen a checkpoint at this time (seconds since 1970)."""

    name: str
    time: int

    @property
    def moment(self) -> str:
        """The same for people; whoever signs may write any number."""
        try:
            return datetime.fromtimestamp(self.time, UTC).isoformat()
        except (OverflowError, OSError, ValueError):
            return f"second {self.time}"


@dataclass(frozen=True, slots=True)
class WitnessPolicy(Value):
    """Whose cosignatures count, and how many of them a checkpoint needs (`quorum`; 0: none)."""

    witnesses: tuple[WitnessKey, ...] = ()
    quorum: int = 0


@dataclass(frozen=True, slots=True)
class Pin(Value):
    """Which log this is and whose signatures count: from settings, never from the database."""

    origin: str  # of the home; the log of an agent is called `origin/agent`
    public_key: str  # Ed25519, base64
    policy: WitnessPolicy = field(default_factory=WitnessPolicy)  # beside the key, not in settings

    def log(self, agent: str) -> str:
        return f"{self.origin}/{agent}"


@dataclass(frozen=True, slots=True)
class WitnessedSize(Value):
    """How many entries a quorum has seen, and when each of these witnesses had seen them."""

    size: int
    cosignatures: tuple[Cosignature, ...]


@dataclass(frozen=True, slots=True)
class Standing(Value):
    """How far a ledger reaches: size, last hash, and the peaks of its Merkle tree (hex)."""

    size: int = 0
    head: str | None = None
    peaks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KeptCheckpoint(Value):
    """What is kept beside the key: the newest checkpoint, and how far the ledger was then."""

    note: str
    standing: Standing


@dataclass(frozen=True, slots=True)
class KeptAnchors(Value):
    """The anchors that the owner of a log has added, with their whole paths."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeptChange(Value):
    """A signed change of the key, and the hash of the entry that holds it."""

    hash: str
    signed: JsonObject


@dataclass(frozen=True, slots=True)
class KeptChanges(Value):
    """All changes of the key of one chain, oldest first; kept beside the key, too."""

    changes: tuple[KeptChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Proof(Value):
    """That an entry is number `index` of the `size` entries a checkpoint has seen."""

    agent: str
    index: int
    hash: str
    size: int
    root: str
    path: tuple[str, ...]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class GrowthProof(Value):
    """That the ledger of `size` entries begins with the ledger of `old_size` entries."""

    agent: str
    old_size: int
    old_root: str
    size: int
    root: str
    path: tuple[str, ...]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Segment(Value):
    """The head of a sealed file of entries: what comes before it, and the checkpoint at its end."""

    agent: str
    first: int
    last: int
    before: Standing
    note: str
    format: str = "mentis-segment-1"
