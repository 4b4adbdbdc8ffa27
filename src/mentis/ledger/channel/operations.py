"""The watcher's log: one JSON object per line, as the origin kept it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from mentis.values.entry import Entry

MAX_BYTES = 4 * 1024 * 1024


def added_line(entry: Entry) -> str:
    """What an acknowledgement looks for."""
    return f"Added to history: {entry.hash[:16]}... (total: {entry.index + 1})"


class OperationsLog:
    """Lines are appended whole. A log that cannot be written stops nothing: `fault` says why."""

    def __init__(self, path: Path, time: Callable[[], str]) -> None:
        self._path = path
        self._time = time
        self.fault: str | None = None

    def write(self, event: str, **facts: object) -> None:
        told = {name: fact for name, fact in facts.items() if fact is not None}
        line = json.dumps({"timestamp": self._time(), "event": event, **told}, ensure_ascii=False)
        try:
            self._rotate()
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self._path, flags, 0o600)
            try:
                os.write(descriptor, line.encode(errors="backslashreplace") + b"\n")
            finally:
                os.close(descriptor)
        except OSError as error:
            self.fault = f"{self._path.name} cannot be written: {error.strerror}"
        else:
            self.fault = None

    def _rotate(self) -> None:
        with suppress(FileNotFoundError):
            if self._path.lstat().st_size > MAX_BYTES:
                self._path.replace(self._path.with_name(f"{self._path.name}.1"))
