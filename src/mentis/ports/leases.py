"""Says who has which purpose of an agent. The double is `mentis.stores.memory.LedgerInMemory`."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from mentis.values.lease import Lease


class Leases(Protocol):
    """A lease outlasts a restart of its store, or is lost with it; nobody waits for a disk."""

    def take_lease(
        self, agent: str, purpose: str, owner: str, *, now: datetime, seconds: float
    ) -> Lease:
        """The lease that holds now: the caller's, or that of the owner who was here before.

        The one who has it and takes it again keeps its fence; a new owner gets a higher one. An
        owner of this machine has it as long as its process lives, and no longer; any other until
        it runs out.
        """
        ...

    def renew_lease(self, lease: Lease, *, now: datetime, seconds: float) -> Lease:
        """Make it last longer. LeaseHeld when somebody else has taken it since."""
        ...

    def release_lease(self, lease: Lease) -> None:
        """Let it go, if it is still held."""
        ...

    def lease(self, agent: str, purpose: str) -> Lease | None:
        """The last lease that was taken and not released, whether or not it still runs."""
        ...
