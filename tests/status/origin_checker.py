"""The origin's own `verify`, written from its description and sharing no line with ours."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def check_history(data: bytes) -> tuple[int, str]:
    """Exit code and last message."""
    document: dict[str, Any] = json.loads(data)
    entries: list[dict[str, Any]] = document["entries"]
    if not entries:
        return 0, "No entries to verify (history is empty)"
    for place, entry in enumerate(entries):
        if not (entry.get("timestamp") and entry.get("salt") and entry.get("window_hash")):
            return 1, f"Missing fields at entry {place} (timestamp/salt/window_hash)"
        window = dict(entry["status_window"])
        window.pop("window_hash", None)
        text = json.dumps(window, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        stamped = text + "|" + entry["timestamp"] + "|" + entry["salt"]
        if hashlib.sha256(stamped.encode("utf-8")).hexdigest() != entry["window_hash"]:
            return 1, f"Hash mismatch at entry {place}!"
    for place in range(1, len(entries)):
        before = entries[place - 1]["window_hash"]
        if entries[place]["status_window"].get("prev_window_hash") != before:
            return 1, f"Chain break at entry {place}!"
    return 0, f"Chain + Hash integrity verified ({len(entries)} entries)"
