from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.recall.memory.bm25 import Bm25

TEXTS = {
    "a": "Lena plays the cello every Monday",
    "b": "the cello is here",
    "c": "tea at five",
}
SMALL = st.dictionaries(st.sampled_from("abcdef"), st.text("xyz ", max_size=12), max_size=6)


def index_of(texts: dict[str, str]) -> Bm25:
    index = Bm25()
    for name, text in texts.items():
        index.put(name, text)
    return index


def names(ranked: list[tuple[str, float]]) -> list[str]:
    return [name for name, _ in ranked]


def test_rare_words_count_more_and_short_texts_win() -> None:
    index = index_of(TEXTS)
    assert names(index.rank("cello", among=None, count=9)) == ["b", "a"]
    assert names(index.rank("the Monday cello", among=None, count=9)) == ["a", "b"]
    assert index.rank("nothing of it", among=None, count=9) == []
    assert names(index.rank("cello", among={"a"}, count=9)) == ["a"]


def test_a_word_said_twice_counts_twice() -> None:
    index = index_of({"a": "tea", "b": "milk"})
    once, twice = (index.rank(query, among=None, count=9) for query in ("tea", "tea tea milk"))
    assert names(twice) == ["a", "b"]
    assert twice[0][1] == pytest.approx(2 * once[0][1])


def test_equal_scores_stand_in_the_order_of_ids() -> None:
    index = index_of({"b": "tea", "a": "tea", "c": "tea"})
    assert names(index.rank("tea", among=None, count=2)) == ["a", "b"]


@given(SMALL, st.text("xyz ", max_size=8))
def test_the_way_it_was_filled_makes_no_difference(texts: dict[str, str], query: str) -> None:
    fresh = index_of(texts)
    worn = index_of({"z": "x y", "a": "z z z"})
    for name in reversed(list(texts)):
        worn.put(name, texts[name])
    for gone in {"z", "a"} - texts.keys():
        worn.take_out(gone)
    worn.take_out("never there")
    assert worn.rank(query, among=None, count=9) == fresh.rank(query, among=None, count=9)
    assert len(worn) == len(fresh)


@given(SMALL, SMALL, st.text("xyz ", max_size=8), st.sets(st.sampled_from("abcdef")))
def test_numpy_adds_up_to_the_same(
    texts: dict[str, str], later: dict[str, str], query: str, allowed: set[str]
) -> None:
    plain, fast = index_of(texts), index_of(texts)
    fast.use_numpy()
    fast.rank(query, among=None, count=2)
    for index in (plain, fast):
        for name, text in later.items():
            index.put(name, text)
        index.take_out("a")
    assert fast.rank(query, among=None, count=2) == plain.rank(query, among=None, count=2)
    mask = np.array([name in allowed for name in fast.ids], dtype=bool)
    masked = fast.rank(query, among=allowed, count=3, mask=mask)
    assert masked == plain.rank(query, among=allowed, count=3)


def test_among_many_the_same_are_found_with_numpy_and_without() -> None:
    texts = {f"m{number * 7919 % 2000:04}": said(number) for number in range(2000)}
    plain, fast = index_of(texts), index_of(texts)
    fast.use_numpy()
    some = set(list(texts)[::3])
    mask = np.array([name in some for name in fast.ids])
    for query in ("week", "find week", "find mail 17 week", "lamp 3", "nothing"):
        for count in (1, 10, 50, 5000):
            assert fast.rank(query, among=None, count=count) == plain.rank(
                query, among=None, count=count
            )
            assert fast.rank(query, among=some, count=count, mask=mask) == plain.rank(
                query, among=some, count=count
            )


def said(number: int) -> str:
    verb, noun = ("find", "send", "open")[number % 3], ("mail", "door", "lamp")[number // 3 % 3]
    return f"{verb} {noun} week {number}" + " again" * (number % 2)
