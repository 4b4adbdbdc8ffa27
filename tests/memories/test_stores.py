"""Whatever store a home has, a search finds the same memories, in the same order, every time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import get_args

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mentis.engines.hashed import HashEmbedder
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.memories.memories import Memories, MemoryParts, open_memories
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.ports.memory_store import MemoryStore
from mentis.ports.screener import ListedScreener
from mentis.settings.sections import MemoriesSettings
from mentis.stores.memory import LedgerInMemory, MemoriesInMemory
from mentis.stores.postgres.database import PostgresDatabase
from mentis.stores.postgres.memories import PostgresMemories
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.memories import SqliteMemories
from mentis.values.memories import FoundMemories, MemoryDraft, Way
from mentis.values.trust import Trust

AGENTS = count(1)
WORDS = st.lists(
    st.sampled_from(["cello", "Tee", "größe", "ação", "plus", "🙂", "東京", "the"]),
    min_size=1,
    max_size=4,
).map(" ".join)
TEXTS = st.lists(WORDS, min_size=1, max_size=6)
WAYS: tuple[Way, ...] = get_args(Way)


@pytest.fixture(scope="module")
def stores(
    postgres_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[MemoryStore]]:
    with (
        PostgresDatabase(postgres_url, schema="test_memories_equal") as postgres,
        Database(tmp_path_factory.mktemp("memories") / "mentis.db") as sqlite,
    ):
        yield [MemoriesInMemory(), SqliteMemories(sqlite), PostgresMemories(postgres)]


def opened(store: MemoryStore, agent: str, ids: CountingIds | None = None) -> Memories:
    tools = MemoryParts(
        store=store,
        clock=FixedClock(step=timedelta(seconds=1)),
        ids=ids or CountingIds(),
        open_ledger=LedgerInMemory,
        embedder=HashEmbedder(24),
        screener=ListedScreener({}),
        settings=MemoriesSettings(half_life_days=3),
    )
    return Memories(agent, tools)


async def told(
    memories: Memories, said: Sequence[str], query: str, way: Way
) -> list[FoundMemories]:
    """Found after each memory, and once more by somebody who reads everything anew."""
    found: list[FoundMemories] = []
    for text in said:
        await memories.remember(MemoryDraft(text, trust=Trust.SELF))
        found.append(await memories.search(query, way=way, limit=3))
    return found


@given(TEXTS, WORDS, st.sampled_from(WAYS))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_store_finds_the_same(
    stores: list[MemoryStore], said: list[str], query: str, way: Way
) -> None:
    agent = f"home/a{next(AGENTS)}"
    first, *others = [anyio.run(told, opened(store, agent), said, query, way) for store in stores]
    for other in others:
        assert other == first


@given(TEXTS, WORDS, st.sampled_from(WAYS))
@settings(max_examples=25)
def test_a_grown_index_and_a_fresh_one_find_the_same(said: list[str], query: str, way: Way) -> None:
    store = MemoriesInMemory()
    grown = opened(store, "home/ada")

    async def ask(memories: Memories) -> list[tuple[str, float, float]]:
        found = await memories.search(query, way=way, limit=9, half_life_days=0)
        return [(row.memory.id, row.score, row.semantic) for row in (*found.hits, *found.near)]

    anyio.run(told, grown, said, query, way)
    assert anyio.run(ask, grown) == anyio.run(ask, opened(store, "home/ada"))


@given(TEXTS)
@settings(max_examples=25)
def test_an_export_comes_back_as_the_same_texts(said: list[str]) -> None:
    memories = opened(MemoriesInMemory(), "home/ada")
    anyio.run(told, memories, said, "x", "lexical")
    other = opened(MemoriesInMemory(), "home/bob")
    other.import_lines(memories.export())
    assert [m.text for m in other.list()] == [m.text for m in memories.list()]
    third = opened(MemoriesInMemory(), "home/cat")
    third.import_lines(other.export())
    assert third.export() == other.export()


@pytest.mark.parametrize("extension", [True, False])
@pytest.mark.anyio
async def test_a_home_may_keep_its_memories_in_postgres_and_let_it_search(
    tmp_path: Path, postgres_url: str, extension: bool
) -> None:
    home = create_home(tmp_path / "home")
    schema = f"test_memories_home_{int(extension)}"
    toml = (home / "mentis.toml").read_text(encoding="utf-8")
    toml = toml.replace("[ledger]\n", f'[ledger]\nschema_name = "{schema}"\n')
    toml += '\n[memories]\nstore = "postgres"\nindex = "server"\n'
    (home / "mentis.toml").write_text(toml, encoding="utf-8")
    parts = Parts(embedder=HashEmbedder(24), environ={"LEDGER_URL": postgres_url})
    with PostgresDatabase(postgres_url, schema=schema) as database, database.session() as session:
        if extension:
            session.execute(f"CREATE EXTENSION vector SCHEMA {schema}".encode())
    with open_memories(home, parts=parts) as memories:
        for text in ("cello", "tea", "milk"):
            await memories.remember(MemoryDraft(text, trust=Trust.OWNER))
        found = await memories.search("tea", way="semantic", limit=1)
        assert found.hits[0].memory.text == "tea"
        assert found.hits[0].semantic == 1.0
        assert bool(found.degraded) is not extension
        memories.forget(found.hits[0].memory.id)
        assert len(memories.list()) == 2
    with PostgresDatabase(postgres_url, schema=schema) as database, database.session() as session:
        session.execute(f"DROP SCHEMA {schema} CASCADE".encode())
