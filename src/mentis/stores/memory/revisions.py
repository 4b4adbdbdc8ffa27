"""History of edited things in memory."""

from __future__ import annotations

from threading import Lock

from mentis.stores.succession import check_next_revision
from mentis.values.cognition import Revision


class RevisionsInMemory:
    def __init__(self) -> None:
        self._revisions: dict[str, list[Revision]] = {}
        self._lock = Lock()

    def save(self, revision: Revision) -> None:
        with self._lock:
            known = self._revisions.setdefault(revision.key, [])
            check_next_revision(revision, newest=len(known))
            known.append(revision)

    def history(self, key: str, *, last: int | None = None) -> tuple[Revision, ...]:
        known = self._revisions.get(key, [])
        return tuple(known if last is None else known[max(len(known) - last, 0) :])

    def at(self, key: str, number: int) -> Revision | None:
        known = self._revisions.get(key, [])
        return known[number - 1] if 0 < number <= len(known) else None
