"""Sources of recall: one embedder, what can be selected, and the memories.

What lies in files is read once per revision: when the manifest, the skills or the tools changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from pathlib import Path

from anyio import to_thread

from mentis.disk.inside import seen_from
from mentis.engines.cached import CachedEmbedder
from mentis.engines.shared_lock import SharedLock
from mentis.errors import EngineFailed, MentisError
from mentis.memories.memories import Memories
from mentis.ports.embedder import Embedder, Remembering
from mentis.recall.catalogue import as_known, missing_vectors, words_manifest
from mentis.recall.cuts import SelectionCut
from mentis.recall.embedding import Patience, embed_once
from mentis.recall.manifest import WordReader, build_manifest, texts_of
from mentis.recall.manifest_file import FILE, load_manifest
from mentis.recall.memory.choosing import tellable
from mentis.recall.ranking import Ranking
from mentis.recall.recall import RecallAim, recall
from mentis.recall.skills import SkillsFound, read_skills, stamp_of
from mentis.tools.missing_vectors import BackOff, GrowingEmbedder
from mentis.tools.own_memories import OwnMemories
from mentis.tools.selection import CUTS, load_cuts, of_tools, own_reader
from mentis.values.memories import FoundMemories, MemoryFilter
from mentis.values.recalled import EmbeddedText, RecalledContext, Stimulus
from mentis.values.selection import Capability, Manifest, SelectionLimits
from mentis.values.tool import ToolDeclaration
from mentis.values.trace import Degradation
from mentis.values.words import quantity

_LIMITS = SelectionLimits()
_ANY = RecallAim()
_NO_SKILLS = SkillsFound(())
# Texts of tools and skills that are embedded on the way: of one alone there may be thousands. For
# more, a manifest is built.
_AT_ONCE = 128
_BUILD = "mentis manifest build"


@dataclass(frozen=True, slots=True)
class RecallCatalogue:
    """What can be selected. `embedded` says how many texts were embedded for it by this call, since
    no manifest had them. `whole` is off while some still wait for that.
    """

    tools: Mapping[str, ToolDeclaration]
    ranking: Ranking | None
    degraded: tuple[Degradation, ...] = ()
    embedded: int = 0
    whole: bool = True
    skills: SkillsFound = _NO_SKILLS

    @property
    def cuts(self) -> Mapping[str, SelectionCut]:
        """The owner's own cuts."""
        return {} if self.ranking is None else self.ranking.cuts

    @property
    def notes(self) -> tuple[Degradation, ...]:
        if not self.embedded or not self.whole:
            return self.degraded
        told = quantity(self.embedded, "text was", "texts were")
        reason = f"{told} embedded, since it does not have them: {_BUILD}"
        return (*self.degraded, Degradation("manifest", reason))


@dataclass(frozen=True, slots=True)
class _Made:
    """A manifest of all that is there, or None; `embedded` texts were new."""

    manifest: Manifest | None = None
    embedded: int = 0
    degraded: tuple[Degradation, ...] = ()
    whole: bool = True


@dataclass(frozen=True, slots=True)
class _Missing:
    """What vectors are made with: what has some already, and how many must wait for theirs."""

    embedder: Embedder
    known: Manifest | None
    waiting: int
    patience: Patience | None


class RecallSources:
    """Held by an agent. Nothing is read or loaded before somebody asks.

    `grows`: many tools without vectors get them some at a time, with each turn; else that is left
    to whoever builds the manifest, so that every task finds the same.
    """

    def __init__(self, home: Path, notes: OwnMemories, *, grows: bool = False) -> None:
        self._grows = grows
        self._grown: Manifest | None = None
        self._growing: GrowingEmbedder | None = None
        self._back_off = BackOff()
        self._manifest = home / FILE
        self._files = (str(self._manifest), str(self._manifest.with_name(CUTS)))
        self._skills = home / "skills"
        self._notes = notes
        self._lock = SharedLock()
        self._known: tuple[object, RecallCatalogue] | None = None
        self._embedder: Embedder | None = None
        self._opened_notes: Memories | None = None
        self._reader: WordReader | None = None

    async def embed(self, text: str, limits: SelectionLimits = _LIMITS) -> EmbeddedText:
        """The one embedding of a text."""
        embedder, degraded = await self._opened()
        made = await embed_once(text, embedder, reader=self.reader, seconds=limits.embed_seconds)
        return replace(made, degraded=(*made.degraded, *degraded)) if degraded else made

    async def recall(
        self,
        stimulus: Stimulus,
        tools: tuple[ToolDeclaration, ...],
        *,
        aim: RecallAim = _ANY,
        memories: bool = True,
    ) -> RecalledContext:
        """What comes to mind, with one embedding."""
        patience = Patience.of(aim.limits.embed_seconds)
        embedded = await self.embed(stimulus.text, aim.limits)
        there = await self.catalogue(tools, None if embedded.vector is None else patience)
        self.check_width(embedded)
        among = partial(self.recall_among, memories=memories)
        return await to_thread.run_sync(among, there, stimulus, embedded, aim)

    def recall_among(
        self,
        there: RecallCatalogue,
        stimulus: Stimulus,
        embedded: EmbeddedText,
        aim: RecallAim,
        *,
        memories: bool = True,
    ) -> RecalledContext:
        """The same, of what there is and what the words were made into. It blocks."""
        recalled = recall(
            stimulus,
            embedded=embedded,
            tools=there.tools,
            ranking=there.ranking,
            search=partial(self._search, aim=aim) if memories else None,
            aim=aim,
        )
        notes = there.notes
        return replace(recalled, degraded=(*notes, *recalled.degraded)) if notes else recalled

    def check_width(self, embedded: EmbeddedText) -> None:
        """What was made here of a size that the embedder no longer gives is made anew."""
        if self._grown is None or embedded.vector is None:
            return
        if self._grown.header.dimension != len(embedded.vector):
            self._known = self._grown = None

    async def catalogue(
        self, tools: tuple[ToolDeclaration, ...], patience: Patience | None = None
    ) -> RecallCatalogue:
        """What can be selected, read anew only when something of it has changed.

        Vectors that are missing are made while the patience lasts. Without any, as for a task that
        has no vector itself, they wait for another call; so they do while the embedder fails.
        """
        revision = (tools, *map(stamp_of, self._files))
        if (known := self._of(revision)) is not None and known.whole:
            return known
        async with self._lock:
            known = self._of(revision)
            if known is not None and (known.whole or patience is None or self._back_off.rests()):
                return known
            found = await self._read(tools, patience)
            self._known = (revision, replace(found, embedded=0))
            return found

    def _of(self, revision: object) -> RecallCatalogue | None:
        if self._known is None or self._known[0] != revision or not self._known[1].skills.current:
            return None
        return self._known[1]

    @property
    def skills_seen(self) -> SkillsFound | None:
        """Those that the last look found; None where nobody looked."""
        return None if self._known is None else self._known[1].skills

    @property
    def reader(self) -> WordReader:
        if self._reader is None:
            self._reader = own_reader()
        return self._reader

    async def embedder(self) -> Embedder | None:
        return (await self._opened())[0]

    async def _opened(self) -> tuple[Embedder | None, tuple[Degradation, ...]]:
        """The embedder of the memories, so that there is one; they may not be there themselves."""
        try:
            memories = await self._memories()
            own, degraded = memories.embedder, memories.stepped_down()
        except MentisError:
            own, degraded = self._embedder or self._notes.embedder(), ()
        if self._embedder is None and own is not None:
            self._embedder = own if isinstance(own, Remembering) else CachedEmbedder(own)
        return self._embedder, degraded

    async def _memories(self) -> Memories:
        """Opened once: a thread for each look would cost more than the look."""
        if self._opened_notes is None:
            self._opened_notes = await to_thread.run_sync(self._notes.open)
        return self._opened_notes

    def _search(self, embedded: EmbeddedText, *, aim: RecallAim) -> FoundMemories:
        """The memories that a model may be told; where there are none to be had, none."""
        wanted, limit = MemoryFilter(kinds=tellable(aim.mode)), aim.limits.max_results
        try:
            memories = self._opened_notes or self._notes.open()
            return memories.look_up(embedded.text, embedded.vector, wanted=wanted, limit=limit)
        except MentisError as error:
            way = "lexical" if embedded.vector is None else "hybrid"
            reason = f"{self._inside(error)}: no memories"
            return FoundMemories(embedded.text, way, degraded=(Degradation("memories", reason),))

    async def _read(
        self, tools: tuple[ToolDeclaration, ...], patience: Patience | None
    ) -> RecallCatalogue:
        manifest, cuts, skills, steps = await to_thread.run_sync(self._load)
        there = as_known((*of_tools(tools), *skills.skills), manifest)
        made = await self._made(there, manifest, patience)
        ranking = None
        if there:
            ranked = made.manifest
            ranked = ranked or await to_thread.run_sync(words_manifest, there, self.reader)
            ranking = await to_thread.run_sync(Ranking, ranked, cuts)
        named = {one.name: one for one in tools}
        degraded = (*steps, *made.degraded)
        return RecallCatalogue(named, ranking, degraded, made.embedded, made.whole, skills)

    def _load(
        self,
    ) -> tuple[Manifest | None, Mapping[str, SelectionCut], SkillsFound, list[Degradation]]:
        steps: list[Degradation] = []
        manifest, cuts = None, dict[str, SelectionCut]()
        try:
            manifest = load_manifest(self._manifest)
        except MentisError as error:
            steps.append(Degradation("manifest", f"{self._inside(error)}: it is left aside"))
        try:
            cuts.update(load_cuts(self._manifest))
        except MentisError as error:
            steps.append(Degradation("cut", f"{self._inside(error)}: those that ship hold"))
        skills = read_skills(self._skills, home=self._skills.parent)
        steps += [Degradation("skills", problem) for problem in skills.problems]
        return manifest, cuts, skills, steps

    def _inside(self, error: MentisError) -> str:
        """What went wrong; files are named as they are seen from the home."""
        return seen_from(self._skills.parent, error.message)

    async def _made(
        self,
        there: tuple[Capability, ...],
        manifest: Manifest | None,
        patience: Patience | None,
    ) -> _Made:
        """With vectors of all that is there; without a manifest where that cannot be had."""
        embedder = await self.embedder()
        if embedder is None or not there:
            return _Made()
        try:
            model, reader = embedder.fingerprint, self.reader
        except MentisError as error:
            return _Made(degraded=_unmade(error.message), whole=False)
        if manifest is not None and manifest.header.model != model:
            reason = f"was made by {manifest.header.model}, the embedder is {model}: {_BUILD}"
            return _Made(degraded=(Degradation("manifest", reason),))
        known = self._grown if self._grown and self._grown.header.model == model else manifest
        missing = missing_vectors(there, known, model=model, reading=reader.name)
        waiting = set(missing[_at_once(missing) :])
        if waiting and not self._grows:
            return _Made(degraded=_too_many(missing))
        if missing and patience is None:
            return _Made(whole=False)
        now = tuple(one for one in there if one not in waiting)
        return await self._built(now, _Missing(embedder, known, len(waiting), patience))

    async def _built(self, now: tuple[Capability, ...], missing: _Missing) -> _Made:
        if self._growing is None:
            self._growing = GrowingEmbedder(missing.embedder)
        growing, before = self._growing, len(self._growing)
        growing.patience = missing.patience
        try:
            made, _ = await build_manifest(now, growing, self.reader, previous=missing.known)
        except MentisError as error:
            return self._unbuilt(error, len(growing) - before)
        self._back_off.note_success()
        self._grown, self._growing, count = made, None, len(growing) - before
        if not missing.waiting:
            return _Made(made, count)
        reason = f"{missing.waiting} tools and skills have no vectors yet: {_BUILD}"
        return _Made(None, count, (Degradation("manifest", reason),), whole=False)

    def _unbuilt(self, error: MentisError, count: int) -> _Made:
        """Nothing of a failure is kept, but what was made before it is."""
        if isinstance(error, EngineFailed):
            why = f"the embedder {error.message}"
        else:  # it gave vectors that do not fit together
            why, count = error.message, 0
            self._growing = self._grown = None
        if not count:
            self._back_off.note_failure()
        return _Made(None, count, _unmade(why), whole=False)


def _at_once(missing: Sequence[Capability]) -> int:
    """How many of them are embedded in one go; one is, however many texts it has."""
    so_far = accumulate(len(texts_of(one)) for one in missing)
    return max(1, sum(texts <= _AT_ONCE for texts in so_far))


def _too_many(missing: Sequence[Capability]) -> tuple[Degradation, ...]:
    texts = sum(len(texts_of(one)) for one in missing)
    told = f"{quantity(len(missing), 'tool or skill', 'tools and skills')} of {texts} texts"
    more = f"no vectors, and more than {_AT_ONCE} are not embedded on the way"
    return (Degradation("manifest", f"{told} have {more}: {_BUILD}"),)


def _unmade(why: str) -> tuple[Degradation, ...]:
    return (Degradation("manifest", f"{why}: tools and skills have no vectors"),)
