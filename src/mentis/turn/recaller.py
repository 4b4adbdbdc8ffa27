"""Recalls for a turn what comes to mind, and knows where in the prompt each of it stands.

Nothing is loaded for an agent whose tools all fit and that has neither memories nor skills.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING

from anyio import to_thread

from mentis.codec.forms import from_json, to_object
from mentis.disk.inside import seen_from
from mentis.errors import MentisError, StoreError
from mentis.home.ground import Ground
from mentis.library.acts import DOORWAY
from mentis.recall.stance import load_stances
from mentis.settings.sections import RecallSettings
from mentis.stores.sqlite.memories import SqliteMemories
from mentis.tools.own_memories import OwnMemories
from mentis.tools.skill_texts import SKILLS, has_skills
from mentis.values.block import Mode
from mentis.values.mark import Mark
from mentis.values.memories import MemoryListing
from mentis.values.recalled import RecalledContext, Stimulus
from mentis.values.residency import Residency
from mentis.values.selection import SelectionLimits
from mentis.values.span import Span
from mentis.values.tool import ToolDeclaration
from mentis.values.trace import Degradation
from mentis.values.trust import Trust
from mentis.values.turn import Turn
from mentis.values.written import dump

if TYPE_CHECKING:
    from mentis.memories.memories import Memories
    from mentis.recall.skills import SkillsFound

    from .recall_sources import RecallSources

RESIDENCY = "residency"  # the kind of mark
_MESSAGES = "message_"
_ALWAYS = ("read_skill",)  # is there only where there are skills
_MOST_RECAPS = 3  # of other conversations
_ANY = MemoryListing(states=())
_MOST_WRITTEN = 5  # memories written since, told before anybody asks for them


@dataclass(frozen=True, slots=True)
class RecallScope:
    """What there is to look through, seen without loading anything for it.

    `passing`: nothing is chosen or recalled, and the session keeps nothing of it. `own` are the
    tools that the program brings itself. `people` are guests who take part in the conversation.
    """

    session: str
    residency: Residency
    limits: SelectionLimits
    tools: tuple[ToolDeclaration, ...]
    memories: bool = False
    skills: bool = False
    degraded: tuple[Degradation, ...] = ()
    passing: bool = False
    own: tuple[str, ...] = ()
    people: tuple[str, ...] = ()

    def joined_by(self, turns: Iterable[Turn]) -> RecallScope:
        """With those who spoke in these turns."""
        names = dict.fromkeys(turn.author for turn in turns if turn.author)
        return replace(self, people=tuple(names)) if names else self

    @property
    def chooses(self) -> bool:
        return len(self.tools) > self.limits.max_tools

    @property
    def is_needed(self) -> bool:
        return self.chooses or self.memories or self.skills

    @property
    def base(self) -> tuple[str, ...]:
        """What is declared whatever the message is about: a conversation takes it as a task."""
        if not self.chooses:
            return ()
        own = self.own if len(self.own) < self.limits.max_tools else ()
        base = (*load_stances().base["act"], *_ALWAYS, *own)
        names = (tool.name for tool in self.tools)
        return tuple(name for name in names if name in base or name.startswith(_MESSAGES))


@dataclass(frozen=True, slots=True)
class RecallResult:
    """`recalled` holds what fits this message. `spans` are all memories that may be told now, and
    `also` the ids of those that are, whatever the message says: notes about who takes part, and
    what was written since the epoch began. `revision` is where the memories stand.
    """

    outlook: RecallScope
    recalled: RecalledContext
    spans: tuple[Span, ...] = ()
    also: tuple[str, ...] = ()
    revision: int = 0


class Recaller:
    """Held by an agent."""

    def __init__(self, ground: Ground, notes: OwnMemories) -> None:
        self._ground = ground
        self._notes = notes
        self._recalling: RecallSources | None = None
        self._opening = Lock()

    def skills_seen(self) -> SkillsFound | None:
        """Those that the last look found; None where nobody looked."""
        return None if self._recalling is None else self._recalling.skills_seen

    def scope(
        self,
        session: str,
        tools: tuple[ToolDeclaration, ...],
        chosen: RecallSettings,
        *,
        mode: Mode = "chat",
    ) -> RecallScope:
        """It blocks. A delivery goes to whoever waits for a result and is shown nothing private; a
        voice is opened before anybody has said what it will be about.
        """
        if mode in ("delivery", "live"):
            everything = SelectionLimits(max_tools=len(tools), max_skills=0, max_memories=0)
            return RecallScope(session, Residency(), everything, tools, passing=True)
        residency, degraded = self._residency(session)
        limits = SelectionLimits(
            max_tools=chosen.max_tools,
            max_skills=chosen.max_skills,
            max_memories=chosen.max_memories,
            embed_seconds=chosen.embed_seconds,
        )
        return RecallScope(
            session,
            residency,
            limits,
            tools,
            memories=chosen.max_memories > 0 and self._has_memories(),
            skills=chosen.max_skills > 0 and has_skills(self._ground.home.path / SKILLS),
            degraded=degraded,
            own=tuple(handler.spec.name for handler in self._ground.handlers),
        )

    async def recall(self, stimulus: Stimulus, outlook: RecallScope) -> RecallResult:
        """Embeds once, and only if there is something to compare with."""
        if not outlook.is_needed:
            return empty_recall(stimulus, outlook)
        recalled = await self._recalled(stimulus, outlook)
        if not outlook.memories:
            return RecallResult(outlook, recalled)
        return await to_thread.run_sync(self._with_epoch, outlook, recalled)

    def _around(
        self, memories: Memories, outlook: RecallScope, stimulus: Stimulus
    ) -> tuple[str, ...]:
        """Who takes part and, when the owner begins a conversation, what happened elsewhere.

        A guest is known only by the tag that their interface vouches for: anybody can give
        themself a name.
        """
        names, begins = _names(stimulus, outlook.people), not outlook.residency.turns
        most = _MOST_RECAPS if begins and _is_owner(stimulus) else 0
        return memories.around(outlook.session, names, most=most) if names or most else ()

    async def _recalled(self, stimulus: Stimulus, outlook: RecallScope) -> RecalledContext:
        from mentis.recall.recall import RecallAim

        recalling = self._recalling or await to_thread.run_sync(self._opened)
        recalled = await recalling.recall(
            stimulus,
            outlook.tools if outlook.chooses else (),
            aim=RecallAim(base=outlook.base, limits=outlook.limits),
            memories=outlook.memories,
        )
        degraded = recalled.degraded
        if not outlook.chooses and not outlook.skills:  # then there is nothing to be in a manifest
            degraded = tuple(step for step in degraded if step.part != "manifest")
        return replace(recalled, degraded=(*outlook.degraded, *degraded))

    def _with_epoch(self, outlook: RecallScope, recalled: RecalledContext) -> RecallResult:
        from mentis.recall.epochs import memory_id
        from mentis.recall.memory.telling import memory_spans

        kept = outlook.residency
        try:
            memories = self._notes.open()
            around = self._around(memories, outlook, recalled.stimulus)
            told_before = (*kept.memories.names, *around)
            owner = _is_owner(recalled.stimulus)
            since = kept.revision if kept.turns and owner else None
            found, revision = memories.kept_since(told_before, since, session=outlook.session)
            if kept.turns and not owner:
                revision = kept.revision  # whom it may be told has not heard of it yet
        except StoreError as error:
            reason = seen_from(self._ground.home.path, error.message)
            step = Degradation("memories", f"{reason}: none are told")
            recalled = replace(recalled, memories=(), degraded=(*recalled.degraded, step))
            return RecallResult(outlook, recalled)
        there, untold = memory_spans(found, mode="chat", most=len(found.hits))
        known = set(told_before)
        written = tuple(name for name in map(memory_id, there) if name not in known)
        degraded = [*recalled.degraded, *found.degraded]
        if more := len(written) - _MOST_WRITTEN:
            told_of = f"{len(written)} were written since; the newest {_MOST_WRITTEN} are told"
            degraded += [Degradation("memories", told_of)] if more > 0 else []
        spans = {memory_id(one): one for one in (*there, *recalled.memories)}
        recalled = replace(
            recalled,
            filtered=recalled.filtered + untold,
            degraded=tuple(dict.fromkeys(degraded)),
        )
        return RecallResult(
            outlook, recalled, tuple(spans.values()), (*around, *written[:_MOST_WRITTEN]), revision
        )

    def recall_people(self, stimulus: Stimulus, outlook: RecallScope) -> RecallResult:
        """Nothing but what is known of who takes part, and all tools. It blocks."""
        from mentis.recall.epochs import memory_id
        from mentis.recall.memory.telling import memory_spans

        brought, session = empty_recall(stimulus, outlook), outlook.session
        names = tuple(filter(None, _names(stimulus, outlook.people)))
        if not names or not self._has_memories():
            return brought
        memories = self._notes.open()
        notes = memories.around(session, names, most=0)
        found, _ = memories.kept_since(notes, None, session=session)
        spans, _ = memory_spans(found, mode="live", most=len(found.hits))
        return replace(brought, spans=spans, also=tuple(map(memory_id, spans)))

    def _residency(self, session: str) -> tuple[Residency, tuple[Degradation, ...]]:
        mark = self._ground.ledger.mark(self._ground.agent, RESIDENCY, session)
        if mark is None or mark.value is None:
            return Residency(), ()
        written = dump(mark.value)
        if (known := _WRITTEN.get(written)) is not None:
            return known, ()
        try:
            return from_json(Residency, written), ()
        except MentisError as error:
            reason = f"what the session keeps cannot be read, so it begins anew: {error.message}"
            return Residency(), (Degradation(RESIDENCY, reason),)

    def _has_memories(self) -> bool:
        ground = self._ground
        if ground.settings.model.memories.store != "sqlite":
            return True  # whoever looks there opens it
        return bool(SqliteMemories(ground.database).page(ground.agent, _ANY, count=1))

    def _opened(self) -> RecallSources:
        from .recall_sources import (
            RecallSources,  # numpy and the gloss, which most turns do without
        )

        with self._opening:
            if self._recalling is None:
                opened = RecallSources(self._ground.home.path, self._notes, grows=True)
                opened.reader  # noqa: B018  # read the gloss here, in a worker thread
                self._recalling = opened
            return self._recalling


def _names(stimulus: Stimulus, people: tuple[str, ...]) -> tuple[str, ...]:
    """What those are called of whom it may be told what is known."""
    said = stimulus.runtime_ctx
    return (stimulus.author, said.username, *people) if _is_owner(stimulus) else (said.usertag,)


def _is_owner(stimulus: Stimulus) -> bool:
    """Only the owner is told what nobody asked for: everybody else, what fits their message."""
    return stimulus.trust is Trust.OWNER


def empty_recall(stimulus: Stimulus, outlook: RecallScope) -> RecallResult:
    return RecallResult(
        outlook, RecalledContext(stimulus, tools=outlook.tools, degraded=outlook.degraded)
    )


def residency_mark(session: str, residency: Residency) -> Mark:
    value = to_object(residency)
    _WRITTEN[dump(value)] = residency
    if len(_WRITTEN) > _MOST_WRITTEN_KEPT:
        _WRITTEN.pop(next(iter(_WRITTEN)), None)
    return Mark(RESIDENCY, session, value)


# By what was written of them: the next turn of a session finds its own without reading it again.
_WRITTEN: dict[bytes, Residency] = {}
_MOST_WRITTEN_KEPT = 256


def leads_elsewhere(tools: tuple[ToolDeclaration, ...]) -> bool:
    """Whether the name of the doorway is taken by a tool of the agent's own."""
    return any(tool.name == DOORWAY for tool in tools)
