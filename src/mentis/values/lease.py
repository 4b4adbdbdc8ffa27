"""Who may do what only one process at a time does for an agent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from .value import Value

LONGEST = timedelta(days=1)  # far longer than settings allow: a clock may have gone back
CONSUME = "consume"  # drafts that come as files


@dataclass(frozen=True, slots=True)
class Lease(Value):
    """One for each agent and purpose. `fence` rises each time it passes to somebody, so a late
    writer can be told apart.
    """

    agent: str
    purpose: str
    owner: str
    fence: int
    expires: str  # ISO 8601, with its zone; for those who cannot see whether the owner lives

    @property
    def end(self) -> datetime:
        return datetime.fromisoformat(self.expires)

    def runs_at(self, now: datetime) -> bool:
        """Not one that ends later than any lease can: nobody took that."""
        return now < self.end <= now + LONGEST
