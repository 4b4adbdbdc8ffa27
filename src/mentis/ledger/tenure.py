"""Holding a lease: taken at the start, renewed on the way, given back at the end."""

from __future__ import annotations

from datetime import timedelta

from mentis.disk.processes import begin_owner, end_owner, is_there
from mentis.errors import LeaseHeld, MentisError
from mentis.ports.clock import Clock
from mentis.ports.leases import Leases
from mentis.values.lease import CONSUME, Lease

SECONDS = 30.0


class Tenure:
    def __init__(
        self,
        store: Leases,
        clock: Clock,
        *,
        agent: str,
        owner: str,
        seconds: float = SECONDS,
        purpose: str = CONSUME,
        taken: str = "",
    ) -> None:
        self._store = store
        self._clock = clock
        self._agent = agent
        self._owner = owner
        self._purpose = purpose
        self._taken = taken or f"the drafts of `{agent}` are consumed by"
        self._seconds = seconds
        self.lease: Lease | None = None

    def begin(self) -> Lease:
        """Take the lease, or LeaseHeld that says who has it."""
        begin_owner(self._owner)
        now = self._clock.now()
        lease = self._store.take_lease(
            self._agent, self._purpose, self._owner, now=now, seconds=self._seconds
        )
        if lease.owner != self._owner:
            raise self._held_by(lease)
        self.lease = lease
        return lease

    def keep(self) -> Lease:
        """The lease, renewed when half of it is over. LeaseHeld once somebody else has it."""
        now = self._clock.now()
        if self.lease is None:
            return self.begin()
        if now >= self.lease.end - timedelta(seconds=self._seconds / 2):
            self.lease = self._store.renew_lease(self.lease, now=now, seconds=self._seconds)
        return self.lease

    def end(self) -> None:
        """Let it go. A store that cannot be told is told by the next one of this process who asks;
        others wait until this process ends.
        """
        lease, self.lease = self.lease, None
        if lease is None:
            return
        try:
            self._store.release_lease(lease)
        except MentisError:
            end_owner(self._owner)
            raise

    def _held_by(self, lease: Lease) -> LeaseHeld:
        wait = "" if is_there(lease.owner) else f", or wait: its lease runs until {lease.expires}"
        return LeaseHeld(
            f"{self._taken} {lease.owner}",
            hint=f"stop it first{wait}",
            agent=self._agent,
            purpose=self._purpose,
            holder=lease.owner,
            expires=lease.expires,
        )
