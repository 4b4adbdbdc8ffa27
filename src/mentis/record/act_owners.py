"""Which processes that began acts are still there, wherever the record is reached from.

Where the record lies in the home, a lock file says it. A server is reached from many machines, and
there each process that does acts holds a lease: `acts 1`, `acts 2` and so on, the first that is
free. Its name in the entries of the acts is the number and the fence, `lease-2.7`. Whoever finds
that it has run out takes it over before anything else, so that a process which was only frozen
begins nothing more under that name.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, ExitStack
from itertools import count
from typing import Protocol

from mentis.disk.processes import in_force
from mentis.errors import LeaseHeld
from mentis.ports.clock import Clock
from mentis.ports.ledger_store import LedgerStore
from mentis.stores.files.home import Home
from mentis.stores.files.owners import Owners
from mentis.values.lease import Lease

from .leases import is_shared, leased

_NAME = re.compile(r"lease-([1-9][0-9]{0,8})\.([1-9][0-9]{0,15})")


class ActOwner(Protocol):
    """This process as the owner of the acts it begins. With a `lease` it begins them under it."""

    @property
    def name(self) -> str: ...

    @property
    def lease(self) -> Lease | None: ...

    def is_lost(self) -> bool:
        """Whether somebody else took it for gone: what it begins next needs another owner."""
        ...

    def close(self) -> None: ...


class ActOwners(Protocol):
    """Its methods block."""

    def enter(self, new_id: str) -> ActOwner: ...

    def alive(self, name: str) -> bool:
        """Whether the process that began something under this name may still be at it."""
        ...


def open_owners(
    home: Home, ledger: LedgerStore, clock: Clock, agent: str, *, judging: bool = True
) -> ActOwners:
    """Those of an agent. `judging` is for whoever acts on what it is told, and may write."""
    files = Owners(home.owners)
    if not is_shared(ledger):
        return files
    return LeasedOwners(ledger, clock, agent, older=files, judging=judging)


class LeasedOwners:
    def __init__(
        self,
        ledger: LedgerStore,
        clock: Clock,
        agent: str,
        *,
        older: ActOwners | None = None,
        judging: bool = True,
    ) -> None:
        """`older` knows the names that no lease has."""
        self._ledger = ledger
        self._clock = clock
        self._agent = agent
        self._older = older
        self._judging = judging

    def enter(self, new_id: str) -> LeasedOwner:  # noqa: ARG002 - a lease names itself
        for number in count(1):
            held = self._ledger.lease(self._agent, _purpose(number))
            if held is not None and in_force(held, self._clock.now()):
                continue
            stack = ExitStack()
            try:
                lease = stack.enter_context(self._leased(number))
            except LeaseHeld:  # somebody was faster
                continue
            return LeasedOwner(self._ledger, f"lease-{number}.{lease.fence}", lease, stack)
        raise AssertionError

    def alive(self, name: str) -> bool:
        found = _NAME.fullmatch(name)
        if found is None:
            return self._older is None or self._older.alive(name)
        number, fence = map(int, found.groups())
        held = self._ledger.lease(self._agent, _purpose(number))
        if held is None or held.fence != fence:
            return False
        if in_force(held, self._clock.now()):
            return True
        return self._judging and not self._fenced_off(number)

    def _fenced_off(self, number: int) -> bool:
        """From now on the one who had it writes nothing with it."""
        try:
            with self._leased(number):
                return True
        except LeaseHeld:  # it woke up, or somebody else came first: looked at again later
            return False

    def _leased(self, number: int) -> AbstractContextManager[Lease]:
        return leased(self._ledger, self._clock, self._agent, _purpose(number))


class LeasedOwner:
    def __init__(self, ledger: LedgerStore, name: str, lease: Lease, stack: ExitStack) -> None:
        self._ledger = ledger
        self.name = name
        self.lease = lease
        self._stack = stack

    def is_lost(self) -> bool:
        held = self._ledger.lease(self.lease.agent, self.lease.purpose)
        return held is None or (held.fence, held.owner) != (self.lease.fence, self.lease.owner)

    def close(self) -> None:
        self._stack.close()


def _purpose(number: int) -> str:
    return f"acts {number}"
