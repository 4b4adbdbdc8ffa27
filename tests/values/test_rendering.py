from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.values.digest import digest
from mentis.values.fragment import Fragment
from mentis.values.rendering import Rendering
from mentis.values.source_map import SourceRange
from mentis.values.span import Span, join_spans

Pieces: TypeAlias = tuple[str, ...]
Tree: TypeAlias = dict[str, "Tree"] | list["Tree"] | Pieces | int | None
PIECES = st.lists(st.text(), min_size=1, max_size=4)
# Texts that JSON has to escape, and keys that a JSON pointer has to escape.
PAYLOADS = st.dictionaries(
    st.text() | st.sampled_from(["a/b", "~", "~1", ""]),
    st.recursive(
        PIECES.map(tuple) | st.integers() | st.none(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)


def texts_in(node: Tree, pointer: str = "") -> Iterator[tuple[str, Pieces]]:
    """The pointer and the pieces of each text; in the draft a text is the tuple of its pieces."""
    if isinstance(node, tuple):
        yield pointer, node
    elif isinstance(node, dict):
        for key, item in node.items():
            yield from texts_in(item, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(node, list):
        for index, item in enumerate(node):
            yield from texts_in(item, f"{pointer}/{index}")


def joined(node: Tree) -> object:
    if isinstance(node, tuple):
        return "".join(node)
    if isinstance(node, dict):
        return {key: joined(item) for key, item in node.items()}
    if isinstance(node, list):
        return [joined(item) for item in node]
    return node


def rendering_of(draft: dict[str, Tree]) -> Rendering:
    sources = {
        pointer: tuple(Span(piece, block=str(number)) for number, piece in enumerate(pieces))
        for pointer, pieces in texts_in(draft)
    }
    return Rendering("test", {key: joined(item) for key, item in draft.items()}, sources)


def text_at(body: bytes, place: SourceRange) -> str:
    return json.loads(b'"' + body[place.start : place.end] + b'"')


@given(PAYLOADS)
def test_the_source_map_names_the_span_of_every_byte_of_text(draft: dict[str, Tree]) -> None:
    rendering = rendering_of(draft)
    body = rendering.body()
    ranges = rendering.source_map()
    assert [text_at(body, place) for place in ranges] == [place.span.text for place in ranges]
    by_pointer: dict[str, list[SourceRange]] = {}
    for place in ranges:
        by_pointer.setdefault(place.pointer, []).append(place)
    assert set(by_pointer) == set(rendering.sources)
    for pointer, places in by_pointer.items():
        assert tuple(place.span for place in places) == rendering.sources[pointer]
        assert body[places[0].start - 1 : places[0].start] == b'"'
        assert body[places[-1].end : places[-1].end + 1] == b'"'
        for before, after in pairwise(places):
            assert before.end == after.start


@given(PAYLOADS)
def test_the_body_is_the_payload_and_the_digest_is_of_the_body(draft: dict[str, Tree]) -> None:
    rendering = rendering_of(draft)
    assert json.loads(rendering.body()) == rendering.payload
    assert rendering.digest == digest(rendering.body())


@given(PAYLOADS)
def test_the_body_is_the_same_every_time_and_leaves_the_payload_as_it_is(
    draft: dict[str, Tree],
) -> None:
    rendering = rendering_of(draft)
    first = rendering.body()
    assert rendering.body() == first
    assert rendering.payload == rendering_of(draft).payload


def test_a_piece_is_kept_as_it_was_written_unless_it_is_large() -> None:
    small, large = Fragment(text="a"), Fragment(text="a" * 100_000)
    assert small.encode() is small.encode()
    assert large.encode() == large.encode()
    assert large.encode() is not large.encode()


def test_keys_stay_in_the_order_the_renderer_laid_down() -> None:
    assert Rendering("test", {"b": 1, "a": "ü"}).body() == '{"b":1,"a":"ü"}'.encode()


def test_a_number_that_json_cannot_say_is_not_sent() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        Rendering("test", {"temperature": float("nan")}).body()


def test_joined_spans_are_their_texts_in_order() -> None:
    assert join_spans([Span("a"), Span(""), Span("b")]) == "ab"
