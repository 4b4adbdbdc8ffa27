"""Values of the guardian: state, receipt, profile, findings, judgement."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .json import JsonObject
from .value import Value
from .window import UNKNOWN_CYCLE, UNKNOWN_STEP, Status

Level: TypeAlias = Literal["block", "warn", "off"]
Persist: TypeAlias = Literal["commit", "spool", "quarantine"]

CYCLE_LENGTH = 5
AUDIT_EVERY = 6
_ADDED = re.compile(r"Added to history: [0-9a-f]{8,64}\S*.*\(total: (\d+)\)")


@dataclass(frozen=True, slots=True)
class Routes(Value):
    """The ways a window can be kept: A watcher, B command line, C save tool, D monitor."""

    watcher: bool = True
    cli: bool = True
    tool: bool = False
    monitor: bool = False

    @property
    def up(self) -> tuple[str, ...]:
        """Those that count: the monitor does so only while the watcher is off."""
        states = (
            ("watcher", self.watcher),
            ("cli", self.cli),
            ("tool", self.tool),
            ("monitor", self.monitor and not self.watcher),
        )
        return tuple(name for name, up in states if up)


@dataclass(frozen=True, slots=True)
class Receipt(Value):
    """Whether a window was kept, by three proofs: the log line, the count, verification."""

    log_line: str = ""
    before: int = 0
    after: int = 0
    verified: bool | None = None

    @property
    def logged(self) -> bool:
        """A: the line says `Added to history`, with a total that this window explains."""
        found = _ADDED.search(self.log_line)
        return found is not None and self.before < int(found[1]) <= self.after

    @property
    def counted(self) -> bool:
        """B: exactly one more."""
        return self.after == self.before + 1

    @property
    def acknowledged(self) -> bool:
        """A and (B or C)."""
        return self.logged and (self.counted or self.verified is True)

    @property
    def status(self) -> Status:
        """Unsure is not lost: YELLOW, until somebody has looked."""
        return "GREEN" if self.acknowledged else "YELLOW"


@dataclass(frozen=True, slots=True)
class GuardianState(Value):
    """What the ledger knows when the next window comes.

    `step` and `cycle` are those the next window has; `known` is false when they cannot be had.
    `later` says that something (a beat, a schedule) can keep a promise made for later.
    """

    step: int = 1
    cycle: int = 1
    known: bool = True
    since_audit: int = 0
    routes: Routes = Routes()
    after_breach: bool = False
    head: str | None = None
    head_time: str | None = None
    previous: JsonObject | None = None
    receipt: Receipt | None = None
    later: bool = False

    @property
    def step_id(self) -> str:
        return f"step-{self.step}" if self.known else UNKNOWN_STEP

    @property
    def cycle_text(self) -> str:
        return f"{self.cycle}/{CYCLE_LENGTH}" if self.known else UNKNOWN_CYCLE

    @property
    def audit_due(self) -> bool:
        """Every sixth window carries an audit."""
        return self.since_audit >= AUDIT_EVERY - 1

    @property
    def offline(self) -> bool:
        return not self.routes.up

    @property
    def unsure(self) -> bool:
        """The last window may not have been kept: its log line is missing."""
        return self.receipt is not None and not self.receipt.logged


@dataclass(frozen=True, slots=True)
class GuardianLimits(Value):
    """The numbers in the rules."""

    verification_floor: float = 0.7
    tangency_cap: float = 0.6
    risk_cap: float = 0.7
    low: float = 0.5
    high: float = 0.9
    degraded_cap: float = 0.2
    planner_items: int = 2
    fresh_seconds: int = 300


@dataclass(frozen=True, slots=True)
class KnownConflict(Value):
    """Rules of a profile that cannot hold together, and are known and accepted to be so."""

    name: str
    rules: tuple[str, ...]
    words: str


@dataclass(frozen=True, slots=True)
class GuardianProfile(Value):
    """Which rules count and how much. `settles` names the conflicts decided in favour of the
    agent: what they decide is reported as a warning and blocks nothing.
    """

    name: str
    levels: Mapping[str, Level] = field(default_factory=dict[str, Level])
    types: tuple[str, ...] = ("planner", "execution", "verification")
    schema_versions: tuple[str, ...] = ("3.0",)
    settles: tuple[str, ...] = ()
    known: tuple[KnownConflict, ...] = ()
    limits: GuardianLimits = GuardianLimits()


@dataclass(frozen=True, slots=True)
class RuleFinding(Value):
    """One thing a rule says: where it is (JSON pointer), what is wrong, what to do.

    `settled` names the conflict because of which it does not block.
    """

    rule: str
    level: Level
    where: str
    what: str
    hint: str
    settled: str = ""


@dataclass(frozen=True, slots=True)
class Summary(Value):
    """A critical summary as the ledger derives it from the window and its own state."""

    status: Status
    alerts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement(Value):
    """What the guardian says of one window. The draft itself is never changed.

    `status` and `confidence` are what counts: the draft's own, or RED and 0.0 when a field the rest
    stands on is missing. `differences` holds the draft against what the ledger derived itself.
    `unjudged` are the rules that only a model can keep, or whose facts were not given. `kept` is
    what rules say of the window once it is in the record, which blocks nothing any more.
    """

    profile: str
    findings: tuple[RuleFinding, ...]
    persist: Persist
    status: Status | None
    confidence: float | None
    derived: Summary | None = None
    differences: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    kept: tuple[RuleFinding, ...] = ()

    @property
    def blocked(self) -> bool:
        return any(finding.level == "block" for finding in self.findings)
