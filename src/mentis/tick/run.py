"""One tick on its way: what it was given, and what is noted while it runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from anyio import CancelScope

from mentis.act.gate import GateRules
from mentis.errors import MentisError
from mentis.values.cognition import CognitionState, Sense
from mentis.values.tick import (
    Catalogue,
    Descriptor,
    DroppedElement,
    LeftOut,
    PatchLimits,
    RewordedSection,
    Stage,
    StageReport,
    Violation,
)
from mentis.values.value import Value

from .deadline import Deadline, Shares
from .events import Emit, EventName, TickEvent
from .stages import Stages, Way

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TickLimits(Value):
    """`seconds` is for the whole tick. `strict`: any breach of the output contract is a no-op.

    `rules` say which patches a person should look at; what acts they let through is asked of the
    gate when the acts are done. `expand` is offered where a sense is told as a brief only.
    `holds_back`: goals and what is held in mind are not told while they are in review.
    """

    seconds: float = 60.0
    shares: Shares = field(default_factory=Shares)
    strict: bool = False
    rules: GateRules = field(default_factory=GateRules)
    patches: PatchLimits = field(default_factory=PatchLimits)
    expand: Descriptor | None = None
    holds_back: bool = False


def refused_by(error: MentisError) -> tuple[int | None, str]:
    """What a server answered that refused, and what it says that is about."""
    status, about = (error.facts.get(name) for name in ("status", "about"))
    return status if isinstance(status, int) else None, about if isinstance(about, str) else ""


@dataclass(slots=True)
class TickRun:
    senses: tuple[Sense, ...]
    catalogue: Catalogue
    state: CognitionState
    stages: Stages
    limits: TickLimits
    emit: Emit
    deadline: Deadline
    reports: dict[Stage, StageReport] = field(default_factory=dict[Stage, StageReport])
    violations: tuple[Violation, ...] = ()
    dropped: list[DroppedElement] = field(default_factory=list[DroppedElement])
    reworded: list[RewordedSection] = field(default_factory=list[RewordedSection])
    noop: str = ""
    left_out: tuple[LeftOut, ...] = ()
    unseen: int = 0  # senses, the newest, that no answer which counts was told
    expanded: tuple[Sense, ...] = ()

    def finish(self, stage: Stage, way: Way, route: str = "") -> None:
        self.reports[stage] = StageReport(stage, way, route=route)
        if way == "cached":
            self.tell("cache_hit", stage=stage)

    def skip(self, stage: Stage, why: str) -> None:
        self.reports[stage] = StageReport(stage, "skipped", why)

    def tell(self, event: EventName, text: str | None = None, **facts: object) -> None:
        self.emit(TickEvent(event, text, facts))

    async def guard(
        self, stage: Stage, until: float, work: Callable[[], Awaitable[T]]
    ) -> T | StageReport:
        """What the stage came to, or how it failed. A stage may be anybody's code: whatever it
        raises is noted, and the tick goes on.
        """
        with CancelScope(deadline=until) as scope:
            try:
                return await work()
            except MentisError as error:
                status, about = refused_by(error)
                reason = f"{error.code}: {error.message}"
                return StageReport(stage, "failed", reason, status=status, about=about)
            except Exception as error:  # noqa: BLE001  # noted; one stage must not end the tick
                return StageReport(stage, "failed", f"{type(error).__name__}: {error}")
        late = scope.cancelled_caught
        return StageReport(stage, "timeout" if late else "failed", "its share of the tick is over")

    def fail(self, report: StageReport) -> None:
        self.reports[report.stage] = report
        told = f"{report.stage}_timeout" if report.state == "timeout" else report.stage
        self.tell("stage_failed", stage=told, reason=report.reason)
