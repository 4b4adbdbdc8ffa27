from __future__ import annotations

from itertools import pairwise, product

from hypothesis import given, settings
from hypothesis import strategies as st

from mentis.recall.memory.fusing import FusedRanking, RankPair

NAMES = st.sampled_from("abcdefghij")
NEAR = st.dictionaries(NAMES, st.floats(-1, 1))
SAID = st.dictionaries(NAMES, st.floats(0.001, 50))


def ranked(scores: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(scores.items(), key=lambda one: (-one[1], one[0]))


@given(NEAR, SAID)
@settings(max_examples=100)
def test_who_is_nearer_and_says_more_never_stands_behind(
    near: dict[str, float], said: dict[str, float]
) -> None:
    fused = FusedRanking(ranked(near), ranked(said))
    assert sorted(name for _, name in fused.order) == sorted(near.keys() | said.keys())
    below = {name: score for score, name in fused.order}
    for (one, nearer), (other, farther) in product(near.items(), repeat=2):
        if nearer >= farther and said.get(one, 0) >= said.get(other, 0):
            assert below[one] <= below[other]


@given(NEAR, SAID)
@settings(max_examples=50)
def test_places_are_those_of_each_ranking(near: dict[str, float], said: dict[str, float]) -> None:
    semantic, lexical = ranked(near), ranked(said)
    fused = FusedRanking(semantic, lexical)
    for name in near.keys() | said.keys():
        ranks = [
            [known for known, _ in one].index(name) + 1 if name in dict(one) else 0
            for one in (semantic, lexical)
        ]
        assert fused.places(name) == RankPair(
            ranks[0], near.get(name, 0.0), ranks[1], said.get(name, 0.0)
        )


@given(SAID)
@settings(max_examples=50)
def test_where_nothing_is_known_by_meaning_words_alone_decide(said: dict[str, float]) -> None:
    order = [name for _, name in FusedRanking((), ranked(said)).order]
    below = {name: score for score, name in FusedRanking((), ranked(said)).order}
    for more, less in pairwise(order):
        assert said[more] >= said[less] or below[more] == below[less]


def test_words_decide_between_what_is_as_near_and_never_outweigh_meaning() -> None:
    near = [("far", 0.5), ("one", 0.5), ("close", 0.8)]
    order = [name for _, name in FusedRanking(ranked(dict(near)), [("one", 40.0)]).order]
    assert order == ["close", "one", "far"]
