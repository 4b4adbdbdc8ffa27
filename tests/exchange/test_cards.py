"""Character cards are read from what other programs write, and traps are refused."""

from __future__ import annotations

import base64
import json
import zlib
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.card_files import CARD, card_png, chunk, png

from mentis.errors import BadInput
from mentis.exchange.cards import (
    card_in_picture,
    example_exchanges,
    is_card,
    read_card,
    read_json,
)
from mentis.exchange.png_text import read_texts, with_texts
from mentis.values.json import JsonObject

V1: JsonObject = {
    "name": "Ada",
    "description": "d",
    "personality": "p",
    "scenario": "s",
    "first_mes": "f",
    "mes_example": "",
}
PACKED = base64.b64encode(json.dumps(V1).encode())


def test_cards_of_every_version_are_read() -> None:
    older: JsonObject = {"char_name": "Ada", "char_persona": "d", "char_greeting": "f"}
    newer: JsonObject = {"spec": "chara_card_v3", "data": {**V1, "nickname": "Ad"}}
    assert [read_card(one).version for one in (V1, older, CARD, newer)] == [1, 1, 2, 3]
    assert read_card(older).first_mes == read_card(V1).first_mes == "f"
    assert read_card(newer).nickname == "Ad"
    assert read_card(CARD).scripts[0].pattern == "/x/g"
    for other in ({"entries": 1}, (), None, {"name": "only"}):
        assert not is_card(other)


def test_of_two_cards_in_a_picture_the_newer_format_counts() -> None:
    old = chunk(b"tEXt", b"chara\x00" + base64.b64encode(b'{"name": "old"}'))
    data = png(old, chunk(b"tEXt", b"ccv3\x00" + base64.b64encode(b'{"name": "new"}')))
    assert card_in_picture(data) == b'{"name": "new"}'
    assert card_in_picture(png()) is None


@pytest.mark.parametrize(
    "text",
    [
        chunk(b"tEXt", b"Chara\x00" + PACKED),
        chunk(b"zTXt", b"chara\x00\x00" + zlib.compress(PACKED)),
        chunk(b"iTXt", b"chara\x00\x00\x00\x00\x00" + PACKED),
        chunk(b"iTXt", b"chara\x00\x01\x00en\x00x\x00" + zlib.compress(PACKED)),
    ],
)
def test_texts_of_every_kind_of_picture_are_found(text: bytes) -> None:
    found = card_in_picture(png(text))
    assert found is not None
    assert json.loads(found) == V1


def test_a_picture_keeps_its_parts_when_a_text_is_changed() -> None:
    data = card_png()
    assert with_texts(data, {}, without=["CHARA"]) == png()
    assert read_texts(with_texts(data, {"chara": "new"}), ["chara"]) == {"chara": "new"}


def test_a_text_that_unpacks_without_end_is_refused() -> None:
    bomb = zlib.compress(b"\x00" * 100_000_000)
    with pytest.raises(BadInput, match="more than 20000000 bytes"):
        card_in_picture(png(chunk(b"zTXt", b"chara\x00\x00" + bomb)))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (png(chunk(b"tEXt", b"chara\x00%%%")), "no base64|not base64"),
        (card_png()[:-20], "ends at byte|longer than it"),
        (card_png().replace(b"chara\x00", b"chara\x01"), "damaged"),
        (b"\x89PNG\r\n\x1a\n" + b"\xff\xff\xff\xfftEXt0000", "longer than it"),
    ],
)
def test_damaged_pictures_are_refused_with_the_place(data: bytes, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        card_in_picture(data)


@given(st.binary(max_size=200), st.integers(0, 400))
def test_no_bytes_in_a_picture_do_anything_but_a_refusal(noise: bytes, place: int) -> None:
    data = card_png(V1)
    broken = data[:place] + noise + data[place + len(noise) :]
    try:
        found = card_in_picture(broken)
        if found is not None:
            read_json(found, "it")
    except BadInput:
        pass


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from([*V1, "data", "extensions", "spec"]), inner, max_size=3
            )
        ),
        max_leaves=12,
    )
)
def test_no_document_does_anything_but_a_refusal(document: object) -> None:
    for one in (document, {"spec": "chara_card_v2", "data": document}, {**V1, "name": document}):
        try:
            if is_card(one) and isinstance(one, dict):
                example_exchanges(read_card(cast("JsonObject", one)))
        except BadInput:
            pass


def test_wrong_encodings_are_refused_and_a_byte_order_mark_is_not() -> None:
    assert read_json(b"\xef\xbb\xbf{}", "it") == {}
    for data in ('{"name": "ä"}'.encode("latin-1"), '{"name": "a"}'.encode("utf-16"), b"{", b""):
        with pytest.raises(BadInput):
            read_json(data, "it")


def test_examples_are_exchanges_only_where_two_speak_in_turn() -> None:
    card = read_card(CARD)
    assert [(one.user, one.reply) for one in example_exchanges(card)] == [
        ("Who are you?", "The guardian.\nOf this glade.")
    ]
    for text in ("{{char}}: I begin.", "Once upon a time.", "{{user}}: a\n{{user}}: b"):
        assert example_exchanges(read_card({**V1, "mes_example": text})) == ()
