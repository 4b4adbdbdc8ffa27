"""Memories as a prompt gets them: spans that say whose word they are, and why they are there."""

from __future__ import annotations

from mentis.values.memories import Found
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.trust import least_trusted

from .choosing import Mode, why_untold


def told(found: Found, *, mode: Mode, most: int = 3) -> tuple[tuple[Span, ...], int]:
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
                text=memory.text,
                source=f"memory {memory.id}",
                trust=least_trusted((memory.trust, memory.lineage)),
                stability=Stability.TURN,
                reason=row.reason,
            )
        )
    return tuple(spans), kept_out
