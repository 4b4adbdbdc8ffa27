"""The state a mind keeps between ticks. A change makes a new state with the next revision."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from .digest import Digest, digest
from .json import JsonObject
from .memory_kind import MemoryKind
from .trust import Trust, least_trusted
from .value import Value

REVIEW = " (review)"  # ends the words of a revision made from untrusted text


@dataclass(frozen=True, slots=True)
class Goal(Value):
    """What the agent wants. `lineage` is the least trusted of all it was made from; `review`: a
    person has not looked at it yet, and should.
    """

    id: str
    text: str
    weight: int = 0  # -1000 to 1000
    children: tuple[Goal, ...] = ()
    lineage: Trust = Trust.SELF
    review: bool = False


@dataclass(frozen=True, slots=True)
class RootPartition(Value):
    """The drives: given by the settings, never changed by the agent. `digest` is of `texts`."""

    texts: tuple[str, ...] = ()
    digest: Digest = ""


USER_ROOT = "user-root"
_EMPTY = Goal(USER_ROOT, "user goals")


@dataclass(frozen=True, slots=True)
class GoalTree(Value):
    """The drives, and under one fixed node what the agent made its own."""

    root: RootPartition = RootPartition()
    user: Goal = _EMPTY


@dataclass(frozen=True, slots=True)
class L1Entry(Value):
    """One thing the agent holds in mind; marked as goals are."""

    text: str
    lineage: Trust = Trust.SELF
    review: bool = False

    @property
    def hash(self) -> str:
        """Names it by what it says, wherever it stands: the digest without its algorithm."""
        return digest(self.text.encode("utf-8", "surrogatepass"))[7:]


@dataclass(frozen=True, slots=True)
class CognitionState(Value):
    goals: GoalTree = GoalTree()
    l1_memory: tuple[L1Entry, ...] = ()
    revision: int = 0


def root_partition(texts: Iterable[str]) -> RootPartition:
    kept = tuple(texts)
    form = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
    return RootPartition(kept, digest(form.encode()))


@dataclass(frozen=True, slots=True)
class Sense(Value):
    """Something that reached the agent from outside its own thinking."""

    id: str
    kind: str
    payload: JsonObject
    trust: Trust = Trust.UNTRUSTED
    endpoint: str = ""  # where it came from; "" is the runtime itself


@dataclass(frozen=True, slots=True)
class Screening(Value):
    """What the screener says of a text.

    `score` is the distance to the point where text is dropped, which lies at 0. `span` is where in
    the text the worst of it stands; `layers` are those that ran, `skipped` says of one that had
    something to look at and could not why.
    """

    outcome: Literal["clean", "suspicious", "dropped"]
    reason: str = ""
    category: str = ""
    span: tuple[int, int] | None = None
    score: float | None = None
    language: str = ""
    layers: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Memory(Value):
    """A searchable note: a fact, a decision, an episode.

    Times are UTC in the form of the ledger; `time` is when it was made, `valid_*` when what it says
    holds. `screening` is None until somebody looked; `released` is when a person let it out of
    quarantine. `lineage` is the least trust of all it was made from.
    """

    id: str
    text: str
    kind: MemoryKind = "observation"
    trust: Trust = Trust.UNTRUSTED
    source: str = ""
    time: str = ""
    tags: tuple[str, ...] = ()
    scope: str = ""
    confidence: float = 1.0
    lineage: Trust = Trust.UNTRUSTED
    updated: str = ""
    valid_from: str = ""
    valid_until: str = ""
    superseded_by: str = ""
    screening: Screening | None = None
    released: str = ""
    session: str = ""

    @property
    def quarantined(self) -> bool:
        dropped = self.screening is not None and self.screening.outcome == "dropped"
        return dropped and not self.released

    @property
    def worth(self) -> Trust:
        """What it counts as: no more than who wrote it, and no more than what it was made from."""
        return least_trusted((self.trust, self.lineage))


@dataclass(frozen=True, slots=True)
class Revision(Value):
    """One saved state of something editable: prompts, persona files, cognition state.

    `author` is who saved it, by the door they came through: a token's name, `command line`. Empty
    where nobody said, as of what was changed outside.
    """

    key: str
    number: int
    content: str
    digest: str
    time: str
    words: str = ""
    author: str = ""


def utc_text(moment: datetime) -> str:
    """The time of a revision: UTC, in the form of the ledger."""
    utc = moment.astimezone(UTC).replace(tzinfo=None)
    return f"{utc.isoformat(timespec='microseconds')}Z"


def trust_of(history: Iterable[Revision]) -> Trust:
    """Of the newest state. What was made from untrusted text may still stand in all that follows,
    until it is taken back (`undo`), everything goes (`reset`), or a person vouches for it
    (`accept`)."""
    untrusted, known = False, dict[str, bool]()
    for revision in history:
        if revision.words.endswith(REVIEW):
            untrusted = True
        elif revision.words == "reset":
            untrusted = False
        elif revision.words.startswith("undo "):
            untrusted = known.get(revision.content, True)
        elif revision.words.startswith("accept "):
            untrusted = known[revision.content] = False
        known.setdefault(revision.content, untrusted)
    return Trust.UNTRUSTED if untrusted else Trust.SELF
