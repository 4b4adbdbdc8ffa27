"""Inventory of what is kept beside the record, and which entry binds it, in an SQL database.

Whoever changes a memory or saves a revision notes it here in the same transaction, with a new salt;
the next entry of the agent that is no answer to somebody else lists what was noted since.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from secrets import token_bytes
from typing import Protocol, TypeAlias

from mentis.values.digest import digest
from mentis.values.entry import Draft
from mentis.values.inventory import (
    FILE,
    FIRST,
    KIND,
    MEMORY,
    REVISION,
    BoundItem,
    HeldItem,
    NotedFile,
    files_scope,
    has_parts,
    leaf_of,
    read_items,
    revision_name,
    revision_scope,
    scopes_of,
    write_items,
)

from .rows import Row

Execute: TypeAlias = Callable[[str, Sequence[object]], list[Row]]
Salts: TypeAlias = Callable[[], bytes]  # each 16 bytes nobody can guess

# Entries that a person or the agent made of their own; others are answers that somebody waits for,
# or statements that are signed as the one that follows an entry they name.
BINDING = frozenset({"turn", "memory", "persona", "state"})

_LISTED = 200  # items in one entry; more of them stand in a list that the entry names
_BATCH = 1000
_FORGET = "DELETE FROM inventory WHERE scope = ? AND kind = ? AND name = ?"
_NOTE = """
INSERT INTO inventory (scope, kind, name, salt, leaf, bound) VALUES (?, ?, ?, ?, ?, '')
"""
# Looks into the index: all but what this agent has bound, and what changed of its files.
_OTHERS = """
SELECT kind, name, number, leaf FROM inventory WHERE scope = ? AND bound < ?
UNION ALL SELECT kind, name, number, leaf FROM inventory WHERE scope = ? AND bound > ?
"""
_FILES = "SELECT kind, name, number, leaf FROM inventory WHERE scope = ? AND bound = ?"
_BIND = "UPDATE inventory SET bound = ? WHERE number = ?"
_GONE = "DELETE FROM inventory WHERE number = ? AND leaf IS NULL"
_RENEW_FILE = "UPDATE inventory SET bound = '' WHERE scope = ? AND name LIKE ?"
_UNBIND = "UPDATE inventory SET bound = '' WHERE scope = ?"
_KEEP_LIST = """
INSERT INTO inventory_lists (digest, items) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING
"""
_DROP_LIST = "DELETE FROM inventory_lists WHERE digest = ?"
_LIST = "SELECT items FROM inventory_lists WHERE digest = ?"
_MEMORIES = """
SELECT memories.id, memory, inventory.number, salt, leaf, bound FROM memories
LEFT JOIN inventory ON scope = memories.agent AND inventory.kind = 'memory' AND name = memories.id
WHERE memories.agent = ? AND memories.id > ? ORDER BY memories.id LIMIT ?
"""
_REVISIONS = """
SELECT key, revisions.number, content, digest, time, words, author,
    inventory.number, salt, leaf, bound
FROM revisions LEFT JOIN inventory ON scope = ? AND inventory.kind = 'revision'
    AND name = key || '#' || revisions.number
WHERE key >= ? AND key < ? ORDER BY key, revisions.number
"""
_NEWEST = "SELECT number, content FROM revisions WHERE key = ? ORDER BY number DESC LIMIT 1"
_NOTED = "SELECT 1 FROM inventory WHERE scope = ? AND kind = ? AND name = ?"
_ONE_MEMORY = "SELECT memory FROM memories WHERE agent = ? AND id = ?"
_ONE_REVISION = """
SELECT key, number, content, digest, time, words, author FROM revisions
WHERE key = ? AND number = ?
"""
_NOTED_FILES = "SELECT name, number, salt, leaf, bound FROM inventory WHERE scope = ?"
_NOTE_FILE = """
INSERT INTO inventory (scope, kind, name, salt, leaf, bound) VALUES (?, 'file', ?, ?, ?, ?)
"""
_LEFT = "SELECT kind, name, number, bound FROM inventory WHERE scope = ? AND leaf IS NULL"


def random_salt() -> bytes:
    """Where whoever opens a database brings no source of salts."""
    return token_bytes(16)


def note_memory(
    execute: Execute, agent: str, name: str, written: str | None, *, salts: Salts
) -> None:
    """A memory as it is written in its column from now on; None where it is gone."""
    _note(execute, (agent, MEMORY, name), None if written is None else (written,), salts)


def note_revision(execute: Execute, cells: Sequence[str | int], *, salts: Salts) -> None:
    """A revision, by the cells of its row. Those of the library are of no agent."""
    key, number = str(cells[0]), int(cells[1])
    if scope := revision_scope(key):
        place = (scope, REVISION, revision_name(key, number))
        _note(execute, place, tuple(map(str, cells)), salts)


def _note(
    execute: Execute, place: tuple[str, str, str], cells: Sequence[str] | None, salts: Salts
) -> None:
    execute(_FORGET, place)
    execute(_NOTE, (*place, *_salted(place, cells, salts)))


def _salted(
    place: tuple[str, str, str], cells: Sequence[str] | None, salts: Salts
) -> tuple[str | None, str | None]:
    if cells is None:
        return None, None
    salt = salts().hex()
    return salt, leaf_of(salt, *place[1:], cells)


def noted_rows(
    memories: Sequence[Row], revisions: Sequence[Row], salts: Salts
) -> Iterator[tuple[str, str, str, str | None, str | None]]:
    """Rows of `inventory` for what an older database holds: all of it waits for its first entry."""
    for agent, name, written in memories:
        place = (agent, MEMORY, name)
        yield (*place, *_salted(place, (written,), salts))
    for cells in revisions:
        if scope := revision_scope(cells[0]):
            place = (scope, REVISION, revision_name(cells[0], cells[1]))
            yield (*place, *_salted(place, tuple(map(str, cells)), salts))


class InventoryEngine(Protocol):
    """Parameters stand as `?`."""

    @property
    def salts(self) -> Salts: ...

    def read(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]: ...

    def write_inventory(self, *, synced: bool) -> AbstractContextManager[Execute]: ...

    def notes(self) -> bool:
        """False for a database that is older than the inventory, and only read."""
        ...


@dataclass(frozen=True, slots=True)
class Unbound:
    """What no entry of an agent binds yet, and the entry that will."""

    agent: str
    items: tuple[BoundItem, ...]
    draft: Draft

    def settle(self, execute: Callable[[str, Sequence[object]], object]) -> None:
        """The entry is there, or is written with this. Done twice, it comes to the same."""
        for one in self.items:
            if one.leaf is None:
                execute(_GONE, (one.number,))
            else:
                execute(_BIND, (self.agent, one.number))


class SqlInventory:
    """Of one database. What it reads of it is of one moment where its engine is a snapshot."""

    def __init__(self, engine: InventoryEngine) -> None:
        self._engine = engine

    def unbound(self, agent: str) -> Unbound | None:
        """None where the entries of the agent bind all there is."""
        rows = self._engine.read(*_looked_up(agent))
        if not rows:
            return None
        rows += self._engine.read(_FILES, (files_scope(agent), FIRST))
        items = tuple(_bound_item(row) for row in sorted(rows, key=lambda row: row[2]))
        return Unbound(agent, items, Draft(KIND, "runtime", {KIND: self._told(items)}))

    def _told(self, items: Sequence[BoundItem]) -> dict[str, object]:
        listed = write_items(items)
        if len(listed) <= _LISTED:
            return {"items": listed}
        text = json.dumps(listed, ensure_ascii=True, separators=(",", ":"))
        named = digest(text.encode())
        # Before the entry that names it, and on the disk with it at the latest.
        with self._engine.write_inventory(synced=True) as execute:
            execute(_KEEP_LIST, (named, text))
        return {"count": len(listed), "list": named}

    def settle(self, done: Unbound) -> None:
        with self._engine.write_inventory(synced=False) as execute:
            done.settle(execute)

    def listed(self, named: str) -> tuple[BoundItem, ...] | None:
        """The items of a list; None where it is gone or is not what its digest says."""
        rows = self._engine.read(_LIST, (named,))
        if not rows or not isinstance(rows[0][0], str) or digest(rows[0][0].encode()) != named:
            return None
        try:
            return read_items(json.loads(rows[0][0]))
        except ValueError:
            return None

    def held(self, agent: str) -> Iterator[HeldItem]:
        """All items there are, then those that are gone and in no entry yet."""
        yield from self._memories(agent)
        persona = f"memory:{agent.rpartition('/')[2]}"
        for scope in scopes_of(agent):
            own = (f"state:{agent}", f"state:{agent}\x01") if scope == agent else None
            yield from self._revisions(scope, own or (f"{persona}/", f"{persona}0"))
            for kind, name, number, bound in self._engine.read(_LEFT, (scope,)):
                yield HeldItem(kind, name, number, None, None, bound)

    def _memories(self, agent: str) -> Iterator[HeldItem]:
        after = ""
        while rows := self._engine.read(_MEMORIES, (agent, after, _BATCH)):
            for name, written, number, salt, noted, bound in rows:
                leaf = leaf_of(str(salt), MEMORY, name, (str(written),))
                yield HeldItem(MEMORY, name, number, leaf, noted, bound or "")
            after = rows[-1][0]

    def _revisions(self, scope: str, keys: tuple[str, str]) -> Iterator[HeldItem]:
        for row in self._engine.read(_REVISIONS, (scope, *keys)):
            cells, (number, salt, noted, bound) = row[:7], row[7:]
            name = revision_name(cells[0], cells[1])
            leaf = leaf_of(str(salt), REVISION, name, tuple(map(str, cells)))
            yield HeldItem(REVISION, name, number, leaf, noted, bound or "")

    def files(self, agent: str) -> dict[str, NotedFile]:
        """Files of the home as they were noted for an agent, by their paths in it."""
        return _noted_files(self._engine.read(_NOTED_FILES, (files_scope(agent),)))

    def outline(self, leaf: str) -> str:
        """What a file held that has this leaf, part by part; "" of one that has no parts."""
        rows = self._engine.read(_LIST, (leaf,))
        return str(rows[0][0]) if rows else ""

    def note_files(
        self,
        agent: str,
        outlines: Mapping[str, str | None],
        salt: bytes,
        name_file: Callable[[str], str],
    ) -> None:
        """Files as they are from now on, by their paths; None of one that is gone. The first of all
        wait for an entry that binds something else, so that a new home begins with what is said.

        One salt, from which each file has its own: nobody finds one by another. `name_file` says
        what entries call a file, the same each time.
        """
        with self._engine.write_inventory(synced=False) as execute:
            known = _noted_files(execute(_NOTED_FILES, (files_scope(agent),)))
            bound = "" if known else FIRST
            for path, outline in sorted(outlines.items()):
                before = known.get(path)
                if before is not None and before.is_still(outline):
                    continue  # somebody else was faster
                if before is not None:
                    execute("DELETE FROM inventory WHERE number = ?", (before.number,))
                    execute(_DROP_LIST, (before.leaf or "",))
                name = f"{before.id if before else name_file(path)} {path}"
                own, leaf = _own_salt(salt, path), None
                if outline is not None:
                    leaf = leaf_of(own, FILE, path, (outline,))
                    if has_parts(outline):
                        execute(_KEEP_LIST, (leaf, outline))
                place = files_scope(agent), name
                execute(_NOTE_FILE, (*place, None if outline is None else own, leaf, bound))

    def newest(self, key: str) -> tuple[int, str] | None:
        """Number and content of the last revision of a key."""
        rows = self._engine.read(_NEWEST, (key,))
        return None if not rows else (rows[0][0], rows[0][1])

    def is_older(self) -> bool:
        """Whether this database is of a Mentis that noted nothing yet, and is only read."""
        return not self._engine.notes()

    def renew(
        self, agent: str, items: Collection[tuple[str, str]], *, gone: bool
    ) -> list[tuple[str, str]]:
        """Note items as they are kept now: the next entry binds that. Returns those that were never
        here, unless they are to be noted as `gone`.
        """
        elsewhere: list[tuple[str, str]] = []
        with self._engine.write_inventory(synced=True) as execute:
            for kind, name in sorted(items):
                if kind == FILE:  # as it was noted: its file is for an editor
                    execute(_RENEW_FILE, (files_scope(agent), f"{name} %"))
                    continue
                if kind == MEMORY:
                    scope, rows = agent, execute(_ONE_MEMORY, (agent, name))
                else:
                    key, _, number = name.rpartition("#")
                    scope, rows = revision_scope(key), execute(_ONE_REVISION, (key, int(number)))
                place = (scope, kind, name)
                if rows or gone or execute(_NOTED, place):
                    cells = tuple(map(str, rows[0])) if rows else None
                    _note(execute, place, cells, self._engine.salts)
                else:
                    elsewhere.append((kind, name))
        return elsewhere

    def unbind(self, agent: str) -> None:
        """Entries that bound something are no more: the next one binds all there is."""
        with self._engine.write_inventory(synced=True) as execute:
            for scope in (*scopes_of(agent), files_scope(agent)):
                execute(_UNBIND, (scope,))


def _looked_up(agent: str) -> tuple[str, tuple[str, ...]]:
    """In one statement, since a server may be far away."""
    scopes = scopes_of(agent)
    statement = " UNION ALL ".join([*(_OTHERS.strip() for _ in scopes), _FILES])
    places = [place for scope in scopes for place in (scope, agent, scope, agent)]
    return statement, (*places, files_scope(agent), "")


def _bound_item(row: Row) -> BoundItem:
    """Of a file without its path: an entry keeps what it says for ever."""
    kind, name, number, leaf = row
    return BoundItem(kind, name.partition(" ")[0] if kind == FILE else name, number, leaf)


def _noted_files(rows: Sequence[Row]) -> dict[str, NotedFile]:
    found: dict[str, NotedFile] = {}
    for name, number, salt, leaf, bound in sorted(rows, key=lambda row: row[1]):
        own, _, path = name.partition(" ")
        found[path] = NotedFile(own, path, number, salt or "", leaf, bound)
    return found


def _own_salt(salt: bytes, path: str) -> str:
    return hashlib.sha256(salt + path.encode()).hexdigest()[:32]
