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

    def history(self, key: str) -> tuple[Revision, ...]:
        return tuple(self._revisions.get(key, ()))
