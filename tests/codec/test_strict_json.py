"""JSON from outside: one meaning, or a refusal with a reason and a place."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.codec.canon import MAX_BYTES, MAX_DEPTH, canonical
from mentis.codec.strict_json import read_strict, read_strict_object
from mentis.errors import NotCanonical

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("data", "reason", "place"),
    [
        (b'{"a": [NaN]}', "NaN is not a JSON number", {"pointer": "/a/0"}),
        (b"-Infinity", "-Infinity is not a JSON number", {"pointer": ""}),
        (b'{"a": 1e999}', "1e999 is too large for a number", {"pointer": "/a"}),
        (b"[1e-999]", "1e-999 is too small for a number", {"pointer": "/0"}),
        (
            b'[{"goal": 1, "x": 2, "goal": 1}]',
            "the key 'goal' stands there twice",
            {"pointer": "/0/goal"},
        ),
        (b'{"a": "\\ud800"}', "the text holds a lone surrogate", {"pointer": "/a"}),
        (b'{"\\uDFFF": 1}', "the text holds a lone surrogate", {"pointer": "/\\udfff"}),
        (b"\xef\xbb\xbf{}", "it begins with a byte order mark", {"byte": 0}),
        (b'{"a": "\xff"}', "it is not UTF-8: invalid start byte", {"byte": 7}),
        (b'"\xed\xa0\x80"', "it is not UTF-8: invalid continuation byte", {"byte": 1}),
        (b'{"a": 9007199254740992}', "the integer is beyond 2^53-1", {"pointer": "/a"}),
        (b"[-" + b"9" * 5000 + b"]", "the integer is beyond 2^53-1", {"pointer": "/0"}),
        (b"[-0]", "negative zero would lose its sign", {"pointer": "/0"}),
        (b"[0, -0.0]", "negative zero would lose its sign", {"pointer": "/1"}),
        (b"[-0e5]", "negative zero would lose its sign", {"pointer": "/0"}),
        (
            b'{"a": 1e20}',
            "the number would be written as an integer beyond 2^53-1",
            {"pointer": "/a"},
        ),
        (b"[" * 65 + b"]" * 65, "it is nested more than 64 levels deep", {"byte": 64}),
        (b"[" * 100_000, "it is nested more than 64 levels deep", {"byte": 64}),
        (
            b'"' + b"x" * MAX_BYTES + b'"',
            "it takes 1048578 bytes, more than 1048576",
            {"byte": MAX_BYTES},
        ),
        (
            b'{"a":\n tru}',
            "it is not JSON: Expecting value",
            {"line": 2, "column": 2},
        ),
        (b"", "it is not JSON: Expecting value", {"line": 1, "column": 1}),
        (b'"a\x00b"', "it is not JSON: Invalid control character at", {"line": 1, "column": 3}),
        (b"{} {}", "it is not JSON: Extra data", {"line": 1, "column": 4}),
        ("{}".encode("utf-16"), "it is not UTF-8: invalid start byte", {"byte": 0}),
    ],
)
def test_what_has_no_single_meaning_is_refused_with_reason_and_place(
    data: bytes, reason: str, place: dict[str, object]
) -> None:
    with pytest.raises(NotCanonical) as caught:
        read_strict(data)
    assert caught.value.facts == {"reason": reason, **place}
    assert reason in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b' {"a": [1, -1, 0.5, "x", null, true]} ', {"a": [1, -1, 0.5, "x", None, True]}),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'"\\\\ud800"', "\\ud800"),
        (b"[0.0, 0e7]", [0.0, 0.0]),
        (b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, json.loads("[" * MAX_DEPTH + "]" * MAX_DEPTH)),
        (b'"' + b"[" * 200 + b'\\"["', "[" * 200 + '"['),
    ],
)
def test_what_has_one_meaning_is_read(data: bytes, value: object) -> None:
    assert read_strict(data) == value


def test_only_an_object_passes_where_an_object_is_wanted() -> None:
    assert read_strict_object(b'{"a": 1}') == {"a": 1}
    with pytest.raises(NotCanonical, match="not a JSON object"):
        read_strict_object(b"[]")


@given(JSON, st.booleans())
def test_what_is_read_has_a_canonical_form_and_what_has_one_is_read(
    value: object, escaped: bool
) -> None:
    data = json.dumps(value, ensure_ascii=escaped).encode(errors="surrogatepass")
    try:
        read = read_strict(data)
    except NotCanonical:
        with pytest.raises(NotCanonical):
            canonical(value)
    else:
        assert canonical(read) == canonical(value)


@given(st.binary(max_size=30))
def test_bytes_of_any_kind_are_read_or_refused(data: bytes) -> None:
    with suppress(NotCanonical):
        canonical(read_strict(data))
