from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.recall.memory.words import words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cello's case.", ["the", "cello", "s", "case"]),
        ("Größe GRÖSSE grosse", ["grosse"] * 3),
        ("L'école élémentaire", ["l", "ecole", "elementaire"]),
        ("Ação e coração", ["acao", "e", "coracao"]),
        ("¿Mañana por la mañana?", ["manana", "por", "la", "manana"]),
        ("snake_case v2", ["snake", "case", "v2"]),
        ("\uff26\uff35\uff2c\uff2c width", ["full", "width"]),
        ("東京駅abc", ["東京", "京駅", "abc"]),
        ("木", ["木"]),
        ("🙂 … -- ", []),
        ("", []),
    ],
)
def test_words_are_folded_in_every_language(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.text())
def test_the_words_of_words_are_the_same_again(text: str) -> None:
    once = [word for word in words(text) if word.isascii()]
    assert words(" ".join(once)) == once
