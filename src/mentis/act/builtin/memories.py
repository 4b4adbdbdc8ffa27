"""Notes that can be found again: `remember` keeps one, `recall` looks for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC
from typing import TypeAlias

from anyio.to_thread import run_sync

from mentis.ports.clock import Clock
from mentis.ports.memory_store import MemoryStore
from mentis.values.act import ActCall
from mentis.values.action import Outcome
from mentis.values.cognition import Memory
from mentis.values.digest import digest
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust, least_trusted

from .arguments import Arguments
from .kind import BuiltIn, Kind
from .search import Found, search

REMEMBER = Kind(
    "remember", "memory", limits="4,000 characters, 8 tags; kinds that instruct are refused"
)
RECALL = Kind("recall", "core", limits="at most 20 notes, 5 unless asked for more")
# `system`, `meta` and `override` are not among them: nothing an agent notes gives it orders.
KINDS = (
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
Search: TypeAlias = Callable[[Sequence[Memory], str, int], tuple[Found, ...]]


class Remember(BuiltIn):
    def __init__(self, words: ToolDeclaration, memories: MemoryStore, clock: Clock) -> None:
        super().__init__(REMEMBER.spec(words))
        self._memories = memories
        self._clock = clock

    async def _act(self, call: ActCall, given: Arguments) -> Outcome:
        moment = self._clock.now().astimezone(UTC).replace(tzinfo=None)
        memory = Memory(
            id=f"m-{digest(call.key.encode())[7:31]}",  # the same call again is the same note
            text=given.text("text", most=4000),
            kind=given.choice("kind", KINDS, "observation"),
            trust=least_trusted((Trust.SELF, call.lineage)),
            source=f"act:{call.key}",
            time=f"{moment.isoformat(timespec='microseconds')}Z",
            tags=given.texts("tags", most=8, each=40),
        )
        await run_sync(self._memories.remember, call.agent, memory)
        result = {"id": memory.id, "kind": memory.kind, "trust": memory.trust.value}
        return self._done(call, result, Trust.RUNTIME)


class Recall(BuiltIn):
    """`search` decides what fits; here by words, until something better is handed in."""

    def __init__(
        self, words: ToolDeclaration, memories: MemoryStore, *, search: Search = search
    ) -> None:
        super().__init__(RECALL.spec(words))
        self._memories = memories
        self._search = search

    async def _act(self, call: ActCall, given: Arguments) -> Outcome:
        query = given.text("query", most=1000)
        limit = given.whole("limit", 1, 20, 5)
        kept = await run_sync(self._memories.memories, call.agent)
        found = await run_sync(self._search, kept, query, limit)
        trust = least_trusted((Trust.RUNTIME, *(each.memory.trust for each in found)))
        result = {"memories": [_told(each) for each in found], "kept": len(kept)}
        return self._done(call, result, trust)


def _told(found: Found) -> dict[str, object]:
    memory = found.memory
    return {
        "id": memory.id,
        "kind": memory.kind,
        "text": memory.text,
        "tags": list(memory.tags),
        "trust": memory.trust.value,
        "source": memory.source,
        "time": memory.time,
        "score": found.score,
    }
