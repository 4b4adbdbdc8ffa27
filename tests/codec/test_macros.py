"""Macros of other programs, made into plain text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.codec.macros import expand_macros

NAMES = {"char": "Seraphina", "user": "Lena", "original": "Be kind."}
_PARTS = st.sampled_from(
    ["{{", "}}", "char", "user", ":", "::", ",", "random", "roll", "2d6", "//", "<USER>", "<bot>",
     "trim", "\n", "{", "}", "x", " ", "pick", "unknown", "\x00"]
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{{char}} and {{USER}}", "Seraphina and Lena"),
        ("<BOT> meets <user>", "Seraphina meets Lena"),
        ("{{original}} Also rhyme.", "Be kind. Also rhyme."),
        ("a{{// not for {{user}}}}b{{comment: x}}{{noop}}", "ab"),
        ("a{{newline}}b\n\n{{trim}}\nc", "a\nbc"),
        ("{{reverse:abc}}", "cba"),
        ("{{roll:1}} {{roll 3d1+2}}", "1 5"),
        ("{{random:only}}", "only"),
        ("{{random::a, b}}", "a, b"),
        ("{{pick:{{char}}}}", "Seraphina"),
        ("{{setvar::x::1}}{{whatever}}", ""),
        ("{one} { {char} }", "{one} { {char} }"),
    ],
)
def test_macros_become_plain_text(text: str, told: str) -> None:
    if "::a, b" in text:
        assert expand_macros(text, NAMES, seed="s").text in ("a", "b")
    else:
        assert expand_macros(text, NAMES, seed="s").text == told


def test_chance_is_drawn_from_the_seed_and_recorded() -> None:
    text = "{{random:red,green\\, dark,blue}} {{roll:d20}}"
    first = expand_macros(text, NAMES, seed="turn 1")
    assert first == expand_macros(text, NAMES, seed="turn 1")
    assert " ".join(draw.result for draw in first.draws) == first.text
    several = {expand_macros(text, NAMES, seed=f"turn {n}").text for n in range(20)}
    assert len(several) > 5


def test_a_macro_that_nothing_is_known_of_is_named() -> None:
    assert expand_macros("{{getvar::x}}{{foo}}", NAMES, seed="").unknown == ("getvar", "foo")


def test_what_a_macro_gave_is_never_looked_at_again() -> None:
    assert expand_macros("{{user}}", {"user": "{{roll:6}}"}, seed="").text == "{{roll:6}}"


@given(st.lists(_PARTS, max_size=30).map("".join))
def test_no_macro_is_left_standing(text: str) -> None:
    made = expand_macros(text, NAMES, seed="s").text
    assert "{{" not in made
