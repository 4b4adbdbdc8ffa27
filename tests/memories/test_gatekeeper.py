"""The look at text from outside: with the vector kept beside it, and told when it has no say."""

from __future__ import annotations

from mentis.memories.gatekeeper import PART, Gatekeeper
from mentis.ports.screener import StoredVector
from mentis.recall.screening.knowledge import shipped_knowledge
from mentis.recall.screening.screener import TextScreener
from mentis.values.cognition import Memory
from mentis.values.trust import Trust

NOTE = Memory("m1", "Anna prefers tea.", trust=Trust.UNTRUSTED)


def test_the_vector_kept_with_a_memory_is_looked_for_by_its_id() -> None:
    asked: list[str] = []

    def vector_of(memory_id: str) -> StoredVector | None:
        asked.append(memory_id)
        return None

    gate = Gatekeeper(TextScreener(shipped_knowledge()), vector_of)
    assert gate.why_not(NOTE) == ""
    assert asked == ["m1"]
    assert not gate.degraded


def test_a_vector_that_cannot_be_used_is_a_step_down_that_is_told() -> None:
    gate = Gatekeeper(
        TextScreener(shipped_knowledge()), lambda _: StoredVector([1.0, 2.0], "other/2/l2")
    )
    assert gate.why_not(NOTE) == ""
    (told,) = gate.degraded
    assert told.part == PART
    assert told.reason == "vector: the vector is of other/2/l2: the text alone decides"


def test_what_is_the_owners_own_needs_no_vector() -> None:
    own = Memory("m2", "Anna prefers tea.", trust=Trust.OWNER, lineage=Trust.OWNER)
    gate = Gatekeeper(TextScreener(shipped_knowledge()), lambda _: StoredVector([], ""))
    assert gate.why_not(own) == ""
    assert not gate.degraded
