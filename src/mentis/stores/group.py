"""Group commit: work that waits at the same moment goes into one transaction, with one sync.

Whoever comes while nobody commits leads: it takes everything that waits, runs each piece as a part
of its own, commits once, and wakes the first of the others, who wakes the next: threads woken all
at once only stand in each other's way. No thread of its own is needed, and what a piece of work
writes is the same whether it is alone or not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from itertools import pairwise
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar

from mentis.errors import MentisError, StoreError

C = TypeVar("C", bound="PartedTransaction")
T = TypeVar("T")
_MOST = 256
_MOMENT = 100e-6  # seconds: as long as a few threads take to come back


class PartedTransaction(Protocol):
    """A transaction made of parts. One that fails is undone; or the transaction does not stand."""

    @property
    def stands(self) -> bool: ...

    def part(self) -> AbstractContextManager[object]: ...


C_co = TypeVar("C_co", bound=PartedTransaction, covariant=True)


class Transactions(Protocol[C_co]):
    def begin(self, keys: Collection[str]) -> AbstractContextManager[C_co]:
        """`keys` name the chains that will be written."""
        ...


class _Job(Generic[C]):
    __slots__ = ("after", "done", "error", "gone", "key", "turn", "value", "woken", "work")

    def __init__(self, work: Callable[[C], Any], key: str) -> None:
        self.work = work
        self.key = key
        self.turn: Lock | None = None  # held until its owner is woken; who leads at once has none
        self.woken = False
        self.after: _Job[C] | None = None  # whom its owner wakes
        self.gone = False  # its owner was interrupted and wakes nobody
        self.done = False
        self.value: Any = None
        self.error: BaseException | None = None

    def wake(self) -> None:
        if self.turn is not None and not self.woken:
            self.woken = True
            self.turn.release()

    def finish(self, error: BaseException | None = None) -> None:
        self.error = self.error or error
        self.done = True


class _Lost(Exception):
    """The failure of one piece of work took the whole transaction with it."""


class GroupCommit(Generic[C]):
    def __init__(self, transactions: Transactions[C]) -> None:
        self._transactions = transactions
        self._lock = Lock()
        self._waiting: list[_Job[C]] = []
        self._busy = False
        self._crowd = 0  # how many may come: those of the last time, and who waits since
        self._gathering: Lock | None = None  # held until as many wait again

    @property
    def waiting(self) -> int:
        """How many wait behind the one that commits just now."""
        return len(self._waiting)

    def run(self, work: Callable[[C], T], key: str = "") -> T:
        """What `work` returns, once it is on disk; or what it raises, with nothing of it kept."""
        job: _Job[C] = _Job(work, key)
        with self._lock:
            self._waiting.append(job)
            if self._busy:
                job.turn = Lock()
                job.turn.acquire()
            self._busy = True
            if self._gathering is not None and len(self._waiting) >= self._crowd:
                self._gathering.release()
                self._gathering = None
        try:
            if job.turn is not None:
                job.turn.acquire()
            self._wake_after(job)
            if not job.done:
                self._let_others_come()
        except BaseException:
            self._leave(job)
            raise
        if not job.done:
            self._lead()
        if job.error is not None:
            raise job.error
        return job.value

    def _leave(self, job: _Job[C]) -> None:
        """Interrupted: its place in the row, or its turn to lead, must not be lost."""
        with self._lock:
            job.gone = True
            if job in self._waiting:
                self._waiting.remove(job)
            if not job.done and (job.turn is None or job.woken):
                self._pass_on()
        if job.woken:
            self._wake_after(job)

    def _lead(self) -> None:
        with self._lock:
            jobs, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
        try:
            self._commit(jobs)
        finally:
            with self._lock:
                self._crowd = min(len(jobs) + len(self._waiting), _MOST)
                self._pass_on()
            self._wake(jobs)

    def _wake(self, jobs: list[_Job[C]]) -> None:
        asleep = [job for job in jobs if job.turn is not None and not job.woken]
        with self._lock:
            for job, after in pairwise(asleep):
                job.after = after
        for job in asleep[:1]:
            self._wake_first(job)

    def _wake_after(self, job: _Job[C]) -> None:
        if job.after is not None:
            self._wake_first(job.after)

    def _wake_first(self, job: _Job[C] | None) -> None:
        """This one, or the next of its row that is still there."""
        with self._lock:
            while job is not None:
                job.wake()
                job = job.after if job.gone else None

    def _let_others_come(self) -> None:
        """Those who were just woken are about to bring more: a moment for them saves a sync."""
        before = 0
        while before < len(self._waiting) < self._crowd:
            before = len(self._waiting)
            with self._lock:
                gathering = self._gathering = Lock()
                gathering.acquire()
            gathering.acquire(timeout=_MOMENT)
        self._gathering = None

    def _pass_on(self) -> None:
        """The first that waits leads next. Callers hold the lock."""
        self._busy = bool(self._waiting)
        if self._waiting:
            self._waiting[0].wake()

    def _commit(self, jobs: list[_Job[C]]) -> None:
        try:
            while left := [job for job in jobs if job.error is None]:
                try:
                    self._try(left)
                except _Lost:
                    continue
                break
        except Exception as error:  # noqa: BLE001 - each caller gets it
            for job in jobs:
                job.finish(_own(error))
        except BaseException:
            unsure = "the process was interrupted while it committed for several"
            for job in jobs:
                job.finish(StoreError(unsure, hint="check whether it is in the ledger"))
            raise
        for job in jobs:
            job.finish()

    def _try(self, jobs: list[_Job[C]]) -> None:
        with self._transactions.begin({job.key for job in jobs}) as session:
            if len(jobs) == 1:
                jobs[0].value = jobs[0].work(session)
                return
            for job in jobs:
                self._run_part(session, job)

    def _run_part(self, session: C, job: _Job[C]) -> None:
        try:
            with session.part():
                job.value = job.work(session)
        except Exception as error:
            job.error = error
            if not session.stands:
                raise _Lost from error


def _own(error: Exception) -> Exception:
    """A copy for each who gets it: an exception collects where it went."""
    if not isinstance(error, MentisError):
        return error
    copy = type(error)(error.message, hint=error.hint, problems=error.problems, **error.facts)
    copy.__cause__ = error.__cause__
    return copy
