"""An index looks at few vectors, finds nearly all, and ranks what it finds as exact search does."""

from __future__ import annotations

import random
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mentis.recall.memory.cells import Cells, planned_size
from mentis.recall.memory.cells_plan import ENOUGH, plan
from mentis.recall.memory.matrix import Matrix
from mentis.values.memories import Vector

if TYPE_CHECKING:
    from mentis.recall.memory.matrix import Floats

SIZE, LATER, DIMENSION = 3_000, 40, 24


def scattered(count: int, seed: int, *, around: int = 60, width: float = 0.25) -> Floats:
    chance = np.random.default_rng(seed)
    middles = np.random.default_rng(0).standard_normal((around, DIMENSION))
    drawn = chance.integers(0, around, count)
    return (middles[drawn] + width * chance.standard_normal((count, DIMENSION))).astype("<f4")


def vectors(rows: Floats) -> list[Vector]:
    names = [f"m{number:04}" for number in range(len(rows))]
    random.Random(3).shuffle(names)  # noqa: S311 - steady numbers
    return [Vector(name, "", row.tobytes()) for name, row in zip(names, rows, strict=True)]


def cells_of(matrix: Matrix, size: int) -> Cells:
    made = plan(matrix.rows[:size])
    assert made is not None
    ordered = matrix.reorder(made.order)
    ordered.follow(matrix, size)
    return Cells(ordered, made)


@cache
def both() -> tuple[Matrix, Cells]:
    matrix = Matrix(vectors(scattered(SIZE + LATER, 1)))
    return matrix, cells_of(matrix, SIZE)


def test_it_finds_nearly_all_of_the_nearest_at_a_fraction_of_the_work() -> None:
    matrix, cells = both()
    assert cells.plan.recall >= ENOUGH
    found = looked = 0
    for query in scattered(50, 2).tolist():
        exact = matrix.rank(query, among=None, count=10)
        near, looked_at = cells.rank(query, among=None, count=10)
        assert [one for one in near if one in exact] == [one for one in exact if one in near]
        assert near == sorted(near, key=lambda one: (-one[1], one[0]))
        found += len({*near} & {*exact})
        looked += looked_at
    assert found >= 0.95 * 500
    assert looked < 50 * SIZE / 4


def test_what_came_later_is_always_looked_at() -> None:
    matrix, cells = both()
    for place in range(SIZE, SIZE + LATER):
        (best, _), *_ = cells.rank(matrix.rows[place].tolist(), among=None, count=1)[0]
        assert best == matrix.ids[place]


@given(st.sets(st.integers(0, SIZE + LATER - 1), max_size=30), st.integers(0, 40))
@settings(max_examples=40)
def test_a_narrow_filter_finds_all_that_it_lets_through(places: set[int], asked: int) -> None:
    matrix, cells = both()
    allowed = {matrix.ids[place] for place in places}
    query = scattered(41, 4)[asked].tolist()
    exact = matrix.rank(query, among=matrix.mask(allowed), count=30)
    assert cells.rank(query, among=cells.matrix.mask(allowed), count=30)[0] == exact


def test_the_same_vectors_make_the_same_cells_however_the_machine_adds_up() -> None:
    """The same numbers in another order and another layout are added up in another order."""
    rows = both()[0].rows[:SIZE]
    columns = np.random.default_rng(6).permutation(DIMENSION)
    made, again = plan(rows), plan(np.asfortranarray(rows[:, columns]))
    assert made is not None
    assert again is not None
    assert made.order.tolist() == again.order.tolist()
    assert made.centres[:, columns].tolist() == again.centres.tolist()
    assert (made.budget, made.recall) == (again.budget, again.recall)


def test_vectors_that_lie_evenly_are_known_to_be_unfit() -> None:
    even = np.random.default_rng(5).standard_normal((2_000, 64), dtype=np.float32)
    made = plan(even / np.linalg.norm(even, axis=1, keepdims=True))
    assert made is not None
    assert made.recall < ENOUGH
    assert made.budget <= 500


@pytest.mark.parametrize("rows", [1, 2, 11, 300])
def test_equal_and_empty_vectors_are_no_trouble(rows: int) -> None:
    same = np.zeros((rows, 3), dtype=np.float32)
    same[rows // 2 :, 0] = 1.0
    cells = cells_of(Matrix(vectors(same)), rows)
    found, _ = cells.rank([2.0, 0.0, 0.0], among=None, count=5)
    assert [score for _, score in found][:1] == [1.0]


def test_whoever_has_as_many_vectors_sorts_as_many_into_cells() -> None:
    assert planned_size(50_000, 50_000) == 0
    assert planned_size(50_001, 50_000) == 50_000
    for count in (60_000, 200_000, 1_000_000):
        size = planned_size(count, 50_000)
        assert size <= count < size * 1.11
        assert planned_size(size, 50_000) == size


def test_it_can_be_stopped() -> None:
    answers = iter([False, False, True])
    assert plan(both()[0].rows, lambda: next(answers)) is None
