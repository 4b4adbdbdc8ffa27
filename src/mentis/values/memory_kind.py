"""Kinds of memories, and which of them are nobody else's business."""

from __future__ import annotations

from typing import Literal, TypeAlias

MemoryKind: TypeAlias = Literal[
    "decision",
    "fact",
    "preference",
    "rule",
    "gotcha",
    "observation",
    "episode",
    "diary",
    "thought",
    "person",
    # These three come in by import only; they are kept to be looked at and never told to a model.
    "system",
    "meta",
    "override",
]
# Never in a delivery, never in anything that others get to see.
PRIVATE_KINDS: frozenset[MemoryKind] = frozenset({"diary", "thought"})
# They read like instructions, so they are never put before a model.
INSTRUCTION_KINDS: frozenset[MemoryKind] = frozenset({"system", "meta", "override"})
