"""The digest of what is attached to a message."""

from __future__ import annotations

from mentis.values.digest import Digest, digest
from mentis.values.part import MediaPart


def media_digest(part: MediaPart) -> Digest:
    """Of the bytes; of what is elsewhere, of its address."""
    return digest(part.url.encode() if part.data is None else part.data)
