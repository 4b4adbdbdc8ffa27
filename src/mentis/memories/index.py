"""The index of one agent's memories, kept in this process and brought up to date from the store."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock

from mentis.errors import BadInput, EngineMissing, StoreError
from mentis.ports.memory_store import MemoryStore
from mentis.ports.screener import StoredVector
from mentis.recall.memory.beside_stored import StoredMemoryIndex
from mentis.recall.memory.index import MemoryIndex, Query, RankedMemories
from mentis.recall.memory.matrix import load_numpy
from mentis.settings.sections import MemoriesSettings
from mentis.values.cognition import Memory
from mentis.values.memories import MemoryStanding
from mentis.values.memory_kind import MemoryKind
from mentis.values.trace import Degradation
from mentis.values.words import quantity

from .cells import CellMaker
from .index_file import IndexFile

_OVER = 4  # times as many as are wanted, since the server knows nothing of filters


class AgentMemoryIndex:
    """Reads from the store only what changed, unless something was forgotten."""

    def __init__(
        self,
        agent: str,
        store: MemoryStore,
        settings: MemoriesSettings,
        folder: Path | None = None,
    ) -> None:
        self._agent = agent
        self._store = store
        self._on_server = settings.index == "server"
        self._index: MemoryIndex | StoredMemoryIndex | None = None
        self._file = None if folder is None else IndexFile(folder, agent, store)
        self._fingerprint = ""
        self._lock = Lock()
        self._cells = CellMaker(self._lock, settings.exact_up_to)

    @property
    def size(self) -> int:
        return 0 if self._index is None else len(self._index)

    def drop(self) -> None:
        """Nothing of what was forgotten is to stay in this process."""
        with self._lock:
            self._index = None
            if self._file is not None:
                self._file.drop()

    def search(
        self, query: Query, fingerprint: str, degraded: dict[Degradation, None]
    ) -> RankedMemories:
        with self._lock:
            if query.vector is not None:
                query = self._with_vectors(query, fingerprint, degraded)
            index = self._fresh(fingerprint if query.vector is not None else "", query)
            if query.vector is not None and query.near is None:
                _tell_missing(index, degraded)
            if isinstance(index, MemoryIndex):
                self._cells.look_after(index)
            else:
                self._cells.look_after_stored(index, self._reopen)
            try:
                return index.search(query)
            except BadInput as error:
                reason = f"{error.message}: words alone are searched"
                degraded[Degradation("embedder", reason)] = None
                return index.search(replace(query, vector=None, near=None, lexical=True))

    def vector_of(self, memory_id: str) -> StoredVector | None:
        """The vector kept with a memory, if this process has it at hand."""
        with self._lock:
            row = None if self._index is None else self._index.vector_of(memory_id)
            return None if row is None else StoredVector(row, self._fingerprint)

    def of_kind(self, kind: MemoryKind) -> tuple[Memory, ...]:
        with self._lock:
            return self._fresh("", Query("")).of_kind(kind)

    def wait_for_index(self) -> None:
        self._cells.wait()

    def close(self) -> None:
        self._cells.close()

    def _with_vectors(
        self, query: Query, fingerprint: str, degraded: dict[Degradation, None]
    ) -> Query:
        """The query without its vector where vectors cannot be searched."""
        try:
            load_numpy()
        except EngineMissing as error:
            reason = f"{error.message}: words alone are searched"
            degraded[Degradation("semantic search", reason)] = None
            return replace(query, vector=None, lexical=True)
        if not self._on_server or query.vector is None:
            return query
        count = max(50, query.limit * 5) * _OVER
        near, reason = None, "the store cannot search by vectors"
        try:
            near = self._store.nearest(self._agent, fingerprint, query.vector, count=count)
        except StoreError as error:
            reason = error.message
        if near is None:
            degraded[Degradation("memories.index", f"{reason}: they are searched here")] = None
        return replace(query, near=near)

    def _fresh(self, fingerprint: str, query: Query) -> MemoryIndex | StoredMemoryIndex:
        """Up to date. A vector index is kept while words alone are searched."""
        wanted = fingerprint if query.near is None else ""
        standing = self._store.standing(self._agent)
        index = self._index
        stale = index is None or index.standing.forgotten != standing.forgotten
        if index is None or stale or (wanted and wanted != self._fingerprint):
            return self._load(standing, wanted)
        if index.standing.revision != standing.revision:
            self._follow(index, standing)
        return index

    def _load(self, standing: MemoryStanding, wanted: str) -> MemoryIndex | StoredMemoryIndex:
        """From its file, where one pays and can be kept; else all that is in the store."""
        self._fingerprint = wanted
        stored = None if self._file is None else self._file.open(standing, wanted)
        if stored is not None:
            find = partial(self._store.find_all, self._agent)
            index = self._index = StoredMemoryIndex(stored, find)
            if stored.origin.standing != standing:
                self._follow(index, standing)
            return index
        index = self._index = MemoryIndex(standing, self._store.memories(self._agent))
        if wanted:
            index.put_vectors(self._store.vectors(self._agent, wanted))
        return index

    def _follow(self, index: MemoryIndex | StoredMemoryIndex, standing: MemoryStanding) -> None:
        since = index.standing.revision
        index.put(standing, self._store.memories(self._agent, since=since))
        if self._fingerprint:
            later = self._store.vectors(self._agent, self._fingerprint, since=since)
            index.put_vectors(later)

    def _reopen(self, index: StoredMemoryIndex) -> None:
        """The file is another one now. The lock is held."""
        if self._index is index:
            self._index = None


def _tell_missing(
    index: MemoryIndex | StoredMemoryIndex, degraded: dict[Degradation, None]
) -> None:
    if missing := len(index) - index.vectors:
        told = quantity(missing, "memory has", "memories have")
        reason = f"{told} no vector yet and can only be found by words: mentis memory rebuild"
        degraded[Degradation("vectors", reason)] = None
