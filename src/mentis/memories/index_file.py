"""The file in which the index of one agent's memories is kept between processes.

It is made from the store, and used only where the store still has the past that it was made of.
Whoever cannot write it does without.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mentis.disk.atomic import unwritable, write_atomic
from mentis.errors import BadInput, EngineMissing, StoreConflict, StoreError
from mentis.ports.memory_store import MemoryStore
from mentis.recall.memory.matrix import Matrix
from mentis.recall.memory.stored_index import IndexOrigin, IndexWriter, StoredIndex, wipe
from mentis.values.cognition import Memory
from mentis.values.digest import digest
from mentis.values.memories import MemoryListing, MemoryStanding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FOLDER = "index"  # in a home
# From so many on, reading the file is cheaper than reading them all.
_WORTH_IT = 1_000
# So many changes beside a file, or this share of it, are searched as quickly as those in it.
_MOST_BESIDE, _SHARE_BESIDE = 1_000, 0.05
_NEWEST = 20
_PIECE = 2_000  # memories or vectors that are read at a time
_EVERYTHING = MemoryListing(states=())


class IndexFile:
    """Its methods block."""

    def __init__(self, folder: Path, agent: str, store: MemoryStore) -> None:
        self._folder = folder
        self._agent = agent
        self._store = store

    def open(self, standing: MemoryStanding, fingerprint: str) -> StoredIndex | None:
        """The index of what is in the store now, or of most of it; None where none pays or none
        can be kept.
        """
        count = self._store.count(self._agent)
        if count < _WORTH_IT:
            return None
        path = self._path(fingerprint)
        try:
            return self._found(path, standing, fingerprint, count) or self._made(
                path, standing, fingerprint
            )
        except (StoreError, BadInput, EngineMissing):
            return None

    def drop(self) -> None:
        """Nothing of what was forgotten may stay in it."""
        for path in self._folder.glob(f"{self._stem}-*"):
            with suppress(OSError):
                wipe(path)

    @property
    def _stem(self) -> str:
        return digest(self._agent.encode()).removeprefix("sha256:")[:16]

    def _path(self, fingerprint: str) -> Path:
        of = digest(fingerprint.encode()).removeprefix("sha256:")[:16]
        return self._folder / f"{self._stem}-{of}.memories"

    def _found(
        self, path: Path, standing: MemoryStanding, fingerprint: str, count: int
    ) -> StoredIndex | None:
        try:
            stored = StoredIndex(path)
        except StoreError:
            return None
        origin = stored.origin
        if (origin.agent, origin.fingerprint) != (self._agent, fingerprint):
            return None
        if origin.standing.forgotten != standing.forgotten:
            self.drop()
            return None
        later = count - len(stored)
        if later > max(_MOST_BESIDE, _SHARE_BESIDE * count) or not self._same_past(stored):
            return None
        return stored if origin.standing.revision <= standing.revision else None

    def _same_past(self, stored: StoredIndex) -> bool:
        """Whether what changed last is in the store as it was, or has changed since."""
        origin = stored.origin
        revision = origin.standing.revision
        now = {one[0]: one for one in self._changes([one[0] for one in origin.newest])}
        kept = dict(origin.newest_vectors)
        vectors = self._store.vector_revisions(self._agent, origin.fingerprint, [*kept])
        return all(
            one[0] in now and (now[one[0]] == one or now[one[0]][1] > revision)
            for one in origin.newest
        ) and all(
            name in vectors and (vectors[name] == at or vectors[name] > revision)
            for name, at in kept.items()
        )

    def _changes(self, ids: Sequence[str]) -> tuple[tuple[str, int, str], ...]:
        return self._store.changes(self._agent, ids)

    def _made(self, path: Path, standing: MemoryStanding, fingerprint: str) -> StoredIndex:
        """Made anew, a piece at a time, so that they are never all in this process."""
        ready_folder(self._folder)
        writer, known, after = IndexWriter(), set[str](), ""
        while piece := self._page(after):
            writer.add(piece)
            known.update(one.id for one in piece)
            after = piece[-1].id
        revisions = self._store.vector_revisions(self._agent, fingerprint) if fingerprint else {}
        kept = {
            name: at for name, at in revisions.items() if name in known and at <= standing.revision
        }
        origin = IndexOrigin(
            self._agent,
            fingerprint,
            standing,
            self._store.last_changed(self._agent, until=standing.revision, count=_NEWEST),
            tuple(kept.items())[-_NEWEST:],
        )
        writer.write(path, origin, tuple(kept), self._rows(fingerprint, tuple(kept)))
        return StoredIndex(path)

    def _page(self, after: str) -> tuple[Memory, ...]:
        return self._store.page(self._agent, replace(_EVERYTHING, after=after), count=_PIECE)

    def _rows(self, fingerprint: str, names: Sequence[str]) -> Iterator[NDArray[np.float32]]:
        """Their vectors, each of length 1."""
        for start in range(0, len(names), _PIECE):
            some = names[start : start + _PIECE]
            found = {
                one.memory: one for one in self._store.vectors_of(self._agent, fingerprint, some)
            }
            if len(found) < len(some):
                raise StoreConflict(
                    "memories were forgotten while their index was made",
                    hint="it is made anew by the next search",
                )
            yield Matrix([found[name] for name in some]).rows


def ready_folder(folder: Path) -> None:
    """A folder that says by itself that nothing of it belongs under version control."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        if not (ignored := folder / ".gitignore").exists():
            write_atomic(ignored, "*\n")
    except OSError as error:
        raise unwritable(folder, error) from error
