"""Are the bodies of recorded calls still there, and what their entries say they were?"""

from __future__ import annotations

from mentis.errors import HomeError, StoreError
from mentis.ports.blob_store import BlobStore
from mentis.values.digest import Digest
from mentis.values.entry import Entry, Finding
from mentis.values.words import quantity

from .call_bodies import BODIES, CALL, call_blobs

COLUMN = "bodies"


class BodyCheck:
    """The entries come from a chain that verified, so each names what was kept; every blob is read
    once. Without `blobs`, as with a copy of the database alone, that is said.
    """

    def __init__(self, blobs: BlobStore | None) -> None:
        self._blobs = blobs
        self._sound: set[Digest] = set()
        self._unread = 0
        self.findings: list[Finding] = []

    def take(self, entry: Entry) -> None:
        if entry.kind != CALL:
            return
        if self._blobs is None:
            self._unread += 1
            return
        try:
            for digest in sorted(call_blobs(self._blobs, entry, BODIES) - self._sound):
                if self._blobs.read(digest) is None:
                    message = f"a part of what was kept of this call is gone: blob {digest}"
                    self.findings.append(Finding(entry.index, COLUMN, message, "erased"))
                    return
                self._sound.add(digest)
        except (StoreError, HomeError) as damage:
            self.findings.append(Finding(entry.index, COLUMN, damage.message, "edited"))

    def notes(self) -> tuple[str, ...]:
        if not self._unread:
            return ()
        return (f"the bodies of {quantity(self._unread, 'call')} are elsewhere, and not compared",)
