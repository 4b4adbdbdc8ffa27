from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from mentis.act.briefs import brief, clean, cut, short
from mentis.values.digest import digest

# Halves of surrogate pairs as well, which is what broken JSON escapes become.
any_text = st.text(
    st.characters(exclude_categories=()) | st.sampled_from("\ud83d\ude00\ud800\ufffd")
)


@given(any_text)
def test_cleaned_text_can_be_written_and_says_what_was_replaced(text: str) -> None:
    cleaned, note = clean(text)
    cleaned.encode()
    assert clean(cleaned) == (cleaned, "")
    assert bool(note) == (cleaned.count("\ufffd") > text.count("\ufffd"))
    if not note:
        assert cleaned.encode("utf-16") == text.encode("utf-16", "surrogatepass")


@given(st.text(min_size=1, max_size=400), st.integers(150, 600))
def test_a_brief_is_the_beginning_and_one_line_on_the_rest(text: str, limit: int) -> None:
    whole = (text * (1 + 600 // len(text))).encode()
    made = brief(whole.decode(), limit=limit, size=len(whole), blob=digest(whole))
    shown, _, last = made.rpartition("\n")
    assert whole.decode().startswith(shown)
    told = json.loads(last)
    kept = {"blob": digest(whole), "read_on": "read_result"}
    assert told == {"bytes": len(whole), "shown": len(shown.encode()), **kept}
    assert len(made.encode()) <= limit


@given(st.text(), st.integers(0, 30))
def test_a_cut_ends_between_two_characters(text: str, limit: int) -> None:
    made = cut(text, limit)
    assert text.startswith(made)
    assert limit - 4 < len(made.encode()) <= limit or made == text


def test_a_reason_stays_short() -> None:
    assert short("x" * 2000) == "x" * 2000
    assert short("x" * 2001) == "x" * 2000 + "… (2001 characters)"
    assert short("half \ud800") == "half \ufffd"
