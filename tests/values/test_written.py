from __future__ import annotations

import json
from enum import Enum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.values.written import dump, quick

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def by_the_standard_library(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


@given(JSON)
def test_the_bytes_are_those_of_the_standard_library(value: object) -> None:
    assert dump(value) == by_the_standard_library(value)


@pytest.mark.parametrize(
    "value", [1e16, 1.0, -0.0, 5e-324, 2**64, -(2**63) - 1, {1: "a"}, "\x7f\u2028"]
)
def test_what_the_two_writers_write_differently_is_written_the_standard_way(value: object) -> None:
    assert dump(value) == by_the_standard_library(value)
    assert dump([{"deep": value}]) == by_the_standard_library([{"deep": value}])


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    "value", [float("nan"), [float("inf")], {"a": "\ud800"}, {1, 2}, Colour.RED]
)
def test_what_json_cannot_say_is_refused(value: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        dump(value)


@given(JSON)
def test_what_is_quickly_looked_into_says_the_same(value: object) -> None:
    written = quick(value)
    assert not written or json.loads(written) == value


@pytest.mark.parametrize("value", [float("nan"), {"a": "\ud800"}, {1, 2}, 2**70, None])
def test_what_only_the_standard_library_can_judge_is_left_to_it(value: object) -> None:
    assert quick(value) == b""
