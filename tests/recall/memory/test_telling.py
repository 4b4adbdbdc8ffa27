from __future__ import annotations

from mentis.recall.memory.telling import memory_spans
from mentis.values.cognition import Memory
from mentis.values.memories import FoundMemories, ScoredMemory
from mentis.values.memory_kind import MemoryKind
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.trust import Trust


def hit(name: str, kind: MemoryKind) -> ScoredMemory:
    memory = Memory(name, f"text {name}", kind=kind, trust=Trust.OWNER, lineage=Trust.SELF)
    return ScoredMemory(memory, 1.0, chosen=True, reason="lexical place 1")


FOUND = FoundMemories(
    "q",
    "hybrid",
    hits=(hit("a", "thought"), hit("b", "override"), hit("c", "fact"), hit("d", "rule")),
    filtered=2,
)


def test_a_delivery_is_told_no_thought_and_no_order() -> None:
    spans, kept_out = memory_spans(FOUND, mode="delivery", most=1)
    assert spans == (
        Span(
            "text c",
            source="memory c",
            trust=Trust.SELF,
            stability=Stability.TURN,
            reason="lexical place 1",
        ),
    )
    assert kept_out == 4


def test_alone_the_agent_is_told_its_thoughts() -> None:
    spans, kept_out = memory_spans(FOUND, mode="beat")
    assert [span.text for span in spans] == ["text a", "text c", "text d"]
    assert kept_out == 3


def test_a_recap_says_of_which_conversation_and_a_note_about_whom() -> None:
    recap = Memory("e", "We chose Lisbon.", kind="episode", session="travel", trust=Trust.SELF)
    note = Memory("p", "Plays the cello.", kind="person", tags=("Lena",), trust=Trust.SELF)
    found = FoundMemories(
        "q", "lexical", (ScoredMemory(recap, 1.0, True, ""), ScoredMemory(note, 1.0, True, ""))
    )
    spans, _ = memory_spans(found, mode="chat")
    assert [span.text for span in spans] == ["travel: We chose Lisbon.", "Lena: Plays the cello."]
