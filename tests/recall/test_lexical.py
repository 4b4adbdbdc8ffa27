from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mentis.recall.lexical import LexicalIndex, content_words, terms


def test_words_are_folded_cut_and_split_where_code_joins_them() -> None:
    assert terms("Zeig mir readFile, git_status und Schlüsselwörter") == [
        "zeig",
        "read",
        "file",
        "git",
        "status",
        "schlus",
    ]


def test_scripts_without_spaces_are_taken_in_pairs() -> None:
    assert terms("日本語") == ["日本", "本語"]


def test_words_that_say_nothing_are_left_out() -> None:
    assert content_words("please show me the file") == ["show", "file"]


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    index = LexicalIndex(["open file", "open door", "open window"])
    scores = index.scores("open door")
    assert max(scores, key=lambda number: scores[number]) == 1
    assert scores[0] < scores[1]


def test_what_shares_no_word_is_not_scored() -> None:
    assert LexicalIndex(["alpha", "beta"]).scores("gamma") == {}
    assert LexicalIndex([]).scores("gamma") == {}


@given(st.lists(st.text(max_size=30), max_size=8), st.text(max_size=50))
def test_scores_are_positive_and_name_known_texts(texts: list[str], query: str) -> None:
    scores = LexicalIndex(texts).scores(query)
    assert all(0 <= number < len(texts) and score > 0 for number, score in scores.items())


def test_a_whole_word_comes_before_those_that_only_begin_like_it() -> None:
    texts = [f"check thing{number}: Check the state of a thing{number}." for number in range(100)]
    scores = LexicalIndex(texts).scores("Check the state of a thing77")
    assert max(scores, key=scores.__getitem__) == 77
    assert scores[77] - scores[70] < 0.05
