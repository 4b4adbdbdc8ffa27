"""Memories for the summary of a conversation: its people, and what was said elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mentis.values.cognition import Memory
from mentis.values.trust import Trust

_NOTES = 3  # of one person


def elsewhere(episodes: Iterable[Memory], *, session: str, most: int) -> tuple[Memory, ...]:
    """The last episode of each other conversation, the oldest first.

    What the owner or the agent told goes before what came from outside, however that is dated.
    """
    last: dict[str, Memory] = {}
    for memory in own_first(episodes):
        if memory.session and memory.session != session:
            last.setdefault(memory.session, memory)
    return tuple(sorted([*last.values()][: max(0, most)], key=_age))


def own_first(memories: Iterable[Memory]) -> list[Memory]:
    """The newest first, and all of the owner's and the agent's own before those from outside."""
    newest = sorted(memories, key=_age, reverse=True)
    return sorted(newest, key=lambda one: one.worth.rank > Trust.SELF.rank)


def holds_in(memory: Memory, session: str) -> bool:
    """A memory with a scope is told unasked only in the conversation that has that name."""
    return memory.scope in ("", session)


def belongs_to(memory: Memory, session: str) -> bool:
    """Nor is what happened in another conversation."""
    elsewhere = memory.kind == "episode" and memory.session not in ("", session)
    return holds_in(memory, session) and not elsewhere


def notes_about(notes: Iterable[Memory], names: Sequence[str]) -> tuple[Memory, ...]:
    """A few about each, own ones and the newest first, each to be told with its own trust."""
    found: dict[str, Memory] = {}
    newest = own_first(notes)
    for name in dict.fromkeys(name.casefold() for name in names if name):
        about = [one for one in newest if name in (tag.casefold() for tag in one.tags)]
        found.update((one.id, one) for one in about[:_NOTES])
    return tuple(found.values())


def _age(memory: Memory) -> tuple[str, str]:
    return memory.updated or memory.time, memory.id
