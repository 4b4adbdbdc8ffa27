"""A recording that a program opens inside itself: it ends with the program, and never fails it."""

from __future__ import annotations

import atexit
import logging
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from threading import Lock

from mentis.errors import MentisError
from mentis.home.closing import Closeable
from mentis.home.parts import Parts
from mentis.home.system import SystemClock
from mentis.net.targets import origin_of

from .call_copy import BodyCopy, CallCopy, CallEnd, Headers
from .recording import Recording, open_recording
from .targets import CallTarget, target_of

_LOG = logging.getLogger("mentis.recording")


class OwnedRecording(Closeable):
    """Takes the calls of this process. Whatever is wrong with the record is told (`tell`), and the
    call goes on. What waits is written when it is closed, at the latest when the program ends.
    """

    def __init__(self, recording: Recording, tell: Callable[[str], None]) -> None:
        self._recording = recording
        self._tell = tell
        self._process = os.getpid()
        self._clock = SystemClock()
        self._lock = Lock()
        self._closed = False
        self._forked = False
        atexit.register(self.close)

    @property
    def agent(self) -> str:
        return self._recording.agent

    @property
    def targets(self) -> Mapping[str, CallTarget]:
        return self._recording.targets

    @property
    def body_bytes(self) -> int:
        return self._recording.settings.body_bytes

    def begin(self, url: str, method: str, path: str, headers: Headers) -> CallCopy | None:
        """None where it cannot be recorded: that was told."""
        try:
            bodies = BodyCopy(self.body_bytes), BodyCopy(self.body_bytes)
            now, began = self._clock.now(), self._clock.monotonic()
            return CallCopy(self.target(url), method, path, headers, now, began, *bodies)
        except Exception as error:  # noqa: BLE001  # the call goes on, whatever it is
            self.fail(error)
            return None

    def touch(self) -> float:
        return self._clock.monotonic()

    def end(self, call: CallCopy, end: CallEnd, reason: str = "") -> None:
        call.end, call.reason = end, reason
        call.ended = self._clock.monotonic()
        self.offer(call)

    def offer(self, call: CallCopy) -> None:
        try:
            if os.getpid() == self._process:
                self._recording.offer(call)
            elif not self._forked:
                self._forked = True
                self._tell("calls after a fork are not recorded: open the recording in the child")
        except Exception as error:  # noqa: BLE001  # the call has been answered, whatever it is
            self.fail(error)

    def now(self) -> datetime:
        return self._clock.now()

    @contextmanager
    def guarded(self) -> Generator[None]:
        """Around what reads a call: an error in there is told, and is nobody else's."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  # the program goes on, whatever it is
            self.fail(error)

    def fail(self, error: Exception) -> None:
        self._tell(f"a call was not recorded: {type(error).__name__}: {error}")

    def flush(self, seconds: float | None = None) -> bool:
        """Wait until what was offered is written; False where it takes longer."""
        return self._recording.queue.flush(seconds)

    def close(self) -> None:
        with self._lock:
            first, self._closed = not self._closed, True
        if first and os.getpid() == self._process:
            atexit.unregister(self.close)
            self._recording.close()

    def target(self, url: str) -> CallTarget:
        try:
            return target_of(url, self.targets)
        except MentisError:  # not an address we would call ourselves, but the program does
            return CallTarget("other", origin_of(url))


def own_recording(
    home: str | Path,
    name: str,
    *,
    tell: Callable[[str], None] | None = None,
    parts: Parts | None = None,
) -> OwnedRecording:
    """Open the record of `recorded/NAME`. Without `tell`, what is missing is a warning of the
    logger `mentis.recording`.
    """
    chosen = tell or _LOG.warning
    return OwnedRecording(open_recording(home, name, tell=chosen, parts=parts), chosen)
