"""The real clock and the real source of ids and salts: where time and chance enter."""

from __future__ import annotations

import secrets
import sys
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from threading import Timer

from mentis.values.entry import Uptime


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC).astimezone()  # the zone of this machine

    def monotonic(self) -> float:
        return time.monotonic()

    def uptime(self) -> Uptime:
        return Uptime(_boot(), _since_boot() // 1_000_000, counts_sleep=True)


def _since_boot() -> int:
    """Nanoseconds that nobody can set, those that the machine slept among them."""
    if sys.platform == "linux":  # where the monotonic clock stands still meanwhile
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    if sys.platform == "darwin":
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    return time.monotonic_ns()


@cache
def _boot() -> str:
    """The kernel's name for this boot; where there is none, a name for this process."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return f"process-{uuid.uuid4()}"


class RandomIds:
    def new_id(self) -> str:
        return uuid.uuid4().hex

    def salt(self) -> bytes:
        return secrets.token_bytes(16)


class RandomChance:
    def between(self, low: float, high: float) -> float:
        return low + (high - low) * secrets.randbelow(1_000_001) / 1_000_000


def set_alarm(seconds: float, ring: Callable[[], None]) -> Callable[[], None]:
    """Have `ring` called once, after so many seconds, in a thread that holds up no exit."""
    timer = Timer(seconds, ring)
    timer.daemon = True
    timer.start()
    return timer.cancel
