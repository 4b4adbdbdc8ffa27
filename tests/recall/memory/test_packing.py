from __future__ import annotations

import math
import struct
from typing import Any

import pytest

from mentis.errors import EngineFailed
from mentis.recall.memory.packing import pack, pack_vectors
from mentis.values.cognition import Memory


def test_a_vector_is_kept_as_float32() -> None:
    assert pack([0.1, -2.0]) == struct.pack("<2f", 0.1, -2.0)


@pytest.mark.parametrize("wrong", [[], [math.nan], [math.inf], [1e39], ["x"], [None]])
def test_what_is_no_vector_is_the_embedders_fault(wrong: list[Any]) -> None:
    with pytest.raises(EngineFailed):
        pack(wrong)


def test_each_text_gets_one_vector() -> None:
    with pytest.raises(EngineFailed, match="1 vectors of 2 texts"):
        pack_vectors([Memory("a", "x"), Memory("b", "y")], [[1.0]])
