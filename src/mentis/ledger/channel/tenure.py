"""Holding the one lease: taken at the start, renewed on the way, given back at the end."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from mentis.errors import LeaseHeld
from mentis.ports.clock import Clock
from mentis.ports.leases import Leases
from mentis.values.lease import Lease

SECONDS = 30.0


def owner_name(role: str, instance: str) -> str:
    """Who consumes: `watcher host@processes:pid instance`. Health tells routes by the role."""
    return f"{role} {_machine()}:{os.getpid()} {instance}"


def _machine() -> str:
    """Where a process number means the same: two containers may share a name, but not this."""
    with suppress(OSError):
        return f"{socket.gethostname()}@{Path('/proc/self/ns/pid').stat().st_ino}"
    return socket.gethostname()


class Tenure:
    def __init__(
        self, store: Leases, clock: Clock, *, agent: str, owner: str, seconds: float = SECONDS
    ) -> None:
        self._store = store
        self._clock = clock
        self._agent = agent
        self._owner = owner
        self._seconds = seconds
        self.lease: Lease | None = None

    def begin(self) -> Lease:
        """Take the lease, or LeaseHeld that says who has it."""
        lease = self._ask()
        if lease.owner != self._owner and _is_dead(lease.owner):
            # It was killed and could not give it back; nobody has to wait for that.
            self._store.release_lease(lease)
            lease = self._ask()
        if lease.owner != self._owner:
            raise LeaseHeld(
                f"the drafts of `{self._agent}` are consumed by {lease.owner}",
                hint=f"stop it first, or wait: its lease runs until {lease.expires}",
                agent=self._agent,
                holder=lease.owner,
                expires=lease.expires,
            )
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
        if self.lease is not None:
            self._store.release_lease(self.lease)
            self.lease = None

    def _ask(self) -> Lease:
        now = self._clock.now()
        return self._store.take_lease(self._agent, self._owner, now=now, seconds=self._seconds)


def _is_dead(owner: str) -> bool:
    """Whether the owner was a process of this machine that is gone."""
    with suppress(ValueError):
        _, place, _ = owner.split(" ", 2)
        host, _, pid = place.rpartition(":")
        if host == _machine() and int(pid) != os.getpid():
            try:
                os.kill(int(pid), 0)
            except ProcessLookupError:
                return True
            except OSError:
                return False
    return False
