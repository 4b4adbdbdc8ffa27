"""Recalls for a stimulus: tools, skills and memories, by one embedding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from mentis.values.memories import FoundMemories, ScoredMemory
from mentis.values.memory_kind import INSTRUCTION_KINDS
from mentis.values.recalled import EmbeddedText, RecalledContext, Stimulus
from mentis.values.selection import Candidate, Capability, SelectionLimits
from mentis.values.span import Span
from mentis.values.tool import ToolDeclaration
from mentis.values.trace import Degradation
from mentis.values.value import Value

from .memory.choosing import Mode, why_untold
from .memory.strict import Floor, floor_for, near_enough, unmeasured_note
from .memory.telling import memory_spans
from .ranking import Ranking
from .selecting import choose, see

# Searches the memories with what the stimulus was made into; it embeds nothing itself.
Search: TypeAlias = Callable[[EmbeddedText], FoundMemories]
_LIMITS = SelectionLimits()


@dataclass(frozen=True, slots=True)
class RecallAim(Value):
    """What recall is for. `base` are the tools and `skills` the skills that are there whatever the
    task, by name.
    """

    stance: str = ""
    base: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    mode: Mode = "chat"
    limits: SelectionLimits = _LIMITS


_ANY = RecallAim()


def recall(
    stimulus: Stimulus,
    *,
    embedded: EmbeddedText,
    tools: Mapping[str, ToolDeclaration],
    ranking: Ranking | None = None,
    search: Search | None = None,
    aim: RecallAim = _ANY,
) -> RecalledContext:
    """What comes to mind. `tools` are those there are, by name; a base tool that is none is left.

    Without a search no memories come up; with one it blocks. Every step down the ladder is in
    `degraded`.
    """
    base = tuple(name for name in aim.base if name in tools)
    sight = see(embedded, ranking)
    skills, unknown = _known_skills(ranking, aim)
    chosen = choose(
        sight, ranking=ranking, base=base, skills=skills, stance=aim.stance, limits=aim.limits
    )
    found, later, floor = None, (), memory_floor(embedded, aim.limits)
    if search is not None and aim.limits.max_memories:
        found = near_enough(search(embedded), floor)
        later = (
            *found.degraded,
            *(unmeasured_note(embedded.model, floor) if found.searched else ()),
        )
    memories, filtered = _told(found, aim, floor)
    return RecalledContext(
        stimulus,
        tools=tuple(tools[name] for name in chosen.tools if name in tools),
        memories=memories,
        filtered=filtered,
        embedding_calls=embedded.calls,
        degraded=tuple(dict.fromkeys((*unknown, *chosen.degraded, *later))),
        skills=_skills(ranking, chosen.skills),
        candidates=(*chosen.candidates, *_near_memories(found, aim, memories)),
        found=found,
        step=chosen.step,
        cache_hits=embedded.cache_hits,
    )


def memory_floor(embedded: EmbeddedText, limits: SelectionLimits) -> Floor:
    """The least a memory must reach: as somebody said, else as measured for the embedder."""
    floor = floor_for("" if embedded.vector is None else embedded.model)
    if limits.memory_min_score is None or embedded.vector is None:
        return floor
    return replace(floor, cosine=limits.memory_min_score, origin="settings")


def _told(
    found: FoundMemories | None, aim: RecallAim, floor: Floor
) -> tuple[tuple[Span, ...], int]:
    """The memories that a model may be told, and how many that fitted were kept from it."""
    if found is None:
        return (), 0
    spans, kept_out = memory_spans(found, mode=aim.mode, most=aim.limits.max_memories)
    # What a search passes over by itself was kept out all the same.
    passed = (row.memory for row in found.near if not row.chosen and _near(row, floor))
    kinds = sum(memory.quarantined or memory.kind in INSTRUCTION_KINDS for memory in passed)
    return spans, kept_out + kinds


def _near_memories(
    found: FoundMemories | None, aim: RecallAim, told: tuple[Span, ...]
) -> list[Candidate]:
    """Those that just missed, the best first. What they say is kept where they are."""
    if found is None or not (found.near or len(found.hits) > len(told)):
        return []
    names = {span.source for span in told}
    ordered = sorted((*found.hits, *found.near), key=lambda row: -row.score)
    missed = [
        (rank, row, f"{row.reason}; there is no more room" if row.chosen else row.reason)
        for rank, row in enumerate(ordered, start=1)
        if not row.chosen
        or (f"memory {row.memory.id}" not in names and not why_untold(row.memory, aim.mode))
    ]
    return [
        Candidate(
            row.memory.id,
            "memory",
            rank,
            row.score,
            row.semantic if row.semantic_rank else None,
            row.lexical,
            chosen=False,
            reason=reason,
        )
        for rank, row, reason in missed[: aim.limits.near_misses]
    ]


def _near(row: ScoredMemory, floor: Floor) -> bool:
    """What came up by its meaning alone must reach the floor."""
    by_meaning = row.semantic != 0 and row.lexical <= 0
    return not by_meaning or (floor.cosine is not None and row.semantic >= floor.cosine)


def _known_skills(
    ranking: Ranking | None, aim: RecallAim
) -> tuple[tuple[str, ...], tuple[Degradation, ...]]:
    there = frozenset[str]() if ranking is None else ranking.skill_names
    unknown = [name for name in aim.skills if name not in there]
    notes = [Degradation("skills", f"there is no skill {name!r}") for name in unknown]
    return tuple(name for name in aim.skills if name in there), tuple(notes)


def _skills(ranking: Ranking | None, names: tuple[str, ...]) -> tuple[Capability, ...]:
    if ranking is None or not names:
        return ()
    return tuple(ranking.skill(name) for name in names)
