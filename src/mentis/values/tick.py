"""Values of a tick: what it takes, what it makes, and what it says of itself.

The names are ours; the wire names of the output contract (`node_id`, `summary` ...) are known to
`settle` alone. Operations carry their lineage, which no model writes: the runtime sets it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .cognition import CognitionState, Sense
from .json import JsonObject
from .trust import Trust
from .value import Value

HIBERNATE = "hibernate"  # the kind of a sense that stops the loop; a tick refuses it
PATCH_DESCRIPTORS = "descriptors.patch"  # the kinds of senses that change the catalogue
DROP_DESCRIPTORS = "descriptors.drop"
DRAFT_DROPPED = "draft.dropped"  # the kind of a sense that tells of a draft that came to nothing

SignalKind: TypeAlias = Literal["sense", "act"]
Stage: TypeAlias = Literal[
    "sense_helper",
    "act_descriptor_helper",
    "goal_tree_helper",
    "primary",
    "acts_helper",
    "goal_tree_patch_helper",
    "l1_memory_patch_helper",
]
Section: TypeAlias = Literal["acts", "goal-tree-patch", "l1-memory-patch"]
SignalKey: TypeAlias = tuple[SignalKind, str, str]


@dataclass(frozen=True, slots=True)
class Descriptor(Value):
    """Something the agent can sense or do: where, what it is called, what its payload is like."""

    kind: SignalKind
    endpoint: str
    name: str
    schema: JsonObject
    description: str = ""
    trust: Trust = Trust.REFERENCE  # who vouches for its words

    @property
    def key(self) -> SignalKey:
        return self.kind, self.endpoint, self.name

    @property
    def id(self) -> str:
        return f"{self.kind}/{self.endpoint}/{self.name}"


@dataclass(frozen=True, slots=True)
class Catalogue(Value):
    """Every descriptor once, sorted by kind, endpoint and name (acts before senses)."""

    version: str = ""
    entries: tuple[Descriptor, ...] = ()

    @property
    def acts(self) -> tuple[Descriptor, ...]:
        return tuple([entry for entry in self.entries if entry.kind == "act"])

    @property
    def senses(self) -> tuple[Descriptor, ...]:
        return tuple([entry for entry in self.entries if entry.kind == "sense"])

    def find(self, kind: SignalKind, endpoint: str, name: str) -> Descriptor | None:
        wanted = (kind, endpoint, name)
        return next((entry for entry in self.entries if entry.key == wanted), None)


@dataclass(frozen=True, slots=True)
class ActDraft(Value):
    """An act as the model wants it. It has no id; who does it gives it one."""

    endpoint: str
    name: str
    payload: JsonObject


@dataclass(frozen=True, slots=True)
class Sprout(Value):
    """A new goal, the last one under `parent`."""

    parent: str
    id: str
    text: str
    weight: int = 0
    lineage: Trust = Trust.SELF
    review: bool = False
    op: Literal["sprout"] = "sprout"


@dataclass(frozen=True, slots=True)
class Prune(Value):
    """A goal goes, and all below it."""

    id: str
    lineage: Trust = Trust.SELF
    review: bool = False
    op: Literal["prune"] = "prune"


@dataclass(frozen=True, slots=True)
class Tilt(Value):
    """A goal weighs more or less."""

    id: str
    weight: int
    lineage: Trust = Trust.SELF
    review: bool = False
    op: Literal["tilt"] = "tilt"


@dataclass(frozen=True, slots=True)
class Append(Value):
    """One more entry, at the end."""

    text: str
    lineage: Trust = Trust.SELF
    review: bool = False
    op: Literal["append"] = "append"


@dataclass(frozen=True, slots=True)
class Insert(Value):
    """One more entry before the named one. `index` counts in the list as it is by then; without
    one, `hash` (the beginning of the digest of its text) names the entry.
    """

    text: str
    index: int | None = None
    hash: str = ""
    lineage: Trust = Trust.SELF
    review: bool = False
    op: Literal["insert"] = "insert"


@dataclass(frozen=True, slots=True)
class Remove(Value):
    """An entry goes; named as in `Insert`."""

    index: int | None = None
    hash: str = ""
    lineage: Trust = Trust.SELF
    review: bool = False
    op: Literal["remove"] = "remove"


GoalPatchOp: TypeAlias = Sprout | Prune | Tilt
MemoryPatchOp: TypeAlias = Append | Insert | Remove
PatchOp: TypeAlias = GoalPatchOp | MemoryPatchOp
OpCode: TypeAlias = Literal[
    "",
    "clamped",  # applied, with a weight inside the limits
    "bad-id",
    "duplicate-id",
    "no-parent",
    "no-goal",
    "fixed-root",
    "same-weight",
    "out-of-range",
    "no-entry",
    "ambiguous",
    "disagree",  # index and hash name two entries
    "blank",
    "too-long",
    "too-deep",
    "full",
    "review",  # outside text was told: what the owner put there stays until it is not
    "made-room",  # applied; the memory was full, and the oldest own entry went
]


@dataclass(frozen=True, slots=True)
class PatchLimits(Value):
    """How much a mind may hold; an operation that would go over it is ignored, and says so.

    `goal_depth` counts from the fixed root. `guards_owner`: nothing that the owner put there goes
    or weighs less.
    """

    goals: int = 200
    goal_chars: int = 500
    entries: int = 100
    entry_chars: int = 2000
    goal_depth: int = 16
    guards_owner: bool = False


@dataclass(frozen=True, slots=True)
class DisplacedEntry(Value):
    """An entry that went because a full memory made room; `name` is the beginning of its hash."""

    name: str
    text: str
    lineage: Trust


@dataclass(frozen=True, slots=True)
class OpReport(Value):
    """What became of one operation. `reason` says why it was ignored, or what was adjusted; `code`
    says the same for machines. `displaced` is what went for it.
    """

    op: PatchOp
    applied: bool
    reason: str = ""
    code: OpCode = ""
    displaced: DisplacedEntry | None = None


@dataclass(frozen=True, slots=True)
class Violation(Value):
    """Where a reply breaks the output contract.

    `code`: `no-root` and `ambiguous` (nothing could be taken from it), `unclosed-root`,
    `more-roots`, `text-outside`, `text-between`, `missing-section`, `unknown-section`,
    `repeated-section`, `unclosed-section`; of tool calls `text-outside` and `repeated-call`.
    """

    code: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class OutputIr(Value):
    """The bodies of the three sections as they were written. None: the section was not there."""

    acts: str | None = None
    goal_tree_patch: str | None = None
    l1_memory_patch: str | None = None
    violations: tuple[Violation, ...] = ()

    def body(self, section: Section) -> str | None:
        match section:
            case "acts":
                return self.acts
            case "goal-tree-patch":
                return self.goal_tree_patch
            case "l1-memory-patch":
                return self.l1_memory_patch


@dataclass(frozen=True, slots=True)
class DroppedElement(Value):
    """An element of a section that came to nothing.

    `code`: `shape` (not what the contract has there), `unknown-act` (not in the catalogue),
    `payload` (against its schema), `blocked` (the gate would not take it), `repeated` (an earlier
    call of the same answer says it word for word), `review` (as of an operation; it tells no raw).
    """

    section: Section
    index: int
    code: Literal["shape", "unknown-act", "payload", "blocked", "repeated", "review"]
    reason: str
    raw: str = ""  # the element, shortened


@dataclass(frozen=True, slots=True)
class StageReport(Value):
    """How one stage of a tick went.

    `rendered`: without a model. `read`: the section was already what it should be. `cached`: the
    model said this before. `fallback`: the model failed, and the deterministic form stands there.
    `status` is what a server answered that refused, `about` what it refused, where it says so:
    `content`.
    """

    stage: Stage
    state: Literal[
        "rendered", "read", "model", "cached", "fallback", "failed", "timeout", "skipped"
    ]
    reason: str = ""
    route: str = ""
    status: int | None = None
    about: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut(Value):
    """Lines of an input section that the primary was not told: its route has no room for them, or
    they are in review and wait for their owner (`memory.review`).
    """

    section: Literal["l1_memory", "goal_tree", "senses"]
    lines: int
    why: Literal["room", "review"] = "room"


@dataclass(frozen=True, slots=True)
class PassedRoute(Value):
    """A route that gave a stage no answer, or has no room for its question: the next was asked.
    `status` is what a server answered that refused, `about` what it refused, where it says so.
    """

    stage: Stage
    route: str
    code: str
    reason: str
    status: int | None = None
    about: str = ""


@dataclass(frozen=True, slots=True)
class TickReport(Value):
    """Everything a person may ask of a tick afterwards. `noop`: why nothing came of it."""

    stages: tuple[StageReport, ...] = ()
    violations: tuple[Violation, ...] = ()
    dropped: tuple[DroppedElement, ...] = ()
    goal_ops: tuple[OpReport, ...] = ()
    memory_ops: tuple[OpReport, ...] = ()
    noop: str = ""
    catalogue: str = ""  # its version
    telemetry: JsonObject = field(default_factory=dict[str, object])
    left_out: tuple[LeftOut, ...] = ()
    passed: tuple[PassedRoute, ...] = ()


@dataclass(frozen=True, slots=True)
class RewordedSection(Value):
    """What a primary was shown in the words of a helper that is a model. `trust` is that of the
    least trusted text the helper was given.
    """

    stage: Stage
    text: str
    trust: Trust


@dataclass(frozen=True, slots=True)
class Tick(Value):
    """What came of a tick: drafts to act on, the state after it, senses for the next one.

    `reworded` is for whoever judges the acts: it was shown as well.
    """

    acts: tuple[ActDraft, ...]
    state: CognitionState
    report: TickReport
    senses: tuple[Sense, ...] = ()
    reworded: tuple[RewordedSection, ...] = ()
