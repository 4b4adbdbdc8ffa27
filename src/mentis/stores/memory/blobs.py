"""Blobs, too large for a record, in memory."""

from __future__ import annotations

from contextlib import AbstractContextManager
from threading import RLock

from mentis.values.digest import Digest, digest


class BlobsInMemory:
    def __init__(self) -> None:
        self._blobs: dict[Digest, bytes] = {}
        self._lock = RLock()

    def keep(self, content: bytes) -> Digest:
        name = digest(content)
        self._blobs[name] = content
        return name

    def has(self, digest: Digest) -> bool:
        return digest in self._blobs

    def read(self, digest: Digest, *, start: int = 0, length: int | None = None) -> bytes | None:
        content = self._blobs.get(digest)
        if content is None:
            return None
        end = None if length is None else max(start, 0) + max(length, 0)
        return content[max(start, 0) : end]

    def held(self) -> AbstractContextManager[object]:
        return self._lock

    def forget(self, digest: Digest) -> bool:
        return self._blobs.pop(digest, None) is not None
