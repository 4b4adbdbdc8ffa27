"""Many memories: what is searched by lies in a file, and finds what all of them in memory find."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from mentis.memories.memories import Memories, MemoryParts
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.ports.screener import ListedScreener
from mentis.settings.sections import MemoriesSettings
from mentis.stores.memory import LedgerInMemory, MemoriesInMemory
from mentis.values.cognition import Memory, Screening
from mentis.values.memories import FoundMemories, MemoryDraft, MemoryFilter, Vector, text_digest
from mentis.values.trust import Trust

pytestmark = pytest.mark.anyio
AGENT, SIZE = "home/ada", 1_010
WORDS = [f"{a}{b}" for a in ("rose", "tree", "gate", "pond", "wall") for b in "abcdefgh"]
ASKED = ("rosea treeb gatec 7", "ponda ponda wallh")
MANNERS = (
    MemoryFilter(),
    MemoryFilter(kinds=("fact", "episode")),
    MemoryFilter(private=True, superseded=True, expired=True),
    MemoryFilter(trust=Trust.SELF),
    MemoryFilter(tags=("x",)),
    MemoryFilter(tags=("x", "gatea"), scopes=("here",), sources=("desk", "door")),
    MemoryFilter(session="s1", since="2026-01-01T00:05", until="2026-01-01T00:20"),
)


class Spots:
    """Texts that begin alike are near each other."""

    fingerprint = "spots/16"

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [spot(text) for text in texts]


def spot(text: str) -> list[float]:
    middle, own = random.Random(text[:4]), random.Random(text)  # noqa: S311 - steady
    return [middle.gauss() + 0.3 * own.gauss() for _ in range(16)]


def memory(number: int) -> Memory:
    chance = random.Random(number)  # noqa: S311 - steady
    made = Memory(
        f"m{number:04}",
        f"{' '.join(chance.choices(WORDS, k=9))} {number}",
        trust=chance.choice((Trust.OWNER, Trust.SELF)),
        lineage=Trust.OWNER,
        kind=chance.choice(("fact", "episode", "diary", "observation")),
        tags=("x", "gatea", "x")[: number % 4],
        scope=chance.choice(("", "here")),
        source=chance.choice(("desk", "door", "yard")),
        session=chance.choice(("", "s1")),
        time=f"2026-01-01T00:{number % 60:02}:00.000000Z",
    )
    if number % 50 == 7:
        return replace(made, valid_until="2026-01-01T00:10:00.000000Z")
    if number % 50 == 9:
        return replace(made, superseded_by="m0000")
    return replace(made, screening=Screening("dropped", "bad")) if number % 50 == 11 else made


def filled() -> MemoriesInMemory:
    store = MemoriesInMemory()
    keep(store, [memory(number) for number in range(SIZE)])
    return store


def keep(store: MemoriesInMemory, kept: Sequence[Memory]) -> None:
    for one in kept:
        store.remember(AGENT, one)
    rows = [struct.pack("<16f", *spot(one.text)) for one in kept]
    made = [Vector(m.id, text_digest(m.text), row) for m, row in zip(kept, rows, strict=True)]
    store.keep_vectors(AGENT, Spots.fingerprint, made)


def opened(store: MemoriesInMemory, folder: Path | None, exact_up_to: int = 10_000) -> Memories:
    tools = MemoryParts(
        store=store,
        clock=FixedClock(step=timedelta(seconds=1)),
        ids=CountingIds(),
        open_ledger=LedgerInMemory,
        embedder=Spots(),
        screener=ListedScreener({}),
        settings=MemoriesSettings(exact_up_to=exact_up_to),
        folder=folder,
    )
    return Memories(AGENT, tools)


async def everything_found(memories: Memories) -> list[FoundMemories]:
    return [
        await memories.search(asked, wanted=wanted, half_life_days=days)
        for asked in ASKED
        for wanted in MANNERS
        for days in (0, 30)
    ]


async def same_as_without(store: MemoriesInMemory, folder: Path, exact_up_to: int = 10_000) -> None:
    with opened(store, folder, exact_up_to) as stored, opened(store, None, exact_up_to) as held:
        for one in (stored, held):
            await one.search("rosea")
            one.wait_for_index()
        assert await everything_found(stored) == await everything_found(held)
        assert stored.around("s1", ["rosea"]) == held.around("s1", ["rosea"])


def index_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.memories"))


async def test_what_is_found_by_the_file_is_what_is_found_without_it(tmp_path: Path) -> None:
    store = filled()
    await same_as_without(store, tmp_path)
    (file,) = index_files(tmp_path)
    before = file.stat().st_mtime_ns
    await same_as_without(store, tmp_path)
    assert file.stat().st_mtime_ns == before
    assert (tmp_path / ".gitignore").read_text() == "*\n"


async def test_what_changed_since_is_searched_beside_the_file(tmp_path: Path) -> None:
    store = filled()
    await same_as_without(store, tmp_path)
    (file,) = index_files(tmp_path)
    before = file.stat().st_mtime_ns
    keep(store, [memory(number) for number in range(SIZE, SIZE + 30)])
    for number in (11, 3, 9):
        old = memory(number)
        store.remember(AGENT, replace(old, superseded_by="", screening=None, kind="rule"))
    store.remember(AGENT, replace(memory(4), screening=Screening("dropped", "bad")))
    await same_as_without(store, tmp_path)
    assert file.stat().st_mtime_ns == before


async def test_cells_are_kept_in_the_file_and_found_there_by_the_next_process(
    tmp_path: Path,
) -> None:
    store = filled()
    with opened(store, tmp_path, 900) as memories:
        assert (await memories.search("rosea treeb")).vectors.how == "exact"
        memories.wait_for_index()
        found = await memories.search("rosea treeb")
        assert found.vectors.how == "index"
    with opened(store, tmp_path, 900) as memories:
        assert await memories.search("rosea treeb") == found
    await same_as_without(store, tmp_path, 900)


async def test_what_is_forgotten_leaves_the_file_too(tmp_path: Path) -> None:
    store = filled()
    with opened(store, tmp_path) as memories:
        made = await memories.remember(MemoryDraft("zebras gallop", trust=Trust.OWNER))
    with opened(store, tmp_path) as memories:
        assert (await memories.search("zebras")).hits[0].memory.id == made.memory.id
        assert any(b"zebras" in file.read_bytes() for file in index_files(tmp_path))
        memories.forget(made.memory.id)
        assert not any(b"zebras" in file.read_bytes() for file in index_files(tmp_path))
        assert made.memory.id not in {
            row.memory.id for row in (await memories.search("zebras gallop")).hits
        }
    await same_as_without(store, tmp_path)


async def test_a_file_of_another_past_is_made_anew(tmp_path: Path) -> None:
    store, other = filled(), filled()
    keep(store, [replace(memory(1), id="here", text="rosea treeb gatec here")])
    await same_as_without(store, tmp_path)
    keep(other, [replace(memory(1), id="there", text="rosea treeb gatec there")])
    assert store.standing(AGENT) == other.standing(AGENT)
    await same_as_without(other, tmp_path)


@pytest.mark.parametrize("damage", [b"", b"mentis memory index 1\n", b"something else" * 9])
async def test_a_file_that_is_damaged_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    store = filled()
    await same_as_without(store, tmp_path)
    (file,) = index_files(tmp_path)
    file.write_bytes(damage)
    await same_as_without(store, tmp_path)
    assert len(file.read_bytes()) > 10_000


async def test_where_no_file_can_be_written_all_is_searched_as_ever(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    await same_as_without(filled(), tmp_path / "file")
