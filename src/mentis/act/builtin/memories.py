"""Notes that can be found again: `remember` keeps one, `recall` looks for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from mentis.values.act import ActCall
from mentis.values.action import Outcome
from mentis.values.cognition import Screening
from mentis.values.memories import (
    FoundMemories,
    MemoryDraft,
    MemoryFilter,
    ScoredMemory,
    StoredMemory,
)
from mentis.values.memory_kind import PRIVATE_KINDS, MemoryKind
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust, least_trusted

from .arguments import Arguments
from .kind import BuiltIn, Kind

REMEMBER = Kind(
    "remember", "memory", limits="4,000 characters, 8 tags; kinds that instruct are refused"
)
RECALL = Kind("recall", "core", limits="at most 20 notes, 5 unless asked for more")
# `system`, `meta` and `override` are not among them: nothing an agent notes gives it orders.
KINDS: tuple[MemoryKind, ...] = (
    "observation",
    "fact",
    "decision",
    "preference",
    "rule",
    "gotcha",
    "episode",
    "person",
    "diary",
    "thought",
)
# What a model may be told of when it asks: nothing private, and nothing that reads like an order.
_TOLD = MemoryFilter(kinds=tuple(kind for kind in KINDS if kind not in PRIVATE_KINDS))


class Notes(Protocol):
    """The memories of the agent that acts. What comes from outside is screened when it is kept and
    when it is found.
    """

    async def remember(self, draft: MemoryDraft) -> StoredMemory: ...

    async def search(self, query: str, *, wanted: MemoryFilter, limit: int) -> FoundMemories: ...


class Remember(BuiltIn):
    """Said again it stays one note, so the same call may come twice."""

    def __init__(self, words: ToolDeclaration, notes: Notes) -> None:
        super().__init__(REMEMBER.spec(words))
        self._notes = notes

    async def _act(self, call: ActCall, given: Arguments) -> Outcome:
        draft = MemoryDraft(
            text=given.text("text", most=4000),
            kind=given.choice("kind", KINDS, "observation"),
            trust=Trust.SELF,
            lineage=least_trusted((Trust.SELF, call.lineage)),
            source=f"act:{call.key}",
            session=call.session,
            tags=given.texts("tags", most=8, each=40),
        )
        kept = await self._notes.remember(draft)
        memory = kept.memory
        result = {"id": memory.id, "kind": memory.kind, "trust": memory.worth.value}
        if memory.quarantined:
            result["state"] = "quarantined"
        return self._done(call, result, Trust.RUNTIME)


class Recall(BuiltIn):
    def __init__(self, words: ToolDeclaration, notes: Notes) -> None:
        super().__init__(RECALL.spec(words))
        self._notes = notes

    async def _act(self, call: ActCall, given: Arguments) -> Outcome:
        query = given.text("query", most=1000)
        limit = given.whole("limit", 1, 20, 5)
        found = await self._notes.search(query, wanted=_TOLD, limit=limit)
        known = (hit.memory.worth for hit in found.hits)
        result: dict[str, object] = {
            "memories": [_told(hit) for hit in found.hits],
            "kept": found.searched,
        }
        if found.filtered:
            result["filtered"] = found.filtered
        done = self._done(call, result, least_trusted((Trust.RUNTIME, *known)))
        return replace(done, screening=_verdict(found.hits))


def _verdict(hits: Sequence[ScoredMemory]) -> Screening | None:
    """Each was looked at when it was found, and what a person let out of quarantine stays out: all
    of them in one text are not judged once more.
    """
    outside = [hit.memory for hit in hits if hit.memory.worth.rank > Trust.SELF.rank]
    if not outside:
        return None
    marked = [one.id for one in outside if one.screening and one.screening.outcome != "clean"]
    if not marked:
        return Screening("clean")
    return Screening("suspicious", f"so were memories among them: {', '.join(marked)}")


def _told(hit: ScoredMemory) -> dict[str, object]:
    memory = hit.memory
    return {
        "id": memory.id,
        "kind": memory.kind,
        "text": memory.text,
        "tags": list(memory.tags),
        "trust": memory.worth.value,
        "source": memory.source,
        "time": memory.time,
        "score": hit.score,
    }
