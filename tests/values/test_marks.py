"""Markers of ours in somebody else's text lose their bracket, however they are disguised."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.values.marks import ANGLES, BARS, SLASHES, neutral, nonce_of
from mentis.values.skeleton import ALIKE, skeleton

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
    "\u2039/untrust\u0435d 000>",
    "\u2039/un\u03c4rusted",
    "\u2039\U0001f164ntrusted",
    "<\u016dntrusted>",
    "<\ua7a9ystem>",
    "<\\/untrusted>",
    "<\u2571untrusted>",
    "<\u01c0im_end|>",
    "<systern>",
    "<system\u00b9>",
]


def forms_of(letter: str) -> list[str]:
    """Every character that stands for a letter, or is it with something added."""
    spread = ((one, unicodedata.normalize("NFKD", one).casefold()) for one in SPREAD)
    return [one for one, plain in spread if "".join(filter(str.isalnum, plain)) == letter]


SPREAD = [
    one
    for one in map(chr, (*range(0x80, 0x3400), *range(0xA000, 0xAC00), *range(0xF900, 0x1FC00)))
    if not 0xD800 <= ord(one) < 0xF900 and unicodedata.normalize("NFKD", one) != one
]
FORMS = {
    letter: [
        letter,
        letter.upper(),
        *ALIKE.get("rn" if letter == "m" else letter, ""),
        *forms_of(letter),
    ]
    for letter in "untrsedymi"
}
UNSEEN = st.sampled_from(["", "", "", "\u200b", "\u00ad", "\u0301", "\u20e3", "\u3164"])


@st.composite
def disguised(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from(["untrusted", "system", "mentis"]))
    letters = [draw(st.sampled_from(FORMS[letter])) + draw(UNSEEN) for letter in name]
    bracket, slash = draw(st.sampled_from(ANGLES)), draw(st.sampled_from(["", " ", *SLASHES]))
    return f"{bracket}{draw(UNSEEN)}{slash}{''.join(letters)}>"


@given(disguised())
def test_no_look_alike_from_any_alphabet_is_left(text: str) -> None:
    made = neutral(f"a {text} b")
    assert made == f"a &lt;{text[1:]} b"


def test_whatever_spreads_into_a_bracket_or_a_slash_counts_as_one() -> None:
    for one in SPREAD:
        spread = unicodedata.normalize("NFKD", one)[0]
        for base, known in (("<\u3008\u300a", ANGLES), ("/\\", SLASHES), ("|", BARS)):
            assert spread not in base or one in known, f"U+{ord(one):04X}"


def test_a_character_is_drawn_like_one_letter_only() -> None:
    drawn = "".join(ALIKE.values())
    assert len(drawn) == len(set(drawn))
    assert skeleton(skeleton("Untrusted, SYSTEM")) == skeleton("Untrusted, SYSTEM")


@pytest.mark.parametrize("text", DISGUISED)
def test_a_look_alike_is_made_plain(text: str) -> None:
    made = neutral(f"a {text} b")
    assert made.startswith("a &lt;")
    assert neutral(made) == made


@pytest.mark.parametrize(
    "text",
    [
        *("a < b", "<b>bold</b>", "<systemd>", "x <- y", "Größe", "1<2", "<Systemübersicht>"),
        *(
            "<!doctype html>",
            "<span>",
            "<s>",
            "\u00abSystem\u00bb",
            "\u300a\u8bf4\u660e\u300b",
            "<\n/",
        ),
    ],
)
def test_other_brackets_stay(text: str) -> None:
    assert neutral(text) is text


@given(st.text(alphabet="<>/ systemunrd|\u200b\uff1c", max_size=40))
def test_nothing_can_close_or_open_a_mark_of_ours(text: str) -> None:
    made = neutral(text)
    for mark in ("<system>", "</system>", "<untrusted", "</untrusted", "<|"):
        assert mark not in made


def test_many_brackets_take_no_time_worth_speaking_of() -> None:
    assert len(neutral("<" * 20_000)) == 20_000
    assert len(neutral("\u2039" * 20_000)) == 20_000


def test_a_number_depends_on_text_and_secret_alone() -> None:
    assert nonce_of(["a"], b"s") == nonce_of(["a"], b"s")
    assert len({nonce_of(*each) for each in ((["a"], b"s"), (["b"], b"s"), (["a"], b"t"))}) == 3
