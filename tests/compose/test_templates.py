from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.compose.templates import parse

BRACED = st.text(alphabet="{}ab_1 \n", max_size=40) | st.text(max_size=40)


def together(text: str) -> str:
    pieces = parse(text).pieces
    return "".join(literal + (f"{{{{{key}}}}}" if key else "") for literal, key in pieces)


@given(BRACED)
def test_the_pieces_of_any_text_make_that_text(text: str) -> None:
    assert together(text) == text


@pytest.mark.parametrize(
    "text", ["{name}", "{{ name }}", "{{na-me}}", "{{}}", "{{name}", "{ {name} }", "}}name{{"]
)
def test_other_braces_are_literal(text: str) -> None:
    assert parse(text).keys == ()


def test_keys_come_once_in_the_order_of_the_text() -> None:
    assert parse("{{b}} {{a}} {{{b}}} {{ä1}}").keys == ("b", "a", "ä1")
