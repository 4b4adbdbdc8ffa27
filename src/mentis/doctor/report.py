"""The report of the doctor: what was paid for, what broke, what to change. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mentis.values.reply import Usage

from .breaks import LogBreak
from .calls import BreakCause, Evidence


@dataclass(frozen=True, slots=True)
class LogSum:
    """Tokens and dollars of some calls. `unpriced` of them have no known price and add nothing to
    the dollars; `told` of those count by what the log says they cost.
    """

    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    long_writes: int = 0
    fresh: float = 0.0
    read: float = 0.0
    written: float = 0.0
    output: float = 0.0
    other: float = 0.0
    unpriced: int = 0
    lost: int = 0
    lost_usd: float = 0.0
    waste: int = 0
    waste_usd: float = 0.0

    @property
    def usd(self) -> float:
        return self.fresh + self.read + self.written + self.output + self.other

    @property
    def priced(self) -> bool:
        return self.unpriced < self.calls

    @property
    def waste_share(self) -> float:
        """Of the money, or of the tokens in where no price is known."""
        if self.usd:
            return self.waste_usd / self.usd
        return self.waste / self.usage.input if self.usage.input else 0.0


@dataclass(frozen=True, slots=True)
class LogGroup:
    """A sum under a name: a model, a day, a program, a project."""

    name: str
    sum: LogSum


@dataclass(frozen=True, slots=True)
class SizePoint:
    """One call of a session: how long its prompt was, and how much of it was found."""

    input: int
    read: int


@dataclass(frozen=True, slots=True)
class LogSession:
    """`peak` is its longest prompt. `points` are its calls, thinned out where they are many."""

    name: str
    program: str
    project: str
    label: str
    file: str
    first: float
    last: float
    usd: float
    calls: int
    tokens: int
    peak: int
    lost: int
    points: tuple[SizePoint, ...] = ()


@dataclass(frozen=True, slots=True)
class CarriedSource:
    """What was read again because it stood in the prompt: tokens times calls."""

    name: str
    tokens: int
    usd: float


@dataclass(frozen=True, slots=True)
class BreakGroup:
    """All breaks of one cause; `evidence` counts them by what they are known by."""

    cause: BreakCause
    count: int
    tokens: int
    usd: float
    evidence: Mapping[Evidence, int]
    dearest: tuple[LogBreak, ...] = ()


@dataclass(frozen=True, slots=True)
class SettingPatch:
    """One key of a settings file of a program. `key` is a path into it."""

    program: str
    file: str
    key: tuple[str, ...]
    value: str | int
    source: str  # the page that documents it


@dataclass(frozen=True, slots=True)
class LogFinding:
    """`usd` is what it cost, `saving` what the change would have saved in this log, both estimates;
    None where nobody can say. `basis` says how the saving was counted.
    """

    id: str
    title: str
    evidence: Evidence
    usd: float
    saving: float | None
    tokens: int
    change: str
    basis: str = ""
    patch: SettingPatch | None = None
    examples: tuple[LogBreak, ...] = ()


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """What the same calls would have cost. `usd` None: no price is known for it."""

    name: str
    usd: float | None
    before: float
    told: str


@dataclass(frozen=True, slots=True)
class FileNote:
    """A file that was not read, or not wholly."""

    file: str
    why: str


@dataclass(frozen=True, slots=True)
class FixEffect:
    """Before and after a change was made."""

    time: float
    what: str
    before: LogSum
    after: LogSum


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """`findings` are ranked by what they save, then by what they cost."""

    total: LogSum
    programs: tuple[LogGroup, ...] = ()
    models: tuple[LogGroup, ...] = ()
    days: tuple[LogGroup, ...] = ()
    projects: tuple[LogGroup, ...] = ()
    sessions: tuple[LogSession, ...] = ()
    session_count: int = 0
    carried: tuple[CarriedSource, ...] = ()
    breaks: tuple[BreakGroup, ...] = ()
    findings: tuple[LogFinding, ...] = ()
    scenarios: tuple[ScenarioResult, ...] = ()
    effect: FixEffect | None = None
    files: int = 0
    size: int = 0
    repeated: int = 0
    notes: tuple[FileNote, ...] = ()
    prices: tuple[str, ...] = field(default=())
