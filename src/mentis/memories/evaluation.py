"""Search in memories measured on a set of questions, by meaning, by words, and by both."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mentis.engines.embedders import Choice, open_embedder
from mentis.recall.evaluation_set import Half
from mentis.recall.memory.evaluation import MemoryFigures, load_memory_set, measure
from mentis.values.trace import Degradation
from mentis.values.value import Value


@dataclass(frozen=True, slots=True)
class MemoryReport(Value):
    model: str
    half: Half
    memories: int
    questions: int
    rows: tuple[MemoryFigures, ...]
    degraded: tuple[Degradation, ...] = ()


async def evaluate(
    folder: Path | None = None, *, choice: Choice = "auto", half: Half = "all"
) -> MemoryReport:
    """The shipped set or that of a folder, through the ranking that every search uses."""
    found = load_memory_set(folder, half=half)
    embedder, degraded = open_embedder(choice)
    memories = await embedder.embed(list(found.memories.values()))
    questions = await embedder.embed([one.text for one in found.questions])
    rows = measure(found, memories, questions)
    return MemoryReport(
        embedder.fingerprint, half, len(found.memories), len(found.questions), rows, degraded
    )
