"""The watcher's log: one JSON object per line, as the origin kept it."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from mentis.net.redact import redact_bytes
from mentis.system.files import APPEND, open_file
from mentis.system.users import user_id
from mentis.values.entry import Entry

MAX_BYTES = 4 * 1024 * 1024


def added_line(entry: Entry) -> str:
    """What an acknowledgement looks for."""
    return f"Added to history: {entry.hash[:16]}... (total: {entry.index + 1})"


class OperationsLog:
    """Lines are appended whole. A log that cannot be written stops nothing: `fault` says why."""

    def __init__(
        self, path: Path, time: Callable[[], str], *, secrets: Collection[str] = ()
    ) -> None:
        self._secrets = secrets  # which are struck out
        self._path = path
        self._time = time
        self.fault: str | None = None

    def write(self, event: str, **facts: object) -> None:
        told = {name: fact for name, fact in facts.items() if fact is not None}
        line = json.dumps({"timestamp": self._time(), "event": event, **told}, ensure_ascii=False)
        data = redact_bytes(line.encode(errors="backslashreplace"), self._secrets)
        try:
            self._rotate()
            descriptor = open_file(self._path, APPEND)
            try:
                refused = _refusal(os.fstat(descriptor))
                if not refused:
                    os.write(descriptor, data + b"\n")
            finally:
                os.close(descriptor)
        except OSError as error:
            refused = error.strerror or "it is not to be had"
        self.fault = f"{self._path.name} cannot be written: {refused}" if refused else None

    def _rotate(self) -> None:
        with suppress(FileNotFoundError):
            if self._path.lstat().st_size > MAX_BYTES:
                self._path.replace(self._path.with_name(f"{self._path.name}.1"))


def _refusal(found: os.stat_result) -> str:
    """Why this is not the log; empty when it is. Another name of it may be somebody's own file."""
    if not stat.S_ISREG(found.st_mode):
        return "it is not a file"
    if found.st_nlink > 1:
        return f"it has {found.st_nlink} names (hard links)"
    if found.st_uid != user_id():
        return f"it belongs to user {found.st_uid}"
    return ""
