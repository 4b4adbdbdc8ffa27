"""Memories that are part of a commit of a persona: one blob each, so that a memory that is
forgotten goes out of all commits as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import cast

from mentis.codec.forms import from_json, to_json
from mentis.ports.blob_store import BlobStore
from mentis.ports.revisions import Revisions
from mentis.values.cognition import Memory
from mentis.values.digest import Digest


def commit_key(persona: str) -> str:
    """The key of the revisions that are a persona's commits."""
    return f"commit:{persona}"


def keep_committed(blobs: BlobStore, memories: Iterable[Memory]) -> dict[str, Digest]:
    """The digests of memories by their ids; an id is random, so that none tells its text."""
    return {one.id: blobs.keep(to_json(one)) for one in memories}


def read_committed(blobs: BlobStore, digest: Digest) -> Memory | None:
    """The memory as it was; None where it was forgotten since."""
    content = blobs.read(digest)
    return None if content is None else from_json(Memory, content)


def forget_committed(revisions: Revisions, blobs: BlobStore, persona: str, memory_id: str) -> None:
    """Out of every commit."""
    for revision in revisions.history(commit_key(persona)):
        told = cast("Mapping[str, object]", json.loads(revision.content)).get("memories")
        if isinstance(told, Mapping):
            digest = cast("Mapping[str, str]", told).get(memory_id)
            if digest:
                blobs.forget(digest)
