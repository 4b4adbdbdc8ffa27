"""The queue between calls and their record: what does not fit is a gap, and no call waits for it.

One thread writes, in the pauses between calls: both share one interpreter, and a call comes first.
Where there is no pause it begins all the same, `_PATIENCE` after the first of those that wait came.
A call that cannot be written is counted, told, and, as soon as the disk lets it,
named in an entry: the record says itself how much is missing.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from threading import Condition, Thread
from time import monotonic
from typing import Protocol

from mentis.errors import MentisError

from .call_copy import CallCopy

_PATIENCE = 0.5  # seconds
_PAUSE = 0.1  # seconds without a call
_TOGETHER = 32  # calls in one transaction
_FULL = "more calls than could be written"


class Writer(Protocol):
    """Writes calls and gaps into a record. It blocks, and may fail."""

    def write(self, copy: CallCopy) -> object: ...

    def write_together(self, copies: Sequence[CallCopy]) -> bool:
        """At once; False where they have to be written one by one. What it raises went wrong when
        they were written already.
        """
        ...

    def write_gap(self, calls: int, reasons: Mapping[str, int], since: datetime) -> object: ...


class RecordingQueue:
    """`most_calls` of together `most_bytes` wait at a time. `tell` hears of each kind of failure
    once. Close it to have everything written that waits.
    """

    def __init__(
        self, writer: Writer, *, most_calls: int, most_bytes: int, tell: Callable[[str], None]
    ) -> None:
        self._writer = writer
        self._most_calls = most_calls
        self._most_bytes = most_bytes
        self._tell = tell
        self._waiting: deque[CallCopy] = deque()
        self._bytes = 0
        self._missing: Counter[str] = Counter()
        self._since: datetime | None = None
        self._told: set[str] = set()
        self._closed = False
        self._writing = False
        self._flushes = 0
        self._busy = 0
        self._rested = monotonic()  # since when no call went by, while none does
        self._change = Condition()
        self._thread = Thread(target=self._run, name="mentis-recorder", daemon=True)
        self._thread.start()

    def offer(self, call: CallCopy) -> None:
        """At once: it waits for nothing but another `offer`."""
        with self._change:
            full = len(self._waiting) >= self._most_calls
            if full or self._closed or self._bytes + call.size > self._most_bytes:
                self._miss(call, _FULL)
            else:
                self._waiting.append(call)
                self._bytes += call.size
            self._change.notify_all()

    @contextmanager
    def busy(self) -> Generator[None]:
        """While a call goes by."""
        with self._change:
            self._busy += 1
        try:
            yield
        finally:
            with self._change:
                self._busy -= 1
                self._rested = monotonic()

    def flush(self, seconds: float | None = None) -> bool:
        """Wait until nothing waits to be written; False where that takes longer."""
        with self._change:
            self._flushes += 1
            self._change.notify_all()
            try:
                return self._change.wait_for(self._is_done, seconds)
            finally:
                self._flushes -= 1

    def _is_done(self) -> bool:
        return not self._waiting and not self._writing

    def close(self) -> None:
        """Writes what waits. What could not be written by then is told once more."""
        with self._change:
            self._closed = True
            self._change.notify_all()
        self._thread.join()
        if self._missing:
            self._tell(
                f"{self._missing.total()} calls are missing, and the record could not be told"
            )

    def _run(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._waiting or self._missing or self._closed)
                self._wait_for_pause()
                calls = [*self._waiting]
                self._waiting.clear()
                if not calls and self._closed:
                    break
                self._writing = True
            for begin in range(0, len(calls), _TOGETHER):
                self._write_all(calls[begin : begin + _TOGETHER])
            self._close_gap()
            with self._change:
                self._writing = False
                self._change.notify_all()
            if not calls:
                with self._change:  # a gap that cannot be told waits for the next call
                    self._change.wait_for(lambda: self._waiting or self._closed)
        self._close_gap()

    def _wait_for_pause(self) -> None:
        until = monotonic() + _PATIENCE
        while not self._closed and not self._flushes:
            now = monotonic()
            pause = until if self._busy else min(until, self._rested + _PAUSE)
            if now >= pause or self._bytes > self._most_bytes // 2:
                return
            self._change.wait(pause - now)

    def _write_all(self, calls: Sequence[CallCopy]) -> None:
        """In one go, and where that fails one by one: none is missing because another one is."""
        try:
            together = len(calls) > 1 and self._writer.write_together(calls)
        except Exception as error:  # noqa: BLE001  # the thread must go on; it is told
            together = True
            self._say(f"calls were recorded, and then: {type(error).__name__}: {error}")
        for call in calls if not together else ():
            self._write(call)
        if together:
            with self._change:
                self._bytes -= sum(call.size for call in calls)

    def _write(self, call: CallCopy) -> None:
        try:
            self._writer.write(call)
        except MentisError as error:
            self._miss(call, f"{error.message} [{error.code}]")
        except Exception as error:  # noqa: BLE001  # the thread must go on; it is told and counted
            self._miss(call, f"{type(error).__name__}: {error}")
        finally:
            with self._change:
                self._bytes -= call.size

    def _miss(self, call: CallCopy, reason: str) -> None:
        with self._change:  # which its own thread may take again
            self._missing[reason] += 1
            self._since = self._since or call.time
        self._say(f"a call was not recorded: {reason}")

    def _say(self, text: str) -> None:
        """Once each."""
        if text not in self._told:
            self._told.add(text)
            self._tell(text)

    def _close_gap(self) -> None:
        with self._change:
            missing, since = Counter(self._missing), self._since
        if not missing or since is None:
            return
        try:
            self._writer.write_gap(missing.total(), missing, since)
        except Exception:  # noqa: BLE001  # why was told already; it is tried again with the next call
            return
        with self._change:
            self._missing -= missing
            self._since = self._since if self._missing else None
