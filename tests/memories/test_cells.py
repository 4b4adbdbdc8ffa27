"""Many memories: an index is made in the background, told of, kept up to date, and let go."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from datetime import timedelta

import pytest

from mentis.memories.memories import Memories, MemoryParts
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.ports.screener import ListedScreener
from mentis.settings.sections import MemoriesSettings
from mentis.stores.memory import LedgerInMemory, MemoriesInMemory
from mentis.values.cognition import Memory
from mentis.values.memories import FoundMemories, MemoryDraft, Vector, text_digest
from mentis.values.trust import Trust

pytestmark = pytest.mark.anyio
AGENT, SIZE = "home/ada", 700


class Spots:
    """A text is a number; numbers with the same last digit are near each other."""

    fingerprint = "spots/16"

    def __init__(self, width: float) -> None:
        self.width = width

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [self.spot(int(text)) for text in texts]

    def spot(self, number: int) -> list[float]:
        middle, own = random.Random(number % 10), random.Random(f"{number}")  # noqa: S311 - steady
        return [middle.gauss() + self.width * own.gauss() for _ in range(16)]


def filled(width: float) -> MemoriesInMemory:
    store, spots = MemoriesInMemory(), Spots(width)
    kept = [Memory(f"m{number:04}", str(number), trust=Trust.OWNER) for number in range(SIZE)]
    store.add(AGENT, kept)
    rows = [struct.pack("<16f", *spots.spot(number)) for number in range(SIZE)]
    made = [Vector(m.id, text_digest(m.text), row) for m, row in zip(kept, rows, strict=True)]
    store.keep_vectors(AGENT, spots.fingerprint, made)
    return store


def opened(store: MemoriesInMemory, width: float, exact_up_to: int = 500) -> Memories:
    tools = MemoryParts(
        store=store,
        clock=FixedClock(step=timedelta(seconds=1)),
        ids=CountingIds(),
        open_ledger=LedgerInMemory,
        embedder=Spots(width),
        screener=ListedScreener({}),
        settings=MemoriesSettings(exact_up_to=exact_up_to),
    )
    return Memories(AGENT, tools)


async def search(memories: Memories, number: int) -> FoundMemories:
    return await memories.search(str(number), way="semantic", limit=5)


def names(found: FoundMemories) -> list[str]:
    return [row.memory.id for row in found.hits]


async def test_all_are_looked_at_until_the_index_is_there_and_the_result_tells() -> None:
    store = filled(0.2)
    with opened(store, 0.2) as memories, opened(store, 0.2, SIZE) as exact:
        first = await search(memories, 10_003)
        assert (first.vectors.how, first.vectors.looked_at, first.vectors.recall) == (
            "exact",
            700,
            1,
        )
        assert "being made" in first.vectors.note
        memories.wait_for_index()
        second = await search(memories, 10_003)
        assert second.vectors.how == "index"
        assert 0.95 <= second.vectors.recall <= 1
        assert second.vectors.looked_at < 350
        assert names(second) == names(first) == names(await search(exact, 10_003))
        assert (await search(exact, 10_003)).vectors.note == ""


async def test_an_index_knows_what_was_written_and_what_was_forgotten() -> None:
    store = filled(0.2)
    with opened(store, 0.2) as memories:
        await search(memories, 4)
        memories.wait_for_index()
        made = await memories.remember(MemoryDraft("10003", trust=Trust.OWNER))
        found = await search(memories, 10_003)
        assert found.vectors.how == "index"
        assert names(found)[0] == made.memory.id
        for number in range(SIZE, SIZE + 80):  # grown by more than a tenth: another index
            await memories.remember(MemoryDraft(str(number), trust=Trust.OWNER))
        await search(memories, 10_003)
        memories.wait_for_index()
        grown = await search(memories, 10_003)
        with opened(store, 0.2) as other:
            await search(other, 10_003)
            other.wait_for_index()
            assert await search(other, 10_003) == grown
        memories.forget(made.memory.id)
        gone = await search(memories, 10_003)
        assert gone.vectors.how == "exact"
        assert made.memory.id not in names(gone)


async def test_without_near_ones_there_is_no_index_and_the_result_tells_why() -> None:
    with opened(filled(9.0), 9.0) as memories:
        await search(memories, 3)
        memories.wait_for_index()
        found = await search(memories, 3)
        assert found.vectors.how == "exact"
        assert "not enough" in found.vectors.note


async def test_closing_does_not_wait_for_an_index() -> None:
    memories = opened(filled(0.2), 0.2)
    await search(memories, 3)
    memories.close()
    memories.wait_for_index()
