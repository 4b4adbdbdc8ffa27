"""The difference of two texts, section by section."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from mentis.compose.changes import Changes, changes
from mentis.values.span import Span

GAP = Span("\n\n", source="layout")
TEXTS = st.lists(st.text("ab", min_size=1, max_size=3), max_size=5)


def sections(*texts: str) -> tuple[Span, ...]:
    spans: list[Span] = []
    for text in texts:
        spans += (*([GAP] if spans else []), Span(text, block=f"block_{text[0]}"))
    return tuple(spans)


@settings(max_examples=50)
@given(TEXTS, TEXTS)
def test_what_is_told_is_exactly_what_was_not_there(before: list[str], after: list[str]) -> None:
    found = changes(sections(*before), sections(*after))
    assert found.spans == sections(*[text for text in after if text not in before])
    assert changes(sections(*after), sections(*after)) == Changes()


def test_marks_around_text_from_outside_stay_around_it() -> None:
    def fenced(text: str) -> tuple[Span, ...]:
        heading = Span("[News]\n", placeholder="summary_acts", source="words")
        return (heading, Span("<m>\n", source="layout"), Span(text), Span("\n</m>"))

    found = changes(fenced("a"), fenced("b"))
    assert found.text == "[News]\n<m>\nb\n</m>"
    assert found.changed == ("summary_acts",)
