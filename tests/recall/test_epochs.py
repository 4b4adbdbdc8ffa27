"""Memories over a conversation: an epoch keeps its bytes, and lets go of what may not be told."""

from __future__ import annotations

from mentis.recall.epochs import MOST, EpochMemories, memory_id, tell
from mentis.recall.resident import Economy, ResidentItem
from mentis.values.residency import Residents
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.trust import Trust


def memory(name: str, text: str = "") -> Span:
    return Span(text or f"About {name}.", source=f"memory {name}", trust=Trust.SELF)


def told(kept: Residents, spans: list[Span], wanted: list[str], *, turns: int = 5) -> EpochMemories:
    economy = Economy(1000 if turns else 0, 0.1, 1.25, turns)
    return tell(kept, spans, wanted, item=lambda one: ResidentItem(40, one.text), economy=economy)


def lasting(one: EpochMemories) -> list[str]:
    return [memory_id(span) for span in one.spans if span.stability is Stability.SESSION]


def fleeting(one: EpochMemories) -> list[str]:
    return [memory_id(span) for span in one.spans if span.stability is Stability.TURN]


def test_the_first_memories_make_the_epoch_and_later_ones_come_at_the_end() -> None:
    first = told(Residents(), [memory("b"), memory("a")], ["b", "a"], turns=0)
    assert (lasting(first), fleeting(first)) == (["b", "a"], [])
    later = told(first.residents, [memory("c"), memory("a"), memory("b")], ["c"])
    assert (lasting(later), fleeting(later)) == (["b", "a"], ["c"])


def test_one_that_is_taken_in_stands_behind_those_that_were_there() -> None:
    spans = [memory("a"), memory("b")]
    now = told(Residents(), [memory("b")], ["b"], turns=0)
    for turns in range(1, 50):
        now = told(now.residents, spans, ["a", "b"], turns=turns)
    assert (lasting(now), fleeting(now)) == (["b", "a"], [])


def test_what_was_forgotten_or_reworded_is_not_told_as_it_was() -> None:
    kept = told(Residents(), [memory("a"), memory("b")], ["a", "b"], turns=0).residents
    forgotten = told(kept, [memory("b")], ["b"])
    assert lasting(forgotten) == ["b"]
    assert forgotten.placement.dropped == ("a",)
    reworded = told(kept, [memory("a", "Not so."), memory("b")], ["b"])
    assert "About a." not in [span.text for span in reworded.spans]
    assert reworded.placement.changed


def test_an_epoch_never_outgrows_its_limit() -> None:
    spans = [memory(f"m{number:02}") for number in range(40)]
    kept = Residents()
    for start in range(30):
        wanted = [memory_id(span) for span in spans[start : start + 10]]
        kept = told(kept, spans, wanted, turns=0).residents
        assert len(kept.names) <= MOST
