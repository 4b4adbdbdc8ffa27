"""Who may consume an agent's drafts just now."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from .value import Value


@dataclass(frozen=True, slots=True)
class Lease(Value):
    """`fence` rises each time the lease passes to somebody, so a late writer can be told apart."""

    agent: str
    owner: str
    fence: int
    expires: str  # ISO 8601, with its zone

    @property
    def end(self) -> datetime:
        return datetime.fromisoformat(self.expires)

    def runs_at(self, now: datetime) -> bool:
        return now < self.end
