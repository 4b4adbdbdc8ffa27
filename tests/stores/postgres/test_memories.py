"""Where the server has pgvector, it finds the nearest itself, and the same as we do."""

from __future__ import annotations

import random
import struct
from concurrent.futures import ThreadPoolExecutor

from mentis.recall.memory.matrix import Matrix
from mentis.stores.postgres.database import PostgresDatabase
from mentis.stores.postgres.memories import PostgresMemories
from mentis.values.cognition import Memory
from mentis.values.memories import Vector, text_digest


def test_pgvector_finds_what_exact_search_finds(postgres: PostgresDatabase) -> None:
    store, chance = PostgresMemories(postgres), random.Random(7)  # noqa: S311 - steady numbers
    kept = [Memory(f"m{number:03}", f"text {number}") for number in range(200)]
    vectors = [
        Vector(
            memory.id,
            text_digest(memory.text),
            struct.pack("<16f", *(chance.gauss(0, 1) for _ in range(16))),
        )
        for memory in kept
    ]
    store.add("ada", kept)
    store.keep_vectors("ada", "f", vectors)
    query = [chance.gauss(0, 1) for _ in range(16)]
    assert store.nearest("ada", "f", query, count=5) is None
    with postgres.session() as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    try:
        near = store.nearest("ada", "f", query, count=40)
    finally:
        with postgres.session() as connection:
            connection.execute("DROP EXTENSION vector")
    assert near is not None
    exact = Matrix(vectors).rank(query, among=None, count=40)
    assert [vector.memory for vector in near] == [name for name, _ in exact]
    assert near[0] in vectors


def test_writers_of_one_agent_take_turns(postgres: PostgresDatabase) -> None:
    store = PostgresMemories(postgres)

    def add(number: int) -> str:
        return store.add("ada", [Memory(f"m{number}", "the same")])[0].id

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(add, range(24)))
    assert len(set(made)) == 1
    assert store.standing("ada").revision == 24
