"""Memories as a prompt gets them: spans that say whose word they are, and why they are there."""

from __future__ import annotations

from mentis.values.cognition import Memory
from mentis.values.memories import FoundMemories
from mentis.values.span import Span
from mentis.values.stability import Stability

from .choosing import Mode, why_untold


def memory_spans(
    found: FoundMemories, *, mode: Mode, most: int = 3
) -> tuple[tuple[Span, ...], int]:
    """At most `most` spans, best first, and how many memories were kept out for what they are.

    A memory vouches for no more than what it was made from.
    """
    spans: list[Span] = []
    kept_out = found.filtered
    for row in found.hits:
        if len(spans) == most:
            break
        memory = row.memory
        if why_untold(memory, mode):
            kept_out += 1
            continue
        spans.append(
            Span(
                text=memory_text(memory),
                source=f"memory {memory.id}",
                trust=memory.worth,
                stability=Stability.TURN,
                reason=row.reason,
            )
        )
    return tuple(spans), kept_out


def memory_text(memory: Memory) -> str:
    """With the conversation an episode is of, or whom a note is about: else nobody could tell."""
    head = memory.session if memory.kind == "episode" else ""
    if memory.kind == "person":
        head = ", ".join(memory.tags)
    if not head or memory.text.startswith(head):
        return memory.text
    return f"{head}: {memory.text}"
