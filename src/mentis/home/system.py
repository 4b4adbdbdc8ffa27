"""The real clock and the real source of ids and salts: where time and chance enter."""

from __future__ import annotations

import secrets
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
        return Uptime(_boot(), time.monotonic_ns() // 1_000_000)


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
