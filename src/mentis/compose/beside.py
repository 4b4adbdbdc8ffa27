"""Summaries and thoughts: what a conversation holds beside what was said in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mentis.values.part import TextPart
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.turn import Turn
from mentis.values.value import Value

from .computed import Facts
from .sections import Section

_AS_TURNS = ("said", "thought")
_RANK = 7  # it goes late: without it, what it stands for is gone


@dataclass(frozen=True, slots=True)
class ToldConversation(Value):
    """`history` is what is told as turns, with their `numbers` where they are known; `sections`
    what is told about the talk before it.
    """

    history: tuple[Turn, ...]
    sections: tuple[Section, ...] = ()
    numbers: tuple[int, ...] = ()


def read_beside(
    turns: tuple[Turn, ...], facts: Facts, numbers: tuple[int, ...] = ()
) -> ToldConversation:
    """The same turns, unless there is more among them than was said."""
    if not [turn for turn in turns if turn.kind != "said"]:
        return ToldConversation(turns, numbers=numbers)
    kept = (n for n, turn in zip(numbers, turns, strict=False) if turn.kind in _AS_TURNS)
    return ToldConversation(tuple(_told(turns, facts)), tuple(_sections(turns)), tuple(kept))


def _told(turns: Sequence[Turn], facts: Facts) -> Iterator[Turn]:
    """A thought is marked as one: it was not said, and nobody was sent it."""
    for turn in turns:
        if turn.kind == "said":
            yield turn
        elif turn.kind == "thought":
            words = " ".join(facts.word("label_thought"))
            yield replace(turn, parts=(TextPart(f"{words}\n{turn.text}"),), kind="said")


def _sections(turns: Sequence[Turn]) -> Iterator[Section]:
    """Trusted as little as the least trusted of what it was made from."""
    spans = tuple(
        Span(turn.text, source="summary", trust=turn.lineage, stability=Stability.SESSION)
        for turn in turns
        if turn.kind == "summary" and turn.text.strip()
    )
    if spans:
        yield Section("summary_earlier", spans, _RANK)
