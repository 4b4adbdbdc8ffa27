"""Writes the windows of a ledger as a history of the origin, which its own checker accepts.

Imported windows are written as they were, as far as they still hang together. What was recorded
here has another hash and other neighbours: it is linked and hashed anew by the origin's recipe, and
`metadata.mentis` says which entry it is. The salt is made from that, so that one ledger gives one
history.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import cast

from mentis.values.entry import Entry
from mentis.values.json import JsonObject

from .origin import KIND, RECIPE, hash_window, window_of, window_text

VERSION = "1.0"
ALGORITHM = "sha256(canonical_without_window_hash|timestamp|salt)"


def export_history(entries: Iterable[Entry], *, now: datetime) -> tuple[bytes, int]:
    """The bytes of `status_window_history.json`, and how many entries it has.

    What was imported comes first, in the order it came in.
    """
    carrying = [entry for entry in entries if window_of(entry) is not None]
    imported = [entry for entry in carrying if entry.kind == KIND]
    own = [entry for entry in carrying if entry.kind != KIND]
    written: list[JsonObject] = []
    for entry in (*imported, *own):
        last = str(written[-1]["window_hash"]) if written else None
        written.append({"entry_index": len(written) + 1, **_exported(entry, last)})
    history = {
        "version": VERSION,
        "created_at": now.astimezone(UTC).isoformat(),
        "total_entries": len(written),
        "entries": written,
    }
    return json.dumps(history, ensure_ascii=False, indent=2).encode(), len(written)


def _exported(entry: Entry, last: str | None) -> JsonObject:
    return _as_it_was(entry, last) or _anew(entry, last)


def _as_it_was(entry: Entry, last: str | None) -> JsonObject | None:
    link, original = _object(entry.body.get("link")), _object(entry.body.get("original"))
    if link.get("recipe") != RECIPE or last not in (None, link.get("prev")):
        return None
    return {
        "timestamp": link["timestamp"],
        "salt": original["salt"],
        "source": link.get("source") or "import",
        "window_hash": link["hash"],
        "status_window": dict(window_of(entry) or {}),
        "hash_algo": ALGORITHM,
        "metadata": original.get("metadata") or {},
    }


def _anew(entry: Entry, last: str | None) -> JsonObject:
    link = _object(entry.body.get("link"))
    before = window_of(entry) or {}
    window = {name: value for name, value in before.items() if name != "window_hash"}
    window["prev_window_hash"] = last
    given = link.get("timestamp")
    time = given if isinstance(given, str) else _time(entry.time)
    salt = hashlib.sha256(f"mentis/export|{entry.hash}".encode()).hexdigest()[:32]
    final = hash_window(window_text(window), time, salt)
    of = {"agent": entry.agent, "entry": entry.index, "hash": entry.hash}
    if link:
        of |= {"original": link.get("hash"), "verified": link.get("recipe") == RECIPE}
    return {
        "timestamp": time,
        "salt": salt,
        "source": str(link.get("source") or entry.source),
        "window_hash": final,
        "status_window": {**window, "window_hash": final},
        "hash_algo": ALGORITHM,
        "metadata": {"mentis": of},
    }


def _time(stamp: str) -> str:
    """A time of the ledger as the origin writes them."""
    return datetime.fromisoformat(stamp).astimezone(UTC).isoformat(timespec="microseconds")


def _object(value: object) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, Mapping) else {}
