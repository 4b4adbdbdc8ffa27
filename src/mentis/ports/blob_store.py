"""Keeps what is too large for a record. The double is `mentis.stores.memory.BlobsInMemory`."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from mentis.values.digest import Digest


class BlobStore(Protocol):
    def keep(self, content: bytes) -> Digest:
        """On disk when it returns. The same content is kept once."""
        ...

    def has(self, digest: Digest) -> bool:
        """Whether it is here, as far as that is known without reading it: False says nothing."""
        ...

    def read(self, digest: Digest, *, start: int = 0, length: int | None = None) -> bytes | None:
        """A part of it; None when it is not here. StoreDamaged when it is not what it was."""
        ...

    def held(self) -> AbstractContextManager[object]:
        """Alone, whatever other processes do: who names blobs in an entry keeps them and appends it
        in here, and who forgets some looks in here for those who name them.
        """
        ...

    def forget(self, digest: Digest) -> bool:
        """Really gone; False when there was none."""
        ...
