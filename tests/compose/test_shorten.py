from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mentis.compose.fences import fence_spans
from mentis.compose.shorten import first_words, head, last_words, shorten
from mentis.values.span import Span, join_spans
from mentis.values.trust import Trust

from .conftest import Quarters


def shortened(text: str, limit: int) -> str:
    return join_spans(shorten([Span(text)], limit, Quarters()))


def test_a_text_ends_after_a_paragraph_or_a_sentence() -> None:
    text = 'One two. "Three four?" Five six\n\nSeven eight! Nine ten.'
    assert shortened(text, 4) == "One two."
    assert shortened(text, 5) == 'One two. "Three four?"'
    assert shortened(text, 7) == 'One two. "Three four?" Five six'
    assert shortened(text, 1) == ""
    assert shortened("3.5 is a number of mine", 4) == ""


def test_a_cut_does_not_take_the_mark_at_the_end_of_text_from_outside() -> None:
    spans = (
        Span("Before. "),
        *fence_spans([Span("One two. Three four. Five.", trust=Trust.UNTRUSTED)], b"s"),
        Span(" After."),
    )
    whole = Quarters().count(join_spans(spans)).tokens
    for limit in range(whole):
        text = join_spans(shorten(spans, limit, Quarters()))
        assert text.count("<untrusted ") == text.count("</untrusted ")
        assert Quarters().count(text).tokens <= limit
    assert "One two.\n</untrusted " in join_spans(shorten(spans, whole - 5, Quarters()))


def test_sentences_without_spaces_between_end_as_well() -> None:
    assert shortened("一二三四。五六七八", 1) == "一二三四。"


PIECES = st.lists(st.text("ab .\n!", max_size=12), max_size=8)


@given(PIECES, st.integers(0, 30))
def test_what_is_left_is_a_beginning_within_the_limit(pieces: list[str], limit: int) -> None:
    spans = [Span(piece, block=str(n)) for n, piece in enumerate(pieces)]
    kept = shorten(spans, limit, Quarters())
    text = join_spans(kept)
    assert "".join(pieces).startswith(text)
    assert not text or Quarters().count(text).tokens <= limit
    assert [span.block for span in kept] == [span.block for span in spans[: len(kept)]]


@given(PIECES, st.integers(0, 40))
def test_the_head_of_spans_is_the_head_of_their_text(pieces: list[str], length: int) -> None:
    spans = [Span(piece) for piece in pieces]
    assert join_spans(head(spans, length)) == "".join(pieces)[:length]


def test_words_are_cut_between_words_and_marked() -> None:
    assert first_words("one two three", 9) == "one two …"
    assert last_words("one two three", 9) == "… three"
    assert first_words("short", 9) == last_words("short", 9) == "short"
