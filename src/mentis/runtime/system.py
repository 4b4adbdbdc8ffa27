"""The real clock and the real source of ids and salts: where time and chance enter."""

from __future__ import annotations

import secrets
import time
import uuid
from datetime import UTC, datetime


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC).astimezone()  # the zone of this machine

    def monotonic(self) -> float:
        return time.monotonic()


class RandomIds:
    def new_id(self) -> str:
        return uuid.uuid4().hex

    def salt(self) -> bytes:
        return secrets.token_bytes(16)
