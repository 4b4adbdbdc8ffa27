from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.engines.hashed import HashEmbedder
from mentis.errors import UsageError


@given(st.text(), st.integers(1, 300))
async def test_a_vector_has_the_asked_dimension_and_length_one(text: str, dimension: int) -> None:
    [vector] = await HashEmbedder(dimension).embed([text])
    assert len(vector) == dimension
    assert math.isclose(math.hypot(*vector), 1.0)


async def test_equal_texts_get_equal_vectors_and_others_do_not() -> None:
    first, second, other = await HashEmbedder().embed(["cat", "cat", "dog"])
    assert first == second != other


async def test_the_numbers_are_the_same_on_every_machine() -> None:
    [vector] = await HashEmbedder(3).embed(["Größe"])
    assert [round(value, 9) for value in vector] == [0.497402065, 0.653030932, 0.571088249]


def test_the_fingerprint_tells_dimensions_apart() -> None:
    assert HashEmbedder(8).fingerprint == "hash-sha256/8/l2"
    assert HashEmbedder().fingerprint == "hash-sha256/256/l2"


def test_no_dimension_is_refused() -> None:
    with pytest.raises(UsageError, match="0 dimensions"):
        HashEmbedder(0)
