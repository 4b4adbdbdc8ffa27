"""Runs functions that block, each in a thread of its own that can be left behind.

Threads cannot be stopped. One whose caller no longer waits goes on by itself, takes no place from
others, and does not keep the process from ending. How many of one function may be left behind is
limited, so that a function that never returns does not fill the process with threads.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar, copy_context
from threading import Lock, Thread
from typing import TYPE_CHECKING, Generic, TypeVar, cast

import anyio
from anyio.lowlevel import EventLoopToken, RunVar, current_token

from mentis.errors import ActFailed

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

T = TypeVar("T")
AT_ONCE = 64
MOST_LEFT = 8
_PLACES: RunVar[anyio.CapacityLimiter] = RunVar("mentis_act_threads")


class AbandonedWork:
    """How much work was left behind and is still being done."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.count = 0

    def add(self, job: _Job[T]) -> None:
        with self._lock:
            self.count += 1
        job.when_over(self._over)

    def _over(self) -> None:
        with self._lock:
            self.count -= 1


# Where work is done that has to be over before more of it begins, an endpoint, it is counted too.
HERE: ContextVar[AbandonedWork | None] = ContextVar("mentis_act_left", default=None)


class Threads:
    """The threads of one function."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._left = AbandonedWork()

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` returns. Cancelled, it returns at once; the work may go on, unheard."""
        if self._left.count >= MOST_LEFT:
            raise ActFailed(
                f"{self._left.count} calls of {self._name} were cut off and are still running",
                hint="correct the function: it does not return",
            )
        async with _places():
            job = _Job(work, current_token())
            Thread(target=copy_context().run, args=(job.run,), name=self._name, daemon=True).start()
            try:
                await job.done.wait()
            except BaseException:
                self._leave(job)
                raise
        return job.result()

    def _leave(self, job: _Job[T]) -> None:
        self._left.add(job)
        here = HERE.get()
        if here is not None:
            here.add(job)


class _Job(Generic[T]):
    def __init__(self, work: Callable[[], T], token: EventLoopToken) -> None:
        self._work = work
        self._loop = cast("AbstractEventLoop", token.native_token)
        self._lock = Lock()
        self._over = False
        self._after: list[Callable[[], None]] = []
        self._result: T | None = None
        self._error: BaseException | None = None
        self.done = anyio.Event()

    def run(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:  # noqa: BLE001  # it is raised again where it is waited for
            self._error = error
        with self._lock:
            self._over = True
        for then in self._after:
            then()
        # Not with `from_thread.run_sync`, which has this thread wait until it was heard.
        with suppress(RuntimeError):  # nobody is there any more
            self._loop.call_soon_threadsafe(self.done.set)

    def when_over(self, then: Callable[[], None]) -> None:
        with self._lock:
            if not self._over:
                self._after.append(then)
                return
        then()

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return cast("T", self._result)


def _places() -> anyio.CapacityLimiter:
    """One limit for each event loop: its threads are waited for there."""
    limiter = _PLACES.get(None)
    if limiter is None:
        limiter = anyio.CapacityLimiter(AT_ONCE)
        _PLACES.set(limiter)
    return limiter
