"""Memories and their vectors in an SQL database: what SQLite and PostgreSQL do alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from mentis.values.cognition import Memory
from mentis.values.memories import (
    MemoryListing,
    MemoryStanding,
    Vector,
    content_key,
    text_digest,
)

from .memory_rows import list_cells, plain_text, read_memory, write_memory
from .memory_rules import check_same, check_vectors, id_taken, same_as
from .rows import Row
from .sql_inventory import Salts, note_memory

_KEEP = """
INSERT INTO memories (agent, id, memory, text, content, revision, state, kind, worth, time, names,
    words) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (agent, id) DO UPDATE SET memory = excluded.memory, text = excluded.text,
    content = excluded.content, revision = excluded.revision, state = excluded.state,
    kind = excluded.kind, worth = excluded.worth, time = excluded.time, names = excluded.names,
    words = excluded.words
"""
_ORDERS = {"id": "id", "newest": "time DESC, id DESC", "names": "names, id"}
_STANDING = "SELECT revision, forgotten FROM memory_standing WHERE agent = ?"
_KEEP_STANDING = """
INSERT INTO memory_standing (agent, revision, forgotten) VALUES (?, ?, ?)
ON CONFLICT (agent) DO UPDATE SET revision = excluded.revision, forgotten = excluded.forgotten
"""
_KEEP_VECTOR = """
INSERT INTO memory_vectors (agent, fingerprint, id, text, vector, revision)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (agent, fingerprint, id) DO UPDATE SET text = excluded.text, vector = excluded.vector,
    revision = excluded.revision
"""
_WITHOUT = """
SELECT memory FROM memories WHERE agent = ? AND id > ? AND NOT EXISTS (
    SELECT 1 FROM memory_vectors WHERE memory_vectors.agent = memories.agent
        AND memory_vectors.fingerprint = ? AND memory_vectors.id = memories.id
) ORDER BY id LIMIT ?
"""
_CHANGES = "SELECT id, revision, text FROM memories WHERE agent = ?"
_LAST_CHANGED = f"{_CHANGES} AND revision <= ? ORDER BY revision DESC, id LIMIT ?"
_VECTOR_REVISIONS = "SELECT id, revision FROM memory_vectors WHERE agent = ? AND fingerprint = ?"
_AT_ONCE = 500  # ids in one statement
_COUNT = """
SELECT fingerprint, count(*) FROM memory_vectors WHERE agent = ?
GROUP BY fingerprint ORDER BY fingerprint
"""

_ALL = MemoryListing(states=())


class MemoriesTransaction(Protocol):
    """Statements inside one transaction that no other writer of this agent can come between."""

    @property
    def salts(self) -> Salts: ...

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]: ...


class MemoriesEngine(Protocol):
    """Parameters stand as `?`. `vector` is how the column is read, `pack` how it is written;
    `position` is the function that finds a text in another.
    """

    vector: str
    position: str

    def read(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]: ...

    def write(self, agent: str) -> AbstractContextManager[MemoriesTransaction]: ...

    def pack(self, data: bytes) -> object: ...

    def unpack(self, cell: object) -> bytes: ...

    def forget(self) -> tuple[str, ...]:
        """Something is to be gone: let no file keep what was there before; or say which does."""
        ...

    def nearest(
        self, agent: str, fingerprint: str, query: Sequence[float], count: int
    ) -> list[Row] | None: ...

    def close(self) -> None: ...


class SqlMemories:
    def __init__(self, engine: MemoriesEngine) -> None:
        self._engine = engine
        self._remains: tuple[str, ...] = ()
        self._select = (
            f"SELECT id, text, {engine.vector}, revision FROM memory_vectors"  # noqa: S608 - constants
            " WHERE agent = ? AND fingerprint = ?"
        )

    def remember(self, agent: str, memory: Memory) -> None:
        with self._engine.write(agent) as work:
            _remember(work, agent, memory)

    def change(
        self, agent: str, before: Memory, after: Memory, *, given: Sequence[Memory] = ()
    ) -> bool:
        check_same(before, after)
        with self._engine.write(agent) as work:
            if any(_find(work.execute, agent, one.id) != one for one in (before, *given)):
                return False
            _remember(work, agent, after)
        return True

    def add(self, agent: str, memories: Sequence[Memory]) -> tuple[Memory, ...]:
        if not memories:
            return ()
        with self._engine.write(agent) as work:
            revision = _advance(work, agent)
            return tuple(_add(work, agent, memory, revision) for memory in memories)

    @property
    def remains(self) -> tuple[str, ...]:
        return self._remains

    def forget(self, agent: str, memory_id: str) -> bool:
        with self._engine.write(agent) as work:
            place = (agent, memory_id)
            if not work.execute("SELECT 1 FROM memories WHERE agent = ? AND id = ?", place):
                return False
            work.execute("DELETE FROM memories WHERE agent = ? AND id = ?", place)
            _drop_vectors_of(work, agent, memory_id)
            note_memory(work.execute, agent, memory_id, None, salts=work.salts)
            _advance(work, agent, forgotten=1)
        self._remains = self._engine.forget()
        return True

    def find(self, agent: str, memory_id: str) -> Memory | None:
        return _find(self._engine.read, agent, memory_id)

    def memories(self, agent: str, *, since: int = 0) -> tuple[Memory, ...]:
        # Sorted here: asked for an order, the database would rather read all than use the index.
        statement = "SELECT memory FROM memories WHERE agent = ? AND revision > ?"
        rows = self._engine.read(statement, (agent, since))
        return tuple(
            sorted((read_memory(text, agent=agent) for (text,) in rows), key=lambda one: one.id)
        )

    def find_all(self, agent: str, ids: Sequence[str]) -> tuple[Memory, ...]:
        rows = self._among("SELECT memory FROM memories WHERE agent = ?", (agent,), ids)
        return tuple(read_memory(text, agent=agent) for (text,) in rows)

    def last_changed(
        self, agent: str, *, until: int, count: int
    ) -> tuple[tuple[str, int, str], ...]:
        rows = self._engine.read(_LAST_CHANGED, (agent, until, count))
        return tuple((name, revision, text) for name, revision, text in rows)

    def changes(self, agent: str, ids: Sequence[str]) -> tuple[tuple[str, int, str], ...]:
        rows = self._among(_CHANGES, (agent,), ids)
        return tuple((name, revision, text) for name, revision, text in rows)

    def page(
        self, agent: str, listing: MemoryListing, *, count: int | None = None, start: int = 0
    ) -> tuple[Memory, ...]:
        where, given = self._listed(agent, listing)
        order = f"ORDER BY {_ORDERS[listing.order]} LIMIT ? OFFSET ?"
        window = (2**31 - 1 if count is None else count, start)
        rows = self._engine.read(f"SELECT memory FROM {where} {order}", (*given, *window))  # noqa: S608 - constants
        return tuple(read_memory(text, agent=agent) for (text,) in rows)

    def count(self, agent: str, listing: MemoryListing | None = None) -> int:
        where, given = self._listed(agent, listing or _ALL)
        return self._engine.read(f"SELECT count(*) FROM {where}", given)[0][0]  # noqa: S608 - constants

    def _listed(self, agent: str, listing: MemoryListing) -> tuple[str, list[object]]:
        """Where the memories of a list are, and the parameters for that."""
        parts, given = ["memories WHERE agent = ?"], list[object]([agent])
        choices = (("state", listing.states), ("kind", listing.kinds), ("worth", listing.worths))
        for column, chosen in choices:
            if chosen:
                parts.append(f"{column} IN ({', '.join('?' * len(chosen))})")
                given += [str(one) for one in chosen]
        if listing.after:
            parts.append("id > ?")
            given.append(listing.after)
        for word in listing.words:
            parts.append(f"{self._engine.position}(words, ?) > 0")
            given.append(plain_text(word))
        return " AND ".join(parts), given

    def standing(self, agent: str) -> MemoryStanding:
        rows = self._engine.read(_STANDING, (agent,))
        return MemoryStanding(*rows[0]) if rows else MemoryStanding()

    def keep_vectors(self, agent: str, fingerprint: str, vectors: Sequence[Vector]) -> int:
        kept = 0
        with self._engine.write(agent) as work:
            there = work.execute(f"{self._select} LIMIT 1", (agent, fingerprint))
            check_vectors([*self._vectors(there), *vectors])
            revision = _advance(work, agent)
            statement = "SELECT 1 FROM memories WHERE agent = ? AND id = ? AND text = ?"
            for vector in vectors:
                if work.execute(statement, (agent, vector.memory, vector.text)):
                    place = (agent, fingerprint, vector.memory, vector.text)
                    work.execute(_KEEP_VECTOR, (*place, self._engine.pack(vector.data), revision))
                    kept += 1
        return kept

    def vectors(self, agent: str, fingerprint: str, *, since: int = 0) -> tuple[Vector, ...]:
        rows = self._engine.read(f"{self._select} AND revision > ?", (agent, fingerprint, since))
        return self._vectors(sorted(rows, key=lambda row: (row[3], row[0])))

    def vector_revisions(
        self, agent: str, fingerprint: str, among: Sequence[str] | None = None
    ) -> dict[str, int]:
        place = (agent, fingerprint)
        rows = (
            self._engine.read(_VECTOR_REVISIONS, place)
            if among is None
            else self._among(_VECTOR_REVISIONS, place, among)
        )
        return dict(sorted(rows, key=lambda row: (row[1], row[0])))

    def vectors_of(self, agent: str, fingerprint: str, ids: Sequence[str]) -> tuple[Vector, ...]:
        return self._vectors(self._among(self._select, (agent, fingerprint), ids))

    def _among(self, statement: str, place: Sequence[object], ids: Sequence[str]) -> list[Row]:
        """What a statement reads of these ids, some at a time."""
        rows: list[Row] = []
        for start in range(0, len(ids), _AT_ONCE):
            some = ids[start : start + _AT_ONCE]
            marks = ", ".join("?" * len(some))
            rows += self._engine.read(f"{statement} AND id IN ({marks})", (*place, *some))
        return rows

    def without_vector(
        self, agent: str, fingerprint: str, *, count: int, after: str = ""
    ) -> tuple[Memory, ...]:
        rows = self._engine.read(_WITHOUT, (agent, after, fingerprint, count))
        return tuple(read_memory(text, agent=agent) for (text,) in rows)

    def count_vectors(self, agent: str) -> dict[str, int]:
        return dict(self._engine.read(_COUNT, (agent,)))

    def drop_vectors(self, agent: str, fingerprint: str) -> int:
        place = (agent, fingerprint)
        where = "FROM memory_vectors WHERE agent = ? AND fingerprint = ?"
        with self._engine.write(agent) as work:
            count: int = work.execute(f"SELECT count(*) {where}", place)[0][0]
            work.execute(f"DELETE {where}", place)
            _advance(work, agent, forgotten=1)
        self._remains = self._engine.forget()
        return count

    def nearest(
        self, agent: str, fingerprint: str, query: Sequence[float], *, count: int
    ) -> tuple[Vector, ...] | None:
        rows = self._engine.nearest(agent, fingerprint, query, count)
        return None if rows is None else self._vectors(rows)

    def close(self) -> None:
        self._engine.close()

    def _vectors(self, rows: Sequence[Row]) -> tuple[Vector, ...]:
        unpack = self._engine.unpack
        return tuple(Vector(row[0], row[1], unpack(row[2])) for row in rows)


def _find(
    read: Callable[[str, Sequence[object]], list[Row]], agent: str, memory_id: str
) -> Memory | None:
    statement = "SELECT memory FROM memories WHERE agent = ? AND id = ?"
    rows = read(statement, (agent, memory_id))
    return read_memory(rows[0][0], agent=agent) if rows else None


def _remember(work: MemoriesTransaction, agent: str, memory: Memory) -> None:
    there = work.execute("SELECT text FROM memories WHERE agent = ? AND id = ?", (agent, memory.id))
    stale = bool(there) and there[0][0] != text_digest(memory.text)
    revision = _advance(work, agent, forgotten=int(stale))
    if stale:
        _drop_vectors_of(work, agent, memory.id)
    _keep(work, agent, memory, revision)


def _add(work: MemoriesTransaction, agent: str, memory: Memory, revision: int) -> Memory:
    statement = "SELECT memory FROM memories WHERE agent = ? AND content = ?"
    rows = work.execute(statement, (agent, content_key(memory)))
    same = same_as(memory, (read_memory(text, agent=agent) for (text,) in rows))
    if same is not None:
        return same
    if work.execute("SELECT 1 FROM memories WHERE agent = ? AND id = ?", (agent, memory.id)):
        raise id_taken(memory.id)
    _keep(work, agent, memory, revision)
    return memory


def _keep(work: MemoriesTransaction, agent: str, memory: Memory, revision: int) -> None:
    content = None if memory.superseded_by else content_key(memory)
    written = write_memory(memory)
    own = (written, text_digest(memory.text), content, revision)
    work.execute(_KEEP, (agent, memory.id, *own, *list_cells(memory)))
    note_memory(work.execute, agent, memory.id, written, salts=work.salts)


def _advance(work: MemoriesTransaction, agent: str, *, forgotten: int = 0) -> int:
    rows = work.execute(_STANDING, (agent,))
    before = MemoryStanding(*rows[0]) if rows else MemoryStanding()
    revision = before.revision + 1
    work.execute(_KEEP_STANDING, (agent, revision, before.forgotten + forgotten))
    return revision


def _drop_vectors_of(work: MemoriesTransaction, agent: str, memory_id: str) -> None:
    work.execute("DELETE FROM memory_vectors WHERE agent = ? AND id = ?", (agent, memory_id))
