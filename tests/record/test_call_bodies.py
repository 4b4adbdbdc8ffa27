"""Bodies of recorded calls are kept by block and come back byte for byte."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.errors import StoreDamaged
from mentis.record.call_bodies import KnownBlocks, call_blobs, keep_body, read_body, split_body
from mentis.stores.memory.blobs import BlobsInMemory
from mentis.values.entry import Entry

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def size_of(blobs: BlobsInMemory) -> int:
    return sum(map(len, blobs._blobs.values()))  # pyright: ignore[reportPrivateUsage]


def kept(blobs: BlobsInMemory, text: str) -> str:
    return keep_body(blobs, text.encode(), split_body(text).blocks)


@given(
    st.dictionaries(st.text(), VALUES, max_size=5),
    st.sampled_from([None, 0, 2]),
    st.booleans(),
)
def test_any_object_is_cut_and_put_together_again(
    body: dict[str, object], indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(body, indent=indent, ensure_ascii=ascii_only)
    split = split_body(text)
    value, blocks = split.payload, split.blocks
    assert value == json.loads(text)
    assert "".join(block.text for block in blocks) == text
    blobs = BlobsInMemory()
    assert read_body(blobs, kept(blobs, text)) == text.encode()


@pytest.mark.parametrize(
    "text",
    ["", "data: {}\n\n", "[1, 2]", '{"a": 1', '{"a": 1,}', '{"a" 1}', '{"a": [1,]}', "{} {}", "{"],
)
def test_what_is_no_object_is_one_block(text: str) -> None:
    split = split_body(text)
    value, blocks = split.payload, split.blocks
    assert value is None
    assert [block.text for block in blocks] == [text]


def test_blocks_have_the_pointers_of_tools_and_messages() -> None:
    text = '{"model": "m", "tools": [{"name": "a"}], "messages": [{"role": "user"}, 2], "a/b": {}}'
    blocks = split_body(text).blocks
    assert [block.pointer for block in blocks if block.pointer] == [
        "/model",
        "/tools/0",
        "/messages/0",
        "/messages/1",
        "/a~1b",
    ]


def test_what_a_later_call_repeats_is_kept_once() -> None:
    blobs = BlobsInMemory()
    messages = [{"role": "user", "content": f"{number} " * 500} for number in range(20)]
    kept(blobs, json.dumps({"messages": messages}))
    before = size_of(blobs)
    kept(blobs, json.dumps({"messages": [*messages, {"role": "user", "content": "more"}]}))
    assert size_of(blobs) - before < before / 5


def test_bytes_that_are_no_text_are_kept_as_they_are() -> None:
    blobs = BlobsInMemory()
    listing = keep_body(blobs, b"\xff\x00", None)
    assert read_body(blobs, listing) == b"\xff\x00"


def test_a_body_of_which_a_block_is_gone_is_not_given_out_in_part() -> None:
    blobs = BlobsInMemory()
    listing = kept(blobs, json.dumps({"messages": ["x" * 1000], "other": "y" * 1000}))
    entry = _entry(listing)
    (some, *_) = call_blobs(blobs, entry, ["request"]) - {listing}
    blobs.forget(some)
    assert read_body(blobs, listing) is None
    assert read_body(blobs, "sha256:" + "0" * 64) is None


def test_a_blob_that_is_no_list_of_blocks_is_told() -> None:
    blobs = BlobsInMemory()
    for content in (b"no", b"[]", b'{"format": 2, "blocks": []}'):
        with pytest.raises(StoreDamaged):
            read_body(blobs, blobs.keep(content))


def _entry(listing: str) -> Entry:
    body = {"request": {"body": listing}}
    return Entry("recorded/x", 0, "", "", "call", None, None, {}, "", body=body)


@given(st.lists(st.dictionaries(st.text(), VALUES, max_size=5), max_size=6), st.booleans())
def test_what_is_known_of_earlier_bodies_changes_nothing(
    bodies: list[dict[str, object]], ascii_only: bool
) -> None:
    known, blobs = KnownBlocks(), BlobsInMemory()
    said = {"messages": [{"role": "user", "content": "so it goes " * 40}]}
    for body in ({**said, **one} for one in [*bodies, *bodies]):
        text = json.dumps(body, ensure_ascii=ascii_only)
        split, alone = split_body(text, known), split_body(text)
        assert (split.payload, split.blocks) == (alone.payload, alone.blocks)
        listing = keep_body(blobs, text.encode(), split.blocks, known)
        assert listing == keep_body(BlobsInMemory(), text.encode(), alone.blocks)
        assert read_body(blobs, listing) == text.encode()
        known.learn(split)


def test_what_a_body_repeats_is_not_read_again() -> None:
    messages = [{"role": "user", "content": "b" * 300}]
    first = {"tools": [{"name": "a" * 300}], "messages": messages}
    second = {**first, "messages": [*messages, {"role": "user", "content": "c" * 300}]}
    known = KnownBlocks()
    known.learn(split_body(json.dumps(first), known))
    split = split_body(json.dumps(second), known)
    fresh = "".join(block.text for block, _ in split.fresh)
    assert "c" * 300 in fresh
    assert "a" * 300 not in fresh
    assert "b" * 300 not in fresh


def test_a_list_goes_on_where_another_began_alike_as_if_it_were_read_alone() -> None:
    said = [{"role": "user", "content": f"so {n}"} for n in range(4)]
    marked = {**said[2], "mark": True}
    known = KnownBlocks()
    for items in (said[:2], said, [*said[:2], marked, said[3]], said[:1], [], [*said, 5], [1, 23]):
        for text in (json.dumps({"messages": items}), json.dumps({"a": 1, "messages": items})):
            split, alone = split_body(text, known), split_body(text)
            assert (split.payload, split.blocks) == (alone.payload, alone.blocks)
            known.learn(split)
    assert split_body('{"messages": [1, 234]}', known).payload == {"messages": [1, 234]}
    going_on = split_body(json.dumps({"messages": [*said, {"role": "user"}]}), known)
    assert "so 3" not in "".join(block.text for block, _ in going_on.fresh)
