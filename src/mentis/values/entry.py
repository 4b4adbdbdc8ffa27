"""Entries of the ledger: a draft before it is stamped, an entry after, and what verify found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .checkpoint import WitnessedSize
from .json import JsonObject
from .value import Value

# Body fields that only the ledger writes: what the clocks said, the identity of the delivery.
LEDGER_FIELDS = frozenset({"clock", "delivery"})

Attack = Literal[
    "edited",  # a column is not what was stamped
    "deleted",  # entries are missing before this one
    "inserted",  # an entry stands where it was not written
    "reordered",  # entries have changed places
    "truncated",  # the end is missing: a checkpoint kept here saw more
    "rolled-back",  # an older copy stands here: a checkpoint kept elsewhere saw more
    "emptied",  # nothing is left of what a checkpoint saw
    "rewritten",  # consistent in itself, but not what a checkpoint saw
    "identity",  # another log, or another agent, than the one that is pinned
    "forged",  # a signature that is not ours
    "replayed",  # one delivery stands here twice
    "erased",  # a field is gone and no valid tombstone says so
    "unreadable",  # the store cannot read further
    "unwitnessed",  # fewer witnesses have seen it than were asked for
]


@dataclass(frozen=True, slots=True)
class Uptime(Value):
    """A clock nobody sets: which boot of which machine, and how long it has been running.

    `counts_sleep`: also the time that the machine slept, so that it can be held against the wall.
    """

    boot: str
    milliseconds: int
    counts_sleep: bool = False


@dataclass(frozen=True, slots=True)
class Draft(Value):
    """What somebody wants recorded. `delivery` makes one delivery seen twice one entry."""

    kind: str
    source: str
    body: JsonObject
    ruleset: str | None = None
    delivery: str | None = None


# What the hash of an entry covers besides the recipe: its first fields.
Header: TypeAlias = tuple[str, int, str, str, str, str | None, str | None, Mapping[str, str]]


# An entry as it is written: its fields in their order; `fields`, `body` and `salts` are JSON.
Cells: TypeAlias = tuple[
    str, int, str, str, str, str | None, str | None, str, str, str, str, str, str | None
]
_NAMES = (
    "agent", "index", "time", "source", "kind", "ruleset", "prev",
    "fields", "hash", "body", "salts", "recipe", "delivery",
)  # fmt: skip
_JSON = frozenset({"fields", "body", "salts"})


class _Unread:
    """`written` holds the cells that a field is read from when somebody first looks at it.

    It is None of an entry that was made with its fields, and no part of the value.
    """

    __slots__ = ("written",)

    if TYPE_CHECKING:
        written: Cells | None
    else:  # a checker would take it for a yes to any name

        def __getattr__(self, name: str) -> object:
            """Only asked for what is not set."""
            if name == "written":
                return None
            if name not in _NAMES or self.written is None:
                raise AttributeError(f"an entry has no `{name}`", name=name, obj=self)
            cell = self.written[_NAMES.index(name)]
            if name in _JSON:
                import orjson  # not before it is needed: values load no third party

                cell = orjson.loads(cell)
            object.__setattr__(self, name, cell)
            return cell


@dataclass(frozen=True, slots=True)
class Entry(_Unread, Value):
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


class _Open(_Unread):
    """An entry while it is made: to fill a frozen one takes five times as long."""

    __slots__ = tuple(sorted(_NAMES))


def make_entry(
    header: Header,
    digest: str,
    body: JsonObject,
    salts: Mapping[str, str],
    *,
    recipe: str,
    delivery: str | None,
) -> Entry:
    """What `Entry(...)` makes, faster."""
    made: Any = _Open()
    (
        made.agent, made.index, made.time, made.source,
        made.kind, made.ruleset, made.prev, made.fields,
    ) = header  # fmt: skip
    made.hash = digest
    made.body = body
    made.salts = salts
    made.recipe = recipe
    made.delivery = delivery
    made.written = None
    made.__class__ = Entry  # they have the same slots
    return made


def written_entry(cells: Cells) -> Entry:
    """The same of one that is written already: what the next one needs, the rest on demand."""
    made: Any = _Open()
    made.written = cells
    made.index, made.time, made.hash = cells[1], cells[2], cells[8]
    made.__class__ = Entry
    return made


@dataclass(frozen=True, slots=True)
class Head(Value):
    """The last entry of a chain, as far as the next one needs it."""

    index: int
    hash: str
    time: str


# What an entry follows: in a batch it is the one that was just made.
Before: TypeAlias = Head | Entry


@dataclass(frozen=True, slots=True)
class Finding(Value):
    """One thing verify found wrong: which entry, which column, what, and what was likely done."""

    index: int
    column: str
    message: str
    attack: Attack = "edited"


@dataclass(frozen=True, slots=True)
class ErasedFields(Value):
    """Fields of an entry that were removed on purpose, and the entry that says so."""

    index: int
    fields: tuple[str, ...]
    reason: str
    tombstone: int


@dataclass(frozen=True, slots=True)
class Rollback(Value):
    """One that was accepted: the entry that says so, and size and root of what it gives up."""

    entry: int
    lost: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class SeenSegment(Value):
    """A sealed segment as it was when it was verified: its file, and the digest of its head."""

    name: str
    bytes: int
    head: str


@dataclass(frozen=True, slots=True)
class VerifiedPrefix(Value):
    """How far a chain was verified, so that the next time can begin there."""

    agent: str
    size: int
    head: str | None
    time: str
    peaks: tuple[str, ...]  # of the Merkle tree, largest first
    origin_hash: str | None = None  # the last imported entry's own hash
    keys: tuple[JsonObject, ...] = ()  # changes of the signing key, with their index
    rollbacks: tuple[Rollback, ...] = ()  # that were accepted
    segments: tuple[SeenSegment, ...] = ()  # that were read


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
    root: str | None = None
    vouched: int = 0  # entries that a valid checkpoint kept elsewhere has seen
    erased: tuple[ErasedFields, ...] = ()
    notes: tuple[str, ...] = ()
    trusted: VerifiedPrefix | None = None  # only of a chain without findings
    pinned: bool = True  # which log it is and whose key counts was known, not only what is there
    witnessed: WitnessedSize | None = None  # where witnesses are pinned, and enough have seen it

    @property
    def intact(self) -> bool:
        """Whether nothing was found against it."""
        return not self.findings
