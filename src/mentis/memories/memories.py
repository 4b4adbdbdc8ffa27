"""The memories of one agent: kept, searched, looked through, and let go of.

What blocks runs in a worker thread where a call is async. Vectors are made when a memory is kept
and by `rebuild`, and never again.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

from anyio import create_task_group, to_thread

from mentis.errors import EngineMissing, MentisError, StoreConflict, UsageError
from mentis.exchange.memory_lines import read_lines, write_lines
from mentis.home.closing import Closeable, closed_on_failure
from mentis.home.database import open_database
from mentis.home.ledger import open_ledger
from mentis.home.parts import Parts
from mentis.home.server import open_blobs, open_postgres, open_revisions
from mentis.home.system import RandomIds, SystemClock
from mentis.ledger.chain import format_time, make_stamp
from mentis.ports.blob_store import BlobStore
from mentis.ports.clock import Clock
from mentis.ports.embedder import Embedder
from mentis.ports.ids import Ids
from mentis.ports.ledger_store import LedgerStore
from mentis.ports.memory_store import MemoryStore
from mentis.ports.screener import Screener
from mentis.recall.embedding import ask
from mentis.recall.memory.around import belongs_to, elsewhere, holds_in, notes_about, own_first
from mentis.recall.memory.choosing import listing_of, public, why_not
from mentis.recall.memory.circles import circle_in
from mentis.recall.memory.hygiene import inspect
from mentis.recall.memory.index import Query
from mentis.recall.memory.picking import pick
from mentis.recall.memory.secrets_found import secrets_in
from mentis.settings.sections import MemoriesSettings
from mentis.settings.settings import Settings
from mentis.settings.sources import load_settings
from mentis.stores.files.home import Home, find_home
from mentis.stores.postgres.memories import PostgresMemories
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.memories import SqliteMemories
from mentis.values.cognition import Memory, Screening
from mentis.values.digest import Digest
from mentis.values.entry import Draft, Entry
from mentis.values.memories import (
    EVERYTHING_PUBLIC,
    FoundMemories,
    HygieneFinding,
    ImportedMemories,
    MemoryDraft,
    MemoryFilter,
    MemoryListing,
    MemoryPart,
    ScoredMemory,
    StoredMemory,
    VectorRebuild,
    Way,
    normal_text,
)
from mentis.values.memory_kind import MemoryKind
from mentis.values.trace import Degradation
from mentis.values.trust import Trust

from .committed import forget_committed, keep_committed, read_committed
from .draft import check_draft, check_whole, memory_from
from .fill import Progress, VectorFiller
from .gatekeeper import NOBODY, Gatekeeper, is_outside
from .index import AgentMemoryIndex
from .index_file import FOLDER
from .parts import HomeEmbedder, HomeScreener
from .people import People
from .transfer import memories_to_import

KEPT_BACK = MemoryListing(states=("quarantine",))
_BATCH = 32
_PIECE = 200  # memories that are read at a time
_DEFAULTS = MemoriesSettings()


@dataclass(frozen=True, slots=True)
class MemoryParts:
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
    folder: Path | None = None  # for what is made from the store and can be made anew
    # Takes a memory out of the commits of a persona.
    forget_committed: Callable[[str, str], None] | None = None


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
    chosen = place.pick_persona(persona, settings.model.persona)
    database = open_database(place, settings, parts.variables, salts=parts.salts)
    with closed_on_failure(database):
        tools = open_memory_parts(settings, database, parts)
    return Memories(f"{settings.model.name or place.name}/{chosen}", tools, database)


def open_memory_parts(settings: Settings, database: Database, parts: Parts) -> MemoryParts:
    """On the open database of a home; what `parts` lacks becomes the real thing."""
    choice = settings.model.recall.embedder
    found = None if choice == "off" else HomeEmbedder(choice)
    return MemoryParts(
        store=_open_store(settings, database, parts.variables),
        clock=parts.clock or SystemClock(),
        ids=parts.ids or RandomIds(),
        open_ledger=lambda: open_ledger(settings, database, parts.variables),
        embedder=parts.embedder or found,
        screener=parts.screener or HomeScreener(database.path.parent),
        settings=settings.model.memories,
        folder=database.path.parent / FOLDER,
        forget_committed=partial(
            forget_committed,
            open_revisions(database),
            open_blobs(Home(database.path.parent), database),
        ),
        stepped_down=tuple if parts.embedder or found is None else found.stepped_down,
    )


def _open_store(settings: Settings, database: Database, environ: Mapping[str, str]) -> MemoryStore:
    if settings.model.memories.store == "sqlite":
        return SqliteMemories(database)
    return PostgresMemories(open_postgres(settings, environ))


class Memories(Closeable):
    """Opened with `open_memories(home)`.

    ```python
    with open_memories("my-home") as memories:
        await memories.remember(MemoryDraft("Lena plays the cello.", trust=Trust.OWNER))
        found = await memories.search("cello")
    ```
    """

    def __init__(self, agent: str, tools: MemoryParts, database: Database | None = None) -> None:
        self.agent = agent
        self._tools = tools
        self._store = tools.store
        self._database = database
        self._ledger: LedgerStore | None = None
        self._searchable = AgentMemoryIndex(agent, tools.store, tools.settings, tools.folder)

    @property
    def people(self) -> People:
        """Those of whom something is known."""
        return People(self)

    @property
    def import_bytes(self) -> int:
        """How large a file may be that is imported."""
        return self._tools.settings.import_bytes

    @property
    def embedder(self) -> Embedder | None:
        """What makes their vectors; a query's own can be made by it before."""
        return self._tools.embedder

    def stepped_down(self) -> tuple[Degradation, ...]:
        """What the embedder has to do without."""
        return self._tools.stepped_down()

    async def remember(self, draft: MemoryDraft) -> StoredMemory:
        """Keep it, screened if it is from outside. Said before in the same place, it stays one."""
        checked = check_draft(draft, text_chars=self._tools.settings.text_chars)
        gate = Gatekeeper(self._tools.screener)
        memory = gate.screen(memory_from(checked, self._tools.ids.new_id(), now=self._now()))
        (kept,) = await to_thread.run_sync(self._store.add, self.agent, [memory])
        known = kept.id != memory.id
        missing: tuple[Degradation, ...] = ()
        if not known:
            kept, missing = await self._embed_new(kept)
        degraded = (*gate.degraded, *missing)
        return StoredMemory(kept, known, _notes(kept, memory, known=known), degraded)

    async def search(
        self,
        query: str,
        *,
        way: Way = "hybrid",
        wanted: MemoryFilter = EVERYTHING_PUBLIC,
        limit: int = 10,
        half_life_days: float | None = None,
        vector: Sequence[float] | None = None,
    ) -> FoundMemories:
        """The memories that fit best, each with its scores, and those that just missed.

        `vector` is the query's own, where it has one already; then nothing is embedded.
        """
        _check(query, limit)
        degraded: dict[Degradation, None] = {}
        calls = 0
        if way != "lexical" and query.strip():
            vector, calls = await self._query_vector(query, vector, degraded)
        asked = self._asked(query, way, vector, wanted=wanted, limit=limit)
        if half_life_days is not None:
            asked = replace(asked, half_life_days=_checked_days(half_life_days))
        return await to_thread.run_sync(self._find, asked, way, calls, degraded)

    def look_up(
        self, query: str, vector: Sequence[float] | None, *, wanted: MemoryFilter, limit: int
    ) -> FoundMemories:
        """What `search` finds by words and this vector, or by words alone. It blocks."""
        _check(query, limit)
        way: Way = "lexical" if vector is None else "hybrid"
        degraded: dict[Degradation, None] = {}
        if vector is not None and query.strip():
            vector = self._fitting(vector, degraded)
        asked = self._asked(query, way, vector, wanted=wanted, limit=limit)
        return self._find(asked, way, 0, degraded)

    def list(self, wanted: MemoryFilter = EVERYTHING_PUBLIC) -> tuple[Memory, ...]:
        """Those a filter lets through, in the order of their ids."""
        return self.page(wanted)

    def page(
        self,
        wanted: MemoryFilter = EVERYTHING_PUBLIC,
        *,
        count: int | None = None,
        after: str = "",
    ) -> tuple[Memory, ...]:
        """The first so many of those behind the memory with the id `after`; None: all of them."""
        return tuple(islice(self._listed(wanted, count, after), count))

    def _listed(self, wanted: MemoryFilter, count: int | None, after: str) -> Iterator[Memory]:
        """Read in pieces, since the store does not know every filter."""
        now, listing = self._now(), replace(listing_of(wanted), after=after)
        piece = None if count is None else max(count, _PIECE)
        while True:
            kept = self._store.page(self.agent, listing, count=piece)
            yield from (memory for memory in kept if not why_not(memory, wanted, now=now))
            if piece is None or len(kept) < piece:
                return
            listing = replace(listing, after=kept[-1].id)

    def part(self, listing: MemoryListing, *, start: int, count: int) -> MemoryPart:
        """A part of a list, also of what is kept back or private."""
        found = self._store.page(self.agent, listing, start=start, count=count + 1)
        shown, more = found[:count], len(found) > count
        whole = start + len(shown) if shown or not start else None
        if more or whole is None:
            # Whether words stand in a memory is only seen by reading it.
            whole = None if listing.words else self._store.count(self.agent, listing)
        return MemoryPart(shown, whole, more)

    def count(self, listing: MemoryListing) -> int:
        """How many memories a list has."""
        return self._store.count(self.agent, listing)

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
        if self._tools.forget_committed is not None:
            self._tools.forget_committed(self.agent.rpartition("/")[2], memory_id)
        self._store.forget(self.agent, memory_id)
        self._searchable.drop()
        return memory

    @property
    def remains(self) -> tuple[str, ...]:
        """Where the bytes of what was forgotten last may be for a while yet, in words."""
        return self._store.remains

    async def supersede(self, memory_id: str, draft: MemoryDraft) -> StoredMemory:
        """Keep a newer one in its place; the old one stays, marked, and is found no more."""
        old = self.get(memory_id)
        _refuse_weaker(old, memory_from(draft, "the newer memory", now=""))
        made = await self.remember(draft)
        if made.memory.id == old.id:
            raise UsageError("that is what the memory says already", hint="say what is new")
        try:
            await to_thread.run_sync(self.supersede_by, memory_id, made.memory.id)
        except StoreConflict:
            if not made.known:  # it was made to take a place that it did not get
                await to_thread.run_sync(self.forget, made.memory.id)
            raise
        return made

    def retag(self, memory_id: str, draft: MemoryDraft) -> Memory:
        """The same words, written or tagged in another way, in one step."""
        old, new = self.get(memory_id), memory_from(draft, "the memory", now="")
        if normal_text(old.text) != normal_text(new.text):
            raise UsageError("those are other words", hint="supersede the memory instead")
        _refuse_weaker(old, new)
        return self._change(old, replace(old, text=new.text, tags=new.tags, trust=new.trust))

    def supersede_by(self, memory_id: str, newer_id: str) -> Memory:
        """Mark a memory as superseded by another one that is there."""
        old, newer = self.get(memory_id), self.get(newer_id)
        _refuse_weaker(old, newer)
        chain = self._successors(newer)
        if old.id in chain:
            raise UsageError(
                f"{newer_id!r} cannot supersede {memory_id!r}: it leads back to it",
                hint="choose the newer of the two",
            )
        _refuse_circle(newer_id, chain)
        taken = self._store.find(self.agent, old.superseded_by)
        circle = circle_in(self._successors(old))
        if taken is not None and taken.id != newer_id and old.id not in circle:
            raise _changed(old, f"it was superseded by {old.superseded_by!r}")
        # None of those it leads to may change meanwhile, or two could supersede each other.
        given = tuple(chain.values())
        return self._change(old, replace(old, superseded_by=newer_id), given=given)

    def _successors(self, memory: Memory) -> dict[str, Memory]:
        """This one, what superseded it, and so on; it ends where it comes back to one of them."""
        chain: dict[str, Memory] = {}
        step: Memory | None = memory
        while step is not None and step.id not in chain:
            chain[step.id] = step
            step = self._store.find(self.agent, step.superseded_by)
        return chain

    def around(self, session: str, names: Sequence[str], *, most: int = 3) -> tuple[str, ...]:
        """Ids of what happened last in other conversations, then of notes of kind `person` about
        those who take part.
        """
        episodes, notes = (
            [one for one in self._valid(kind) if holds_in(one, session)]
            for kind in ("episode", "person")
        )
        last = elsewhere(episodes, session=session, most=most)
        return tuple(one.id for one in (*last, *notes_about(notes, names)))

    def _valid(self, kind: MemoryKind) -> list[Memory]:
        kept, now = self._searchable.of_kind(kind), self._now()
        return [one for one in kept if not why_not(one, EVERYTHING_PUBLIC, now=now)]

    def quarantine(self) -> tuple[Memory, ...]:
        """What screening has kept back, with its reasons."""
        return self._store.page(self.agent, KEPT_BACK)

    def release(self, memory_id: str, *, reason: str) -> Entry:
        """Let one out of quarantine: a person's doing, recorded before it is done. Stays marked."""
        memory = self.get(memory_id)
        if not memory.quarantined:
            raise UsageError(f"{memory_id!r} is not in quarantine", hint="nothing to release")
        marked = Screening("suspicious", memory.screening.reason if memory.screening else "")
        freed = replace(memory, screening=marked, released=self._now())
        return self._recorded("release", memory, freed, reason)

    def promote(self, memory_id: str, trust: Trust, *, reason: str) -> Entry:
        """A person vouches for it: recorded before it is done."""
        memory = self.get(memory_id)
        if trust not in (Trust.OWNER, Trust.SELF, Trust.REFERENCE):
            raise UsageError(f"no memory can be {trust.value}", hint="owner, self or reference")
        if trust.rank >= memory.worth.rank or memory.quarantined:
            state = "in quarantine" if memory.quarantined else f"{memory.worth.value} already"
            raise UsageError(f"{memory_id!r} is {state}", hint="look at it first")
        vouched = replace(memory, trust=trust, lineage=trust)
        return self._recorded(f"promote to {trust.value}", memory, vouched, reason)

    def screen_again(self) -> tuple[Memory, ...]:
        """Look anew at what nobody could look at; returns what is no longer in quarantine."""
        gate, freed = Gatekeeper(self._tools.screener), list[Memory]()
        for memory in self.quarantine():
            told = memory.screening
            if told is None or not told.reason.startswith((NOBODY, "the screener failed")):
                continue
            looked = gate.screen(memory)
            if not looked.quarantined:
                freed.append(self._change(memory, looked))
        return tuple(freed)

    def committed(self, blobs: BlobStore) -> dict[str, Digest]:
        """All memories as they are now, for a commit of the persona: digests by id."""
        return keep_committed(blobs, self._store.memories(self.agent))

    def restore(self, blobs: BlobStore, committed: Mapping[str, Digest]) -> tuple[str, ...]:
        """Make the memories those of a commit; returns what could not be brought back, in words.

        What was kept since is let go: commit it before. What screening keeps back now stays so.
        """
        lost: list[str] = []
        there = {one.id: one for one in self._store.memories(self.agent)}
        for memory_id in there.keys() - committed.keys():
            self._store.forget(self.agent, memory_id)
        for memory_id, digest in committed.items():
            old, now = read_committed(blobs, digest), there.get(memory_id)
            if old is None:
                lost.append(f"memory {memory_id} was forgotten since")
            elif now is not None and now.quarantined and not old.quarantined:
                lost.append(f"memory {memory_id} is in quarantine now, and stays there")
            elif old != now:
                self._store.remember(self.agent, old)
        self._searchable.drop()
        return tuple(lost)

    def hygiene(self) -> tuple[HygieneFinding, ...]:
        return inspect(self._store.memories(self.agent))

    def export(self, *, private: bool = False) -> bytes:
        """All of them as lines of JSON, without vectors; thoughts and diary only when asked for."""
        kept = self._store.memories(self.agent)
        return write_lines(kept if private else public(kept))

    def import_lines(self, data: bytes) -> ImportedMemories:
        """All lines or none. What comes in is untrusted, and screened by its words; `fill` makes
        its vectors, and screens by those too.
        """
        settings = self._tools.settings
        lines = read_lines(data, most_bytes=settings.import_bytes)
        there = {memory.id: memory for memory in self._store.memories(self.agent)}
        brought, notes = memories_to_import(
            lines,
            there,
            now=self._now(),
            text_chars=settings.text_chars,
            new_id=self._tools.ids.new_id,
        )
        gate = Gatekeeper(self._tools.screener)
        fresh = [gate.screen(memory) for memory in brought if memory.id not in there]
        kept = self._store.add(self.agent, fresh)
        added = [mine for mine, now in zip(fresh, kept, strict=True) if mine.id == now.id]
        known = [memory.id for memory in brought if memory.id in there]
        known += [now.id for mine, now in zip(fresh, kept, strict=True) if mine.id != now.id]
        return ImportedMemories(
            lines=len(lines),
            added=tuple(memory.id for memory in added),
            known=tuple(known),
            quarantined=tuple(memory.id for memory in added if memory.quarantined),
            waiting=len(added),
            notes=(*notes, *(one.reason for one in gate.degraded)),
        )

    async def rebuild(
        self, progress: Progress | None = None, *, batch: int = _BATCH
    ) -> VectorRebuild:
        """Make the vectors that this embedder has not made yet; then let those of others go.

        Each batch is kept when it is done: whoever stops it goes on from there the next time.
        """
        filler = self._filler()
        done = await filler.fill(progress, batch)
        if not done.complete:
            return done
        return replace(done, dropped=await to_thread.run_sync(filler.drop_others))

    async def fill(self, progress: Progress | None = None, *, batch: int = _BATCH) -> VectorRebuild:
        """Make the vectors that are missing, as after an import. It stops like `rebuild`."""
        return await self._filler().fill(progress, batch)

    @asynccontextmanager
    async def filling(self, progress: Progress | None = None) -> AsyncGenerator[None]:
        """Missing vectors are made in the background while the block runs; what is left waits."""
        async with create_task_group() as group:
            group.start_soon(self.fill, progress)
            yield
            group.cancel_scope.cancel()

    def wait_for_index(self) -> None:
        """Until no index of vectors is being made: searches before that look at all of them."""
        self._searchable.wait_for_index()

    def kept_since(
        self, ids: Sequence[str], revision: int | None, *, session: str
    ) -> tuple[FoundMemories, int]:
        """Those with these ids, then what was kept or changed after a revision, own ones and the
        newest first; and the revision now. Each is looked at like any that is found.

        What belongs to another session or scope is not among the latter.
        """
        standing = self._store.standing(self.agent)
        changed = () if revision is None else self._store.memories(self.agent, since=revision)
        later = own_first(one for one in changed if belongs_to(one, session))
        found = (self._store.find(self.agent, one) for one in ids)
        there = {one.id: one for one in (*filter(None, found), *later)}
        gate = Gatekeeper(self._tools.screener, self._searchable.vector_of)
        now = self._now()
        allowed = [one for one in there.values() if not why_not(one, EVERYTHING_PUBLIC, now=now)]
        hits = tuple(
            ScoredMemory(
                one, 0.0, chosen=True, reason="told of before" if one.id in ids else "written"
            )
            for one in allowed
            if not gate.why_not(one)
        )
        filtered = len(allowed) - len(hits)
        degraded = tuple(gate.degraded)
        return FoundMemories(
            "", "lexical", hits, filtered=filtered, degraded=degraded
        ), standing.revision

    def close(self) -> None:
        self._searchable.close()
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
        embedder = self._tools.embedder
        if given is not None or embedder is None:
            return self._fitting(given, degraded), 0
        try:
            (made,) = await ask(embedder, [query])
        except MentisError as error:
            degraded[_no_vector(error.message)] = None
            return None, 1
        return self._fitting(made, degraded), 1

    def _fitting(
        self, vector: Sequence[float] | None, degraded: dict[Degradation, None]
    ) -> Sequence[float] | None:
        """The vector where there is an embedder that makes such vectors of the memories too."""
        if self._tools.embedder is None:
            degraded[_no_vector("none is configured")] = None
            return None
        try:
            degraded.update(dict.fromkeys(self._tools.stepped_down()))
        except MentisError as error:
            degraded[_no_vector(error.message)] = None
            return None
        return vector

    def _asked(
        self,
        query: str,
        way: Way,
        vector: Sequence[float] | None,
        *,
        wanted: MemoryFilter,
        limit: int,
    ) -> Query:
        return Query(
            text=query,
            vector=None if way == "lexical" else vector,
            lexical=way != "semantic" or vector is None,
            wanted=wanted,
            limit=limit,
            now=self._now(),
            half_life_days=self._tools.settings.half_life_days,
        )

    def _find(
        self, asked: Query, way: Way, calls: int, degraded: dict[Degradation, None]
    ) -> FoundMemories:
        embedder = self._tools.embedder
        fingerprint = embedder.fingerprint if embedder and asked.vector is not None else ""
        ranked = self._searchable.search(asked, fingerprint, degraded)
        gate = Gatekeeper(self._tools.screener, self._searchable.vector_of)
        picked = pick(ranked, limit=asked.limit, screen=gate.why_not, wanted=asked.wanted)
        return FoundMemories(
            query=asked.text,
            way=way,
            hits=tuple([_marked(row, gate) for row in picked.hits]),
            near=picked.near,
            filtered=picked.filtered,
            searched=self._searchable.size,
            embedding_calls=calls,
            vectors=ranked.vectors,
            degraded=(*degraded, *gate.degraded),
        )

    async def _embed_new(self, memory: Memory) -> tuple[Memory, tuple[Degradation, ...]]:
        """A memory is kept whether or not there is a vector of it; with one, it is judged by it."""
        if self._tools.embedder is None:
            return memory, ()
        try:
            _, judged = await self._filler().embed([memory])
        except MentisError as error:
            return memory, (Degradation("embedder", f"{error.message}: it has no vector yet"),)
        return (judged[0] if judged else memory), self._tools.stepped_down()

    def _filler(self) -> VectorFiller:
        embedder = self._tools.embedder
        if embedder is None:
            raise EngineMissing(
                "no embedder is configured, so there is nothing to make vectors with",
                hint="memories are found by their words until there is one",
            )
        return VectorFiller(self.agent, self._store, embedder, self._tools.screener)

    def _change(self, before: Memory, after: Memory, *, given: Sequence[Memory] = ()) -> Memory:
        """One of two who change a memory at once wins; the other is told."""
        changed = replace(after, updated=self._now())
        if not self._store.change(self.agent, before, changed, given=given):
            raise _changed(before, "somebody else changed it meanwhile")
        return changed

    def _recorded(self, what: str, before: Memory, after: Memory, reason: str) -> Entry:
        entry = self._record(what, before, reason)
        try:
            self._change(before, after)
        except StoreConflict as error:
            self._record(f"{what}: not done", before, error.message)
            raise
        return entry

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


def _changed(memory: Memory, why: str) -> StoreConflict:
    return StoreConflict(
        f"memory {memory.id!r} was not changed: {why}",
        hint="look at it again, then decide",
        memory=memory.id,
    )


def _check(query: str, limit: int) -> None:
    if limit < 1:
        raise UsageError(f"{limit} memories cannot be searched for", hint="ask for 1 or more")
    check_whole(query, "the query")


def _checked_days(days: float) -> float:
    if not math.isfinite(days) or days < 0:
        raise UsageError(
            f"a half-life of {days} days means nothing",
            hint="give a number of days more than 0; 0 takes no weight from age",
        )
    return days


def _marked(row: ScoredMemory, gate: Gatekeeper) -> ScoredMemory:
    memory = gate.marked(row.memory)
    return row if memory is row.memory else replace(row, memory=memory)


def _no_vector(why: str) -> Degradation:
    return Degradation("embedder", f"{why}: words alone are searched")


def _refuse_weaker(old: Memory, newer: Memory) -> None:
    """Text from outside must not make the agent lose what somebody vouched for."""
    if newer.quarantined:
        raise UsageError(
            f"{newer.id!r} is in quarantine and takes nobody's place",
            hint="look at it, and release it first",
        )
    if newer.worth.rank > old.worth.rank:
        raise UsageError(
            f"{newer.id!r} is {newer.worth.value} and cannot take the place of what is"
            f" {old.worth.value}",
            hint="promote it first, if you vouch for it",
        )


def _refuse_circle(newer_id: str, chain: Mapping[str, Memory]) -> None:
    if circle := circle_in(chain):
        raise UsageError(
            f"{newer_id!r} leads into a circle of memories that supersede each other:"
            f" {', '.join(circle)}",
            hint=f"open it first: mentis memory supersede {circle[0]} TEXT",
        )


def _notes(kept: Memory, given: Memory, *, known: bool) -> tuple[str, ...]:
    notes: list[str] = []
    if known:
        notes.append(f"known since {kept.time} as {kept.id}; nothing was added")
        if kept.worth is not given.worth:
            notes.append(f"it is kept as {kept.worth.value}")
    if kept.quarantined and kept.screening:
        notes.append(f"in quarantine: {kept.screening.reason}")
    notes += [f"it seems to hold {what}" for what in secrets_in(kept.text)]
    if is_outside(kept) and kept.screening and kept.screening.outcome == "suspicious":
        notes.append(f"suspicious: {kept.screening.reason}")
    return tuple(notes)
