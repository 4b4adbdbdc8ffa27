"""Whether anything can be recorded just now, by which way, and if not, why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .guardian import RuleFinding
from .value import Value

RouteName: TypeAlias = Literal["A watcher", "B command", "C save tool", "D monitor"]


@dataclass(frozen=True, slots=True)
class RouteHealth(Value):
    """One way into the ledger. `reason` says why it is up or down."""

    route: RouteName
    up: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Health(Value):
    """RED: nothing can be recorded, or a breach waits for its recovery. YELLOW: drafts wait and
    nobody consumes them, or ever will, whether the last window was kept is unsure, or a check of
    the home fails.
    """

    status: Literal["GREEN", "YELLOW", "RED"]
    reason: str
    routes: tuple[RouteHealth, ...]
    waiting: int = 0
    quarantined: int = 0
    findings: tuple[RuleFinding, ...] = ()  # of the rules about how drafts are kept

    @property
    def persists(self) -> bool:
        return any(route.up for route in self.routes)
