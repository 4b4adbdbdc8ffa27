"""Exact search: the order hangs on the numbers and the ids, on nothing else."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.errors import BadInput, EngineMissing
from mentis.recall.memory.matrix import Matrix, load_numpy
from mentis.values.memories import Vector

NUMBERS = st.floats(-4, 4, width=32)
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=12)


def vector(name: str, numbers: Sequence[float]) -> Vector:
    return Vector(name, "", struct.pack(f"<{len(numbers)}f", *numbers))


def vectors(rows: Sequence[Sequence[float]]) -> list[Vector]:
    return [vector(f"m{number:02}", row) for number, row in enumerate(rows)]


def test_the_nearest_come_first_and_equal_ones_by_id() -> None:
    matrix = Matrix(vectors([(0, 1), (2, 0), (1, 0), (-1, 0), (0, 0)]))
    assert matrix.rank([3.0, 0.0], among=None, count=9) == [
        ("m01", 1.0),
        ("m02", 1.0),
        ("m00", 0.0),
        ("m04", 0.0),
        ("m03", -1.0),
    ]
    assert matrix.rank([3.0, 0.0], among=None, count=1) == [("m01", 1.0)]


def test_only_those_allowed_are_found() -> None:
    matrix = Matrix(vectors([(0, 1), (2, 0), (1, 0)]))
    among = matrix.mask({"m00", "m02"})
    assert [name for name, _ in matrix.rank([1, 0], among=among, count=9)] == ["m02", "m00"]
    assert matrix.rank([1, 0], among=matrix.mask(set()), count=9) == []
    assert matrix.rank([1, 0], among=None, count=0) == []
    assert Matrix().rank([1, 0], among=None, count=3) == []


@given(ROWS, st.tuples(NUMBERS, NUMBERS, NUMBERS), st.integers(1, 5), st.permutations(range(12)))
def test_the_order_of_the_rows_makes_no_difference(
    rows: list[tuple[float, ...]], query: tuple[float, ...], count: int, order: list[int]
) -> None:
    kept = vectors(rows)
    shuffled = [kept[place] for place in order if place < len(kept)]
    grown = Matrix()
    for one in shuffled:
        grown.put([one])
    expected = Matrix(kept).rank(query, among=None, count=count)
    assert grown.rank(query, among=None, count=count) == expected
    assert Matrix(shuffled).rank(query, among=None, count=count) == expected
    assert len(expected) == min(count, len(kept))


@given(ROWS, st.tuples(NUMBERS, NUMBERS, NUMBERS))
def test_scores_are_cosines(rows: list[tuple[float, ...]], query: tuple[float, ...]) -> None:
    for name, score in Matrix(vectors(rows)).rank(query, among=None, count=12):
        row = rows[int(name[1:])]
        lengths = math.hypot(*row) * math.hypot(*query)
        cosine = math.fsum(a * b for a, b in zip(row, query, strict=True)) / (lengths or 1)
        assert score == pytest.approx(cosine, abs=1e-6)


@pytest.mark.parametrize("count", [1, 10, 31, 32, 600])
def test_among_many_the_best_are_the_best(count: int) -> None:
    """Compared with sorting all of them, also where only every seventh may be found."""
    rows = [(math.sin(number * 7.1), math.cos(number * 3.3), 0.5) for number in range(517)]
    query, matrix = (0.3, -0.8, 0.1), Matrix(vectors(rows))
    by_name = dict(matrix.rank(query, among=None, count=9_999))
    best = sorted(by_name.items(), key=lambda one: (-one[1], one[0]))
    assert matrix.rank(query, among=None, count=count) == best[:count]
    allowed = {f"m{number:02}" for number in range(0, 517, 7)}
    fewer = [one for one in best if one[0] in allowed]
    assert matrix.rank(query, among=matrix.mask(allowed), count=count) == fewer[:count]


def test_a_vector_put_again_takes_the_place_of_the_old_one() -> None:
    matrix = Matrix(vectors([(1, 0), (0, 1)]))
    matrix.put([vector("m00", (0, 1))])
    assert len(matrix) == 2
    assert "m00" in matrix
    assert matrix.rank([0, 1], among=None, count=9) == [("m00", 1.0), ("m01", 1.0)]


@pytest.mark.parametrize("wrong", [(1.0, 2.0, 3.0), (), (math.nan, 1.0), (math.inf, 1.0)])
def test_a_vector_that_does_not_fit_is_refused(wrong: tuple[float, ...]) -> None:
    matrix = Matrix(vectors([(1, 0)]))
    with pytest.raises(BadInput):
        matrix.put([vector("m09", wrong)])
    with pytest.raises(BadInput):
        matrix.rank(wrong, among=None, count=1)
    assert matrix.rank([1, 0], among=None, count=9) == [("m00", 1.0)]


def test_without_numpy_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "numpy", None)
    with pytest.raises(EngineMissing, match="numpy") as caught:
        load_numpy()
    assert "mentis[recall]" in caught.value.hint
