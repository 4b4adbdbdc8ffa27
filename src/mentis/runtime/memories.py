"""The memories of one agent: kept, searched, looked through, and let go of.

What blocks runs in a worker thread where a call is async. Vectors are made when a memory is kept
and by `rebuild`, and never again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from anyio import to_thread

from mentis.errors import EngineMissing, MentisError, UsageError
from mentis.exchange.memory_lines import read_lines, write_lines
from mentis.ledger.chain import format_time, make_stamp
from mentis.ports.clock import Clock
from mentis.ports.embedder import Embedder
from mentis.ports.ids import Ids
from mentis.ports.ledger_store import LedgerStore
from mentis.ports.memory_store import MemoryStore
from mentis.ports.screener import Screener
from mentis.recall.memory.choosing import public, why_not
from mentis.recall.memory.hygiene import inspect
from mentis.recall.memory.index import Query
from mentis.recall.memory.packing import packed
from mentis.recall.memory.picking import pick
from mentis.recall.memory.secrets_found import secrets_in
from mentis.stores.files.home import find_home
from mentis.stores.postgres.memories import PostgresMemories
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.memories import SqliteMemories
from mentis.values.cognition import Memory, Screened
from mentis.values.entry import Draft, Entry
from mentis.values.memories import (
    EVERYTHING_PUBLIC,
    Found,
    HygieneFinding,
    ImportedMemories,
    MemoryDraft,
    MemoryFilter,
    Rebuilt,
    Remembered,
    Way,
)
from mentis.values.trace import Degradation
from mentis.values.trust import Trust

from .ledgers import open_ledger, open_postgres
from .memories_draft import check_draft, check_whole, made_of
from .memories_index import Searchable
from .memories_parts import HomeEmbedder, HomeScreener
from .memories_screen import NOBODY, Gatekeeper, is_outside
from .memories_transfer import taken_in
from .opened import Closing, closed_on_failure
from .parts import Parts
from .settings import Settings
from .settings_sections import MemoriesSettings
from .settings_sources import load_settings
from .system import RandomIds, SystemClock

Progress: TypeAlias = Callable[[int, int], None]
_BATCH = 32
_DEFAULTS = MemoriesSettings()


@dataclass(frozen=True, slots=True)
class Tools:
    """What the memories of one agent work with.

    `stepped_down` is asked whenever the embedder was, and says what it had to do without.
    """

    store: MemoryStore
    clock: Clock
    ids: Ids
    open_ledger: Callable[[], LedgerStore]
    embedder: Embedder | None = None
    screener: Screener | None = None
    settings: MemoriesSettings = _DEFAULTS
    stepped_down: Callable[[], tuple[Degradation, ...]] = tuple


def open_memories(
    home: str | Path, persona: str | None = None, parts: Parts | None = None
) -> Memories:
    """The memories of one persona of a home; use it as a context manager.

    The embedder and the screener are those of `parts`, else this machine's and the home's: looked
    for when a text first needs them.
    """
    parts = parts or Parts()
    place = find_home(Path(home))
    settings = load_settings(place.path, parts.variables)
    chosen = place.pick_persona(persona)
    database = Database(place.database, busy_seconds=settings.model.store.busy_seconds)
    with closed_on_failure(database):
        tools = open_memory_tools(settings, database, parts)
    return Memories(f"{settings.model.name or place.name}/{chosen}", tools, database)


def open_memory_tools(settings: Settings, database: Database, parts: Parts) -> Tools:
    """On the open database of a home; what `parts` lacks becomes the real thing."""
    found = HomeEmbedder()
    return Tools(
        store=_open_store(settings, database, parts.variables),
        clock=parts.clock or SystemClock(),
        ids=parts.ids or RandomIds(),
        open_ledger=lambda: open_ledger(settings, database, parts.variables),
        embedder=parts.embedder or found,
        screener=parts.screener or HomeScreener(database.path.parent),
        settings=settings.model.memories,
        stepped_down=tuple if parts.embedder else found.stepped_down,
    )


def _open_store(settings: Settings, database: Database, environ: Mapping[str, str]) -> MemoryStore:
    if settings.model.memories.store == "sqlite":
        return SqliteMemories(database)
    return PostgresMemories(open_postgres(settings, environ))


class Memories(Closing):
    """Opened with `open_memories(home)`.

    ```python
    with open_memories("my-home") as memories:
        await memories.remember(MemoryDraft("Lena plays the cello.", trust=Trust.OWNER))
        found = await memories.search("cello")
    ```
    """

    def __init__(self, agent: str, tools: Tools, database: Database | None = None) -> None:
        self.agent = agent
        self._tools = tools
        self._store = tools.store
        self._database = database
        self._ledger: LedgerStore | None = None
        self._searchable = Searchable(agent, tools.store, tools.settings.index)

    @property
    def import_bytes(self) -> int:
        """How large a file may be that is imported."""
        return self._tools.settings.import_bytes

    async def remember(self, draft: MemoryDraft) -> Remembered:
        """Keep it, screened if it is from outside. Said before in the same place, it stays one."""
        checked = check_draft(draft, text_chars=self._tools.settings.text_chars)
        gate = Gatekeeper(self._tools.screener)
        memory = gate.screened(made_of(checked, self._tools.ids.new_id(), now=self._now()))
        (kept,) = await to_thread.run_sync(self._store.add, self.agent, [memory])
        known = kept.id != memory.id
        missing = () if known else await self._embed_new(kept)
        degraded = (*gate.degraded, *missing)
        return Remembered(kept, known, _notes(kept, draft, known=known), degraded)

    async def search(
        self,
        query: str,
        *,
        way: Way = "hybrid",
        wanted: MemoryFilter = EVERYTHING_PUBLIC,
        limit: int = 10,
        half_life_days: float | None = None,
        vector: Sequence[float] | None = None,
    ) -> Found:
        """The memories that fit best, each with its scores, and those that just missed.

        `vector` is the query's own, where it has one already; then nothing is embedded.
        """
        if limit < 1:
            raise UsageError(f"{limit} memories cannot be searched for", hint="ask for 1 or more")
        check_whole(query, "the query")
        degraded: dict[Degradation, None] = {}
        calls = 0
        if way != "lexical" and query.strip():
            vector, calls = await self._query_vector(query, vector, degraded)
        days = self._tools.settings.half_life_days if half_life_days is None else half_life_days
        asked = Query(
            text=query,
            vector=None if way == "lexical" else vector,
            lexical=way != "semantic" or vector is None,
            wanted=wanted,
            limit=limit,
            now=self._now(),
            half_life_days=days,
        )
        return await to_thread.run_sync(self._find, asked, way, calls, degraded)

    def list(self, wanted: MemoryFilter = EVERYTHING_PUBLIC) -> tuple[Memory, ...]:
        """Those a filter lets through, in the order of their ids."""
        now = self._now()
        kept = self._store.memories(self.agent)
        return tuple(memory for memory in kept if not why_not(memory, wanted, now=now))

    def get(self, memory_id: str) -> Memory:
        memory = self._store.find(self.agent, memory_id)
        if memory is None:
            raise UsageError(
                f"`{self.agent}` has no memory {memory_id!r}",
                hint="see them with `mentis memory list`",
            )
        return memory

    def forget(self, memory_id: str) -> Memory:
        """Gone for good: the text, its vectors and what was searched by. Returns what it was."""
        memory = self.get(memory_id)
        self._store.forget(self.agent, memory_id)
        self._searchable.drop()
        return memory

    async def supersede(self, memory_id: str, draft: MemoryDraft) -> Remembered:
        """Keep a newer one in its place; the old one stays, marked, and is found no more."""
        old = self.get(memory_id)
        _refuse_weaker(old, Memory("the newer memory", draft.text, trust=draft.trust))
        made = await self.remember(draft)
        if made.memory.id == old.id:
            raise UsageError("that is what the memory says already", hint="say what is new")
        await to_thread.run_sync(self.supersede_by, memory_id, made.memory.id)
        return made

    def supersede_by(self, memory_id: str, newer_id: str) -> Memory:
        """Mark a memory as superseded by another one that is there."""
        old, newer = self.get(memory_id), self.get(newer_id)
        _refuse_weaker(old, newer)
        step: Memory | None = newer
        while step is not None:
            if step.id == old.id:
                raise UsageError(
                    f"{newer_id!r} cannot supersede {memory_id!r}: it leads back to it",
                    hint="choose the newer of the two",
                )
            step = self._store.find(self.agent, step.superseded_by)
        return self._change(replace(old, superseded_by=newer_id))

    def quarantine(self) -> tuple[Memory, ...]:
        """What screening has kept back, with its reasons."""
        return tuple(one for one in self._store.memories(self.agent) if one.quarantined)

    def release(self, memory_id: str, *, reason: str) -> Entry:
        """Let one out of quarantine: a person's doing, recorded before it is done. Stays marked."""
        memory = self.get(memory_id)
        if not memory.quarantined:
            raise UsageError(f"{memory_id!r} is not in quarantine", hint="nothing to release")
        entry = self._record("release", memory, reason)
        marked = Screened("suspicious", memory.screening.reason if memory.screening else "")
        self._change(replace(memory, screening=marked, released=self._now()))
        return entry

    def promote(self, memory_id: str, trust: Trust, *, reason: str) -> Entry:
        """A person vouches for it: recorded before it is done."""
        memory = self.get(memory_id)
        if trust not in (Trust.OWNER, Trust.SELF, Trust.REFERENCE):
            raise UsageError(f"no memory can be {trust.value}", hint="owner, self or reference")
        if trust.rank >= memory.trust.rank or memory.quarantined:
            state = "in quarantine" if memory.quarantined else f"{memory.trust.value} already"
            raise UsageError(f"{memory_id!r} is {state}", hint="look at it first")
        entry = self._record(f"promote to {trust.value}", memory, reason)
        self._change(replace(memory, trust=trust, lineage=trust))
        return entry

    def screen_again(self) -> tuple[Memory, ...]:
        """Look anew at what nobody could look at; returns what is no longer in quarantine."""
        gate, freed = Gatekeeper(self._tools.screener), list[Memory]()
        for memory in self.quarantine():
            told = memory.screening
            if told is None or not told.reason.startswith((NOBODY, "the screener failed")):
                continue
            looked = gate.screened(memory)
            if not looked.quarantined:
                freed.append(self._change(looked))
        return tuple(freed)

    def hygiene(self) -> tuple[HygieneFinding, ...]:
        return inspect(self._store.memories(self.agent))

    def export(self, *, private: bool = False) -> bytes:
        """All of them as lines of JSON, without vectors; thoughts and diary only when asked for."""
        kept = self._store.memories(self.agent)
        return write_lines(kept if private else public(kept))

    def import_lines(self, data: bytes) -> ImportedMemories:
        """All lines or none. What comes in is untrusted, and screened."""
        settings = self._tools.settings
        lines = read_lines(data, most_bytes=settings.import_bytes)
        there = {memory.id: memory for memory in self._store.memories(self.agent)}
        brought, notes = taken_in(
            lines,
            there,
            now=self._now(),
            text_chars=settings.text_chars,
            new_id=self._tools.ids.new_id,
        )
        gate = Gatekeeper(self._tools.screener)
        fresh = [gate.screened(memory) for memory in brought if memory.id not in there]
        kept = self._store.add(self.agent, fresh)
        added = [mine for mine, now in zip(fresh, kept, strict=True) if mine.id == now.id]
        known = [memory.id for memory in brought if memory.id in there]
        known += [now.id for mine, now in zip(fresh, kept, strict=True) if mine.id != now.id]
        return ImportedMemories(
            lines=len(lines),
            added=tuple(memory.id for memory in added),
            known=tuple(known),
            quarantined=tuple(memory.id for memory in added if memory.quarantined),
            notes=(*notes, *(one.reason for one in gate.degraded)),
        )

    async def rebuild(self, progress: Progress | None = None, *, batch: int = _BATCH) -> Rebuilt:
        """Make the vectors that this embedder has not made yet; then let those of others go.

        Each batch is kept when it is done: whoever stops it goes on from there the next time.
        """
        embedder = self._tools.embedder
        if embedder is None:
            raise EngineMissing(
                "no embedder is configured, so there is nothing to make vectors with",
                hint="memories are found by their words until there is one",
            )
        fingerprint, after, made = embedder.fingerprint, "", 0
        total = await to_thread.run_sync(self._count_missing, fingerprint)
        while waiting := await to_thread.run_sync(self._waiting, fingerprint, after, batch):
            made += await self._embed(embedder, waiting)
            after = waiting[-1].id
            if progress is not None:
                progress(min(made, total), total)
        left = await to_thread.run_sync(self._count_missing, fingerprint)
        dropped = 0 if left else await to_thread.run_sync(self._drop_others, fingerprint)
        return Rebuilt(fingerprint, made, total, not left, dropped)

    def changed_since(self, revision: int) -> tuple[int, tuple[Memory, ...]]:
        """The revision now, and what was kept or changed after an earlier one."""
        standing = self._store.standing(self.agent)
        return standing.revision, self._store.memories(self.agent, since=revision)

    def close(self) -> None:
        if self._ledger is not None:
            self._ledger.close()
        self._store.close()
        if self._database is not None:
            self._database.close()

    @classmethod
    def open(
        cls, home: str | Path, *, persona: str | None = None, parts: Parts | None = None
    ) -> Memories:
        return open_memories(home, persona, parts)

    async def _query_vector(
        self, query: str, given: Sequence[float] | None, degraded: dict[Degradation, None]
    ) -> tuple[Sequence[float] | None, int]:
        """A vector that can be searched by, and how many calls it took; None is a step down."""
        if self._tools.embedder is None:
            degraded[Degradation("embedder", "none is configured: words alone are searched")] = None
            return None, 0
        calls = int(given is None)
        try:
            vectors = await self._tools.embedder.embed([query]) if given is None else [given]
            packed([Memory("query", query)], vectors)  # looked at like any other vector
        except MentisError as error:
            reason = f"{error.message}: words alone are searched"
            degraded[Degradation("embedder", reason)] = None
            return None, calls
        degraded.update(dict.fromkeys(self._tools.stepped_down()))
        return vectors[0], calls

    def _find(self, asked: Query, way: Way, calls: int, degraded: dict[Degradation, None]) -> Found:
        embedder = self._tools.embedder
        fingerprint = embedder.fingerprint if embedder and asked.vector is not None else ""
        ranked = self._searchable.search(asked, fingerprint, degraded)
        gate = Gatekeeper(self._tools.screener)
        picked = pick(ranked, limit=asked.limit, screen=gate.why_not)
        return Found(
            query=asked.text,
            way=way,
            hits=picked.hits,
            near=picked.near,
            filtered=picked.filtered,
            searched=self._searchable.size,
            embedding_calls=calls,
            degraded=(*degraded, *gate.degraded),
        )

    async def _embed_new(self, memory: Memory) -> tuple[Degradation, ...]:
        """A memory is kept whether or not there is a vector of it."""
        if self._tools.embedder is None:
            return ()
        try:
            await self._embed(self._tools.embedder, [memory])
        except MentisError as error:
            return (Degradation("embedder", f"{error.message}: it has no vector yet"),)
        return self._tools.stepped_down()

    async def _embed(self, embedder: Embedder, memories: Sequence[Memory]) -> int:
        vectors = packed(memories, await embedder.embed([memory.text for memory in memories]))
        fingerprint = embedder.fingerprint
        return await to_thread.run_sync(self._store.keep_vectors, self.agent, fingerprint, vectors)

    def _waiting(self, fingerprint: str, after: str, batch: int) -> tuple[Memory, ...]:
        return self._store.without_vector(self.agent, fingerprint, count=batch, after=after)

    def _count_missing(self, fingerprint: str) -> int:
        everything = self._store.count(self.agent)
        return everything - self._store.count_vectors(self.agent).get(fingerprint, 0)

    def _drop_others(self, fingerprint: str) -> int:
        others = self._store.count_vectors(self.agent).keys() - {fingerprint}
        return sum(self._store.drop_vectors(self.agent, other) for other in sorted(others))

    def _change(self, memory: Memory) -> Memory:
        changed = replace(memory, updated=self._now())
        self._store.remember(self.agent, changed)
        return changed

    def _record(self, what: str, memory: Memory, reason: str) -> Entry:
        """Which memory, never what it says: an entry stays when the memory is forgotten."""
        if not reason.strip():
            raise UsageError("say why: it is recorded", hint="give a reason")
        if self._ledger is None:
            self._ledger = self._tools.open_ledger()
        body = {"memory": {"what": what, "id": memory.id, "reason": reason}}
        stamp = make_stamp(self._tools.clock.now, self._tools.ids.salt, self._tools.clock.uptime)
        (entry,) = self._ledger.append(self.agent, [Draft("memory", "owner", body)], stamp)
        return entry

    def _now(self) -> str:
        return format_time(self._tools.clock.now())


def _refuse_weaker(old: Memory, newer: Memory) -> None:
    """Text from outside must not make the agent lose what somebody vouched for."""
    if newer.quarantined:
        raise UsageError(
            f"{newer.id!r} is in quarantine and takes nobody's place",
            hint="look at it, and release it first",
        )
    if newer.trust.rank > old.trust.rank:
        raise UsageError(
            f"{newer.id!r} is {newer.trust.value} and cannot take the place of what is"
            f" {old.trust.value}",
            hint="promote it first, if you vouch for it",
        )


def _notes(kept: Memory, draft: MemoryDraft, *, known: bool) -> tuple[str, ...]:
    notes: list[str] = []
    if known:
        notes.append(f"known since {kept.time} as {kept.id}; nothing was added")
        if kept.trust is not draft.trust:
            notes.append(f"it is kept as {kept.trust.value}")
    if kept.quarantined and kept.screening:
        notes.append(f"in quarantine: {kept.screening.reason}")
    notes += [f"it seems to hold {what}" for what in secrets_in(kept.text)]
    if is_outside(kept) and kept.screening and kept.screening.outcome == "suspicious":
        notes.append(f"suspicious: {kept.screening.reason}")
    return tuple(notes)
