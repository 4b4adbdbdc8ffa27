"""Being the only one at something for an agent, over all processes that share its store.

A lease is a row of that store, so it holds wherever the store is reached from. On one machine it is
free as soon as its process is gone; for another machine it is renewed while it is held.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager
from itertools import count
from threading import Lock
from typing import TypeVar

from anyio import CancelScope, to_thread

from mentis.disk.processes import owner_name, process_of
from mentis.errors import LeaseHeld, MentisError
from mentis.home.checkpoints import Alarm, CheckpointedLedger, log_note
from mentis.home.system import set_alarm
from mentis.ledger.tenure import SECONDS, Tenure
from mentis.ports.clock import Clock
from mentis.ports.leases import Leases
from mentis.ports.ledger_store import LedgerStore
from mentis.stores.memory import LedgerInMemory
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.lease import Lease

T = TypeVar("T")
_NUMBERS = count(1)  # of the owners of this process


def is_shared(ledger: LedgerStore) -> bool:
    """Whether other machines may reach the store, so that a lock file says nothing of them."""
    store = ledger.inner if isinstance(ledger, CheckpointedLedger) else ledger
    return not isinstance(store, SqliteLedger | LedgerInMemory)


@contextmanager
def leased(
    store: Leases, clock: Clock, agent: str, purpose: str, *, alarm: Alarm = set_alarm
) -> Generator[Lease]:
    """Have the lease for the length of the block; LeaseHeld while somebody else has. It blocks.

    What is written meanwhile is written with it (`AgentRecord.under`), so that it is not, once
    somebody else has it.
    """
    since = clock.now().isoformat(timespec="seconds")
    owner = owner_name(purpose, f"{since}#{next(_NUMBERS)}")
    taken = f"the lease of `{agent}` to {purpose} is held by"
    tenure = Tenure(store, clock, agent=agent, owner=owner, purpose=purpose, taken=taken)
    lease = tenure.begin()
    renewal = _Renewal(tenure, alarm)
    try:
        yield lease
    finally:
        renewal.stop()
        try:
            tenure.end()
        except MentisError as error:  # what was done under it is done
            log_note(f"the lease of `{agent}` to {purpose} is not given back: {error.message}")


@asynccontextmanager
async def entered(held: AbstractContextManager[T]) -> AsyncGenerator[T]:
    """Enter and leave it in a worker thread: both write to the store."""
    stack = ExitStack()
    value = await to_thread.run_sync(stack.enter_context, held)  # seen to its end if cancelled
    try:
        yield value
    finally:
        with CancelScope(shield=True):
            await to_thread.run_sync(stack.close)


def holder_of(refusal: LeaseHeld) -> str:
    """Who has the lease: the process, and since when if the owner says so."""
    owner = str(refusal.facts["holder"])
    _, _, since, *_ = (*owner.split(" "), "", "", "")
    moment = since.partition("#")[0]
    return f"{process_of(owner)} since {moment}" if "#" in since else process_of(owner)


class _Renewal:
    """Renews a lease in time, in a thread of its own, until it is stopped."""

    def __init__(self, tenure: Tenure, alarm: Alarm) -> None:
        self._tenure = tenure
        self._alarm = alarm
        self._lock = Lock()
        self._stopped = False
        self._disarm = alarm(SECONDS / 2, self._ring)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            self._disarm()

    def _ring(self) -> None:
        with self._lock:
            if self._stopped:
                return
            try:
                self._tenure.keep()
            except LeaseHeld as lost:
                log_note(lost.message)
                return
            except MentisError as error:
                log_note(f"a lease could not be renewed, and will be: {error.message}")
            self._disarm = self._alarm(SECONDS / 2, self._ring)
