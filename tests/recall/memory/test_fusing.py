from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from mentis.recall.memory.fusing import FusedRanking, RankPair

NAMES = st.lists(st.sampled_from("abcdefghij"), unique=True)


@given(NAMES, NAMES)
@settings(max_examples=50)
def test_each_gets_the_shares_of_its_ranks_and_equals_stand_by_name(
    near: list[str], said: list[str]
) -> None:
    fused = FusedRanking([(name, 0.5) for name in near], [(name, 2.0) for name in said])
    wanted: dict[str, float] = {}
    for ranking in (near, said):
        for rank, name in enumerate(ranking, 1):
            wanted[name] = wanted.get(name, 0.0) + 1 / (60 + rank)
    assert fused.order == sorted((-round(score, 9), name) for name, score in wanted.items())
    for name in wanted:
        ranks = [one.index(name) + 1 if name in one else 0 for one in (near, said)]
        assert fused.places(name) == RankPair(
            ranks[0], 0.5 if ranks[0] else 0.0, ranks[1], 2.0 if ranks[1] else 0.0
        )
