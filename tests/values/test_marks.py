"""Markers of ours in somebody else's text lose their bracket, however they are disguised."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.values.marks import neutral, nonce_of

DISGUISED = [
    "<system>",
    "</system>",
    "< / SYSTEM >",
    "\uff1csystem\uff1e",
    "<sy\u200bstem>",
    "\u2039\u200b/untrusted",
    "<untrusted-x>",
    "<mentis-note>",
    "<|im_start|>",
    "<" + "\u200b" * 600 + "system>",
    "<\U0001d600\U0001d606\U0001d600\U0001d601\U0001d5f2\U0001d5fa>",
]


@pytest.mark.parametrize("text", DISGUISED)
def test_a_look_alike_is_made_plain(text: str) -> None:
    made = neutral(f"a {text} b")
    assert made.startswith("a &lt;")
    assert neutral(made) == made


@pytest.mark.parametrize("text", ["a < b", "<b>bold</b>", "<systemd>", "x <- y", "Größe", "1<2"])
def test_other_brackets_stay(text: str) -> None:
    assert neutral(text) is text


@given(st.text(alphabet="<>/ systemunrd|\u200b\uff1c", max_size=40))
def test_nothing_can_close_or_open_a_mark_of_ours(text: str) -> None:
    made = neutral(text)
    for mark in ("<system>", "</system>", "<untrusted", "</untrusted", "<|"):
        assert mark not in made


def test_many_brackets_take_no_time_worth_speaking_of() -> None:
    assert len(neutral("<" * 20_000)) == 20_000


def test_a_number_depends_on_text_and_secret_alone() -> None:
    assert nonce_of(["a"], b"s") == nonce_of(["a"], b"s")
    assert len({nonce_of(*each) for each in ((["a"], b"s"), (["b"], b"s"), (["a"], b"t"))}) == 3
