"""Which memories a search may bring up, and which a model or another person may be told."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Literal, TypeAlias, get_args

from mentis.values.cognition import Memory
from mentis.values.memories import MemoryFilter, MemoryListing
from mentis.values.memory_kind import INSTRUCTION_KINDS, PRIVATE_KINDS, MemoryKind
from mentis.values.trust import Trust

# The surfaces a request can be for; only a beat is the agent alone with itself.
Mode: TypeAlias = Literal["chat", "beat", "delivery", "live"]


def why_not(memory: Memory, wanted: MemoryFilter, *, now: str) -> str:
    """The reason why a search must leave it out; empty when it may be found."""
    reasons = (
        (memory.quarantined, "in quarantine"),
        (bool(memory.superseded_by) and not wanted.superseded, "superseded"),
        (not wanted.expired and not _valid(memory, now), "not valid at this time"),
        (memory.kind in PRIVATE_KINDS and not asks_for_private(wanted), "private"),
        (bool(wanted.kinds) and memory.kind not in wanted.kinds, f"kind {memory.kind}"),
        (bool(wanted.scopes) and memory.scope not in wanted.scopes, f"scope {memory.scope!r}"),
        (not set(wanted.tags) <= set(memory.tags), "a tag is missing"),
        (bool(wanted.sources) and memory.source not in wanted.sources, "another source"),
        (bool(wanted.session) and memory.session != wanted.session, "another session"),
        (memory.worth.rank > wanted.trust.rank, f"trust {memory.worth.value}"),
        (bool(wanted.since) and memory.time < wanted.since, "older"),
        (bool(wanted.until) and memory.time > wanted.until, "newer"),
    )
    return next((reason for out, reason in reasons if out), "")


def listing_of(wanted: MemoryFilter) -> MemoryListing:
    """The list that a store looks through for a filter: all that may be found is in it."""
    kinds = wanted.kinds
    if not kinds and not wanted.private:
        kinds = tuple(kind for kind in get_args(MemoryKind) if kind not in PRIVATE_KINDS)
    enough = tuple(one for one in Trust if one.rank <= wanted.trust.rank)
    return MemoryListing(
        kinds,
        ("current", "superseded") if wanted.superseded else ("current",),
        () if len(enough) == len(Trust) else enough,
    )


def why_untold(memory: Memory, mode: Mode) -> str:
    """The reason why a model must not be told of it in this mode; empty when it may."""
    if memory.kind in INSTRUCTION_KINDS:
        return f"kind {memory.kind} reads like an instruction"
    if memory.quarantined:
        return "in quarantine"
    if memory.superseded_by:
        return "superseded"
    if memory.kind in PRIVATE_KINDS and mode != "beat":
        return f"kind {memory.kind} is private"
    return ""


@cache
def tellable(mode: Mode) -> tuple[MemoryKind, ...]:
    """The kinds of memories that a model may be told of in this mode."""
    unfit = INSTRUCTION_KINDS if mode == "beat" else INSTRUCTION_KINDS | PRIVATE_KINDS
    return tuple(kind for kind in get_args(MemoryKind) if kind not in unfit)


def injectable(memories: Iterable[Memory], *, mode: Mode) -> tuple[Memory, ...]:
    """Those that may stand in a prompt of this mode."""
    return tuple(memory for memory in memories if not why_untold(memory, mode))


def public(memories: Iterable[Memory]) -> tuple[Memory, ...]:
    """Those that others may see: no thoughts, no diary, nothing in quarantine."""
    shown = (memory for memory in memories if memory.kind not in PRIVATE_KINDS)
    return tuple(memory for memory in shown if not memory.quarantined)


def asks_for_private(wanted: MemoryFilter) -> bool:
    """By the flag, or by naming such a kind."""
    return wanted.private or bool(PRIVATE_KINDS.intersection(wanted.kinds))


def _valid(memory: Memory, now: str) -> bool:
    begun = not memory.valid_from or memory.valid_from <= now
    return begun and (not memory.valid_until or now < memory.valid_until)
