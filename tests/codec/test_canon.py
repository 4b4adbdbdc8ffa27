"""Canonical JSON."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from uuid import UUID

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from mentis.codec.canon import MAX_BYTES, MAX_DEPTH, canonical, canonical_fields
from mentis.errors import NotCanonical
from mentis.values.trust import Trust

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def nested(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


def test_the_sample_of_the_rfc_has_its_published_bytes() -> None:
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
        "literals": [None, True, False],
    }
    assert (
        canonical(value)
        == (
            '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
            '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
        ).encode()
    )


def test_keys_are_sorted_by_utf_16_units() -> None:
    value = {"\ufb33": 1, "\U0001f600": 2, "a": 3}
    assert canonical(value) == '{"a":3,"\U0001f600":2,"\ufb33":1}'.encode()


def test_tuples_mappings_and_text_enums_take_their_plain_form() -> None:
    value = MappingProxyType({"b": (1, 2), "a": Trust.OWNER})
    assert canonical(value) == b'{"a":"owner","b":[1,2]}'


@pytest.mark.parametrize(
    ("value", "pointer", "reason"),
    [
        (math.nan, "", "nan is not a JSON number"),
        ({"a": [0, math.inf]}, "/a/1", "inf is not a JSON number"),
        ({"a": -math.inf}, "/a", "-inf is not a JSON number"),
        ({"a": 2**53}, "/a", "the integer is beyond 2^53-1"),
        ({"a": -(2**53)}, "/a", "the integer is beyond 2^53-1"),
        ({"a": 1e20}, "/a", "the number would be written as an integer beyond 2^53-1"),
        ({"a/b": {"c~d": -0.0}}, "/a~1b/c~0d", "negative zero would lose its sign"),
        (["\ud800"], "/0", "the text holds a lone surrogate"),
        ({"\udfff": 1}, "/\\udfff", "the text holds a lone surrogate"),
        ({"a": {1: "x"}}, "/a", "the key 1 is not a string"),
        ({"a": {1, 2}}, "/a", "set is not a JSON type"),
        ({"a": b"x"}, "/a", "bytes is not a JSON type"),
        ([object()], "/0", "object is not a JSON type"),
    ],
)
def test_what_has_no_canonical_form_is_refused_by_place_and_reason(
    value: object, pointer: str, reason: str
) -> None:
    with pytest.raises(NotCanonical) as caught:
        canonical(value)
    assert caught.value.facts == {"pointer": pointer, "reason": reason}
    assert f'"{pointer}"' in caught.value.message
    assert reason in caught.value.message
    assert caught.value.hint


def test_the_largest_integers_are_accepted() -> None:
    assert canonical([2**53 - 1, -(2**53) + 1]) == b"[9007199254740991,-9007199254740991]"


def test_nesting_is_accepted_up_to_the_limit_and_refused_beyond() -> None:
    assert canonical(nested(MAX_DEPTH)) == b"[" * MAX_DEPTH + b"1" + b"]" * MAX_DEPTH
    with pytest.raises(NotCanonical, match="nested more than 64 levels deep"):
        canonical(nested(MAX_DEPTH + 1))


def test_a_value_that_contains_itself_is_refused() -> None:
    circle: list[object] = []
    circle.append({"again": circle})
    with pytest.raises(NotCanonical, match="nested more than"):
        canonical(circle)


def test_a_value_that_shares_its_parts_many_times_over_is_refused_before_it_is_written_out() -> (
    None
):
    value: object = "x"
    for _ in range(60):
        value = [value, value]
    with pytest.raises(NotCanonical, match="more than 1048576 bytes"):
        canonical(value)


@pytest.mark.parametrize("letter", ["x", "ü", "\n"])
def test_the_size_limit_counts_the_bytes_of_the_result(letter: str) -> None:
    width = len(json.dumps(letter, ensure_ascii=False).encode()) - 2
    fitting = (MAX_BYTES - 2) // width
    assert len(canonical(letter * fitting)) <= MAX_BYTES
    with pytest.raises(NotCanonical, match="1048576"):
        canonical(letter * (fitting + 1))


@given(JSON)
def test_what_is_accepted_reads_back_to_the_same_bytes_and_agrees_with_the_library(
    value: object,
) -> None:
    try:
        encoded = canonical(value)
    except NotCanonical:
        return
    assert encoded == rfc8785.dumps(value)  # pyright: ignore[reportArgumentType]  # any JSON
    assert canonical(json.loads(encoded)) == encoded


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 9)))
def test_the_order_of_keys_makes_no_difference(value: dict[str, int]) -> None:
    assert canonical(dict(reversed(value.items()))) == canonical(value)


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(1e-5, 2**53, exclude_max=True)
    | st.floats(-1, 1)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.floats(1e-8, 1e-4) | st.floats(1e15, 1e23) | st.integers(-99, 99).map(float))
def test_numbers_that_are_written_in_two_ways_are_written_right(number: float) -> None:
    for value in ([number], [-number, 1], {"a": number}):
        try:
            expected = canonical(value)
        except NotCanonical:
            continue
        assert expected == rfc8785.dumps(value)  # pyright: ignore[reportArgumentType]  # any JSON


@given(PLAIN)
def test_the_fast_way_and_the_oracle_write_the_same_bytes(value: object) -> None:
    try:
        encoded = canonical(value)
    except NotCanonical:
        return
    assert encoded == rfc8785.dumps(value)  # pyright: ignore[reportArgumentType]  # any JSON


@pytest.mark.parametrize(
    "value",
    [
        1.0,
        0.0,
        1e-6,
        1e-7,
        1.5e-5,
        1e21,
        5e-324,
        {"\U0001f600": 1, "\ufb33": 2},
        "\x7f\x1f\b\u2028",
    ],
)
def test_what_fast_writers_get_wrong_is_right(value: object) -> None:
    assert canonical(value) == rfc8785.dumps(value)  # pyright: ignore[reportArgumentType]  # any JSON


class Named(str):
    __slots__ = ()


def test_foreign_types_that_fast_writers_know_are_refused_or_plain() -> None:
    assert canonical({Named("b"): Named("x"), "a": 1}) == b'{"a":1,"b":"x"}'
    for value in (datetime(2026, 1, 1, tzinfo=UTC), UUID(int=0), Path("x")):
        with pytest.raises(NotCanonical, match="is not a JSON type"):
            canonical([value])


def test_a_key_that_is_shared_many_times_over_is_counted() -> None:
    part = {"k" * 1000: 1}
    with pytest.raises(NotCanonical, match="more than 1048576 bytes"):
        canonical([part] * 2000)


@pytest.mark.parametrize("innermost", [[], {}, [1.0], ["x"]])
def test_an_empty_box_is_as_deep_as_a_full_one(innermost: object) -> None:
    value = innermost
    for _ in range(63):
        value = [value]
    canonical(value)
    for deeper in ([value], {"a": value}, [value, *[[] for _ in range(99)]]):
        with pytest.raises(NotCanonical, match="more than 64 levels"):
            canonical(deeper)


@pytest.mark.parametrize("text", ["\ufb33", "\U0001f600"])
def test_keys_are_sorted_right_wherever_they_stand(text: str) -> None:
    for value in ({"\U0001f600": "1", "\ufb33": "2"}, {"b": text, "a": text}):
        for whole in (value, [text, [value]], {"x": {"y": value}}):
            assert canonical(whole) == rfc8785.dumps(whole)
            (field,) = canonical_fields({text: whole})
            assert field == (text, canonical(text), canonical(whole))
