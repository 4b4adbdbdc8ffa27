"""What searching memories costs: against the bare product of the matrix with the query.

Vectors have 384 dimensions, as those of the default embedder. Exact search has to look at every
one of them, so it may only grow as their number does, and what it adds to the product must be
little. The whole search of 10,000 memories (words, vectors, filters, reasons) is told beside it.

More than 50,000 are searched by an index. Its vectors are drawn around 2,000 topics, as near to
each other as sentences of one topic are for the default embedder; queries are drawn likewise, and
are none of them. What it misses of the ten nearest is counted beside what it costs.
"""

from __future__ import annotations

import itertools
import random
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, cast

import numpy as np

from mentis.recall.memory.cells import Cells, planned_size
from mentis.recall.memory.cells_plan import CellPlan, plan
from mentis.recall.memory.index import MemoryIndex, Query
from mentis.recall.memory.matrix import Matrix
from mentis.recall.memory.picking import pick
from mentis.values.cognition import Memory
from mentis.values.memories import MemoryStanding, Vector, text_digest

from .harness import Pair, benchmark, weight

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

DIMENSION = 384
SMALL, LARGE = 10_000, 100_000
MANY, VERY_MANY, EXACT_UP_TO = 200_000, 1_000_000, 50_000
TOPICS, WIDTH, ASKED = 2_000, 0.8, 50
COUNT = 10
NOW = datetime(2026, 1, 1, tzinfo=UTC).isoformat()


@cache
def rows(size: int, seed: int = 7) -> Floats:
    made = np.random.default_rng(seed).standard_normal((size, DIMENSION), dtype=np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


@cache
def query() -> list[float]:
    return rows(1, 3)[0].tolist()


@cache
def matrix(size: int, seed: int = 7) -> Matrix:
    numbers = enumerate(rows(size, seed))
    return Matrix([Vector(f"m{number:06}", "", row.tobytes()) for number, row in numbers])


@cache
def index() -> MemoryIndex:
    chance = random.Random(5)  # noqa: S311 - steady numbers
    words = [f"word{number}" for number in range(5_000)]
    weights = [1 / (number + 1) for number in range(len(words))]
    kept = [
        Memory(f"m{number:06}", " ".join(chance.choices(words, weights, k=20)))
        for number in range(SMALL)
    ]
    made = MemoryIndex(MemoryStanding(1, 0), kept)
    vectors = zip(kept, rows(SMALL), strict=True)
    made.put_vectors([Vector(m.id, text_digest(m.text), row.tobytes()) for m, row in vectors])
    return made


def _against_product(size: int) -> Pair:
    searched, asked = matrix(size), query()
    plain = searched.rows  # the very same: where an array lies in memory makes a difference
    wanted = np.asarray(asked, dtype=np.float32)
    return (lambda: searched.rank(asked, among=None, count=COUNT)), (lambda: plain @ wanted)


@benchmark("memory/exact-10k", against="numpy matmul", gate=1.3, rounds=61)
def exact_small() -> Pair:
    return _against_product(SMALL)


@benchmark("memory/exact-100k", against="numpy matmul", gate=1.3, rounds=31)
def exact_large() -> Pair:
    return _against_product(LARGE)


@benchmark("memory/growth", against="ten searches of a tenth", gate=1.3, rounds=21)
def growth() -> Pair:
    """Ten matrices of their own, so that neither side has more of them in the cache."""
    large, asked = matrix(LARGE), query()
    tenths = [matrix(SMALL, seed) for seed in range(20, 30)]

    def piece_by_piece() -> None:
        for tenth in tenths:
            tenth.rank(asked, among=None, count=COUNT)

    return (lambda: large.rank(asked, among=None, count=COUNT)), piece_by_piece


@cache
def topics(count: int, seed: int) -> Floats:
    chance, scale = np.random.default_rng(seed), WIDTH / DIMENSION**0.5
    made = rows(TOPICS, 11)[chance.integers(0, TOPICS, count)]
    made += scale * chance.standard_normal((count, DIMENSION), dtype=np.float32)
    return made


@cache
def indexed(size: int) -> tuple[Matrix, Cells]:
    """Exact search and the index of the same vectors, some of them newer than the index."""
    numbers = enumerate(topics(size, 12))
    whole = Matrix([Vector(f"m{number:07}", "", row.tobytes()) for number, row in numbers])
    first = planned_size(size, EXACT_UP_TO)
    made = cast("CellPlan", plan(whole.rows[:first]))  # nobody stops it
    ordered = whole.reorder(made.order)
    ordered.follow(whole, first)
    return whole, Cells(ordered, made)


def _index_against_exact(size: int) -> Pair:
    """One query after the other, so that the cells of one are not in the cache for the next."""
    (_, cells), exact = indexed(size), matrix(SMALL)
    asked = [row.tolist() for row in topics(ASKED, 13)]
    turns = [itertools.cycle(asked), itertools.cycle(asked)]
    return (
        lambda: cells.rank(next(turns[0]), among=None, count=COUNT),
        lambda: exact.rank(next(turns[1]), among=None, count=COUNT),
    )


def _missed(size: int) -> tuple[int, int]:
    exact, cells = indexed(size)
    missed = 0
    for row in topics(ASKED, 13).tolist():
        wanted = {name for name, _ in exact.rank(row, among=None, count=COUNT)}
        found, _ = cells.rank(row, among=None, count=COUNT)
        missed += len(wanted - {name for name, _ in found})
    return missed, ASKED * COUNT


@benchmark("memory/index-200k", against="exact search of 10,000", gate=10.0, rounds=31)
def index_many() -> Pair:
    return _index_against_exact(MANY)


@weight("memory/index-200k missed", against="the ten nearest by exact search", gate=0.05)
def index_many_missed() -> tuple[int, int]:
    return _missed(MANY)


@benchmark("memory/index-1m", against="exact search of 10,000", rounds=5, slow=True)
def index_very_many() -> Pair:
    return _index_against_exact(VERY_MANY)


@weight("memory/index-1m missed", against="the ten nearest by exact search", gate=0.05, slow=True)
def index_very_many_missed() -> tuple[int, int]:
    return _missed(VERY_MANY)


@benchmark("memory/hybrid-10k", against="numpy matmul", rounds=15)
def hybrid() -> Pair:
    searched, plain = index(), rows(SMALL)
    wanted = np.asarray(query(), dtype=np.float32)
    asked = Query("word3 word40 word700 word1234", vector=query(), limit=COUNT, now=NOW)

    def search() -> None:
        pick(searched.search(asked), limit=COUNT, screen=_clean)

    return search, (lambda: plain @ wanted)


def _clean(_memory: Memory) -> str:
    return ""
