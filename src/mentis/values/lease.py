"""Who may consume an agent's drafts just now."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from .value import Value

LONGEST = timedelta(days=1)  # far longer than settings allow: a clock may have gone back


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
        """Not one that ends later than any lease can: nobody took that."""
        return now < self.end <= now + LONGEST
