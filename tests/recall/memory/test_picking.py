from __future__ import annotations

from mentis.recall.memory.fusing import RankPair
from mentis.recall.memory.index import MemoryCandidate, RankedMemories
from mentis.recall.memory.picking import pick
from mentis.values.cognition import Memory


def row(number: int) -> MemoryCandidate:
    memory = Memory(f"m{number:02}", "bad" if number % 2 else "good")
    return MemoryCandidate(memory, RankPair(0, 0.0, number + 1, 1.0))


def test_what_is_kept_out_makes_room_for_the_next() -> None:
    picked = pick(
        RankedMemories([row(number) for number in range(40)], []),
        limit=3,
        screen=lambda memory: "no" if memory.text == "bad" else "",
    )
    assert [hit.memory.id for hit in picked.hits] == ["m00", "m02", "m04"]
    assert picked.filtered == 2
    assert picked.near[0].reason == "lexical place 2; kept out: no"
    assert picked.near[2].reason == "lexical place 6; below the limit of 3"
    assert len(picked.near) == 12
