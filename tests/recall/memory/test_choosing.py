"""Who may be found, and who may be told."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.recall.memory.choosing import Mode, injectable, public, why_not, why_untold
from mentis.values.cognition import Memory, Screening
from mentis.values.memories import MemoryFilter
from mentis.values.memory_kind import INSTRUCTION_KINDS, PRIVATE_KINDS, MemoryKind
from mentis.values.trust import Trust

NOW = "2026-06-01T00:00:00.000000Z"
PLAIN = Memory(
    "a",
    "text",
    kind="fact",
    trust=Trust.SELF,
    lineage=Trust.SELF,
    source="chat",
    time="2026-05-01T00:00:00.000000Z",
    tags=("x", "y"),
    scope="work",
    session="main",
)
KINDS: tuple[MemoryKind, ...] = get_args(MemoryKind)
MODES: tuple[Mode, ...] = get_args(Mode)
DROPPED = Screening("dropped", "bad")


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (MemoryFilter(), ""),
        (MemoryFilter(kinds=("fact", "rule")), ""),
        (MemoryFilter(kinds=("rule",)), "kind fact"),
        (MemoryFilter(scopes=("work",), tags=("y",), sources=("chat",), session="main"), ""),
        (MemoryFilter(scopes=("home",)), "scope 'work'"),
        (MemoryFilter(tags=("x", "z")), "a tag is missing"),
        (MemoryFilter(sources=("web",)), "another source"),
        (MemoryFilter(session="other"), "another session"),
        (MemoryFilter(trust=Trust.OWNER), "trust self"),
        (MemoryFilter(trust=Trust.SELF), ""),
        (MemoryFilter(since="2026-05-02"), "older"),
        (MemoryFilter(until="2026-04-30"), "newer"),
        (MemoryFilter(since="2026-05-01", until="2026-05-02"), ""),
    ],
)
def test_a_filter_says_why_it_leaves_something_out(wanted: MemoryFilter, reason: str) -> None:
    assert why_not(PLAIN, wanted, now=NOW) == reason


def test_what_is_over_superseded_or_in_quarantine_is_left_out() -> None:
    everything = MemoryFilter(superseded=True, expired=True, private=True)
    for memory, reason in (
        (replace(PLAIN, superseded_by="b"), "superseded"),
        (replace(PLAIN, valid_until=NOW), "not valid at this time"),
        (replace(PLAIN, valid_from="2026-06-02"), "not valid at this time"),
        (replace(PLAIN, kind="thought"), "private"),
    ):
        assert why_not(memory, MemoryFilter(), now=NOW) == reason
        assert why_not(memory, everything, now=NOW) == ""
    held = replace(PLAIN, screening=DROPPED)
    assert why_not(held, everything, now=NOW) == "in quarantine"
    assert why_not(replace(held, released=NOW), everything, now=NOW) == ""
    assert why_not(replace(PLAIN, kind="diary"), MemoryFilter(kinds=("diary",)), now=NOW) == ""


@given(st.lists(st.sampled_from(KINDS)), st.sampled_from(MODES))
def test_no_private_thought_is_delivered_and_no_instruction_is_told(
    kinds: list[MemoryKind], mode: Mode
) -> None:
    kept = [Memory(str(number), "text", kind=kind) for number, kind in enumerate(kinds)]
    told = {memory.kind for memory in injectable(kept, mode=mode)}
    assert not told & INSTRUCTION_KINDS
    assert mode == "beat" or not told & PRIVATE_KINDS
    assert not {memory.kind for memory in public(kept)} & PRIVATE_KINDS


def test_alone_with_itself_the_agent_has_its_thoughts() -> None:
    thought = Memory("a", "text", kind="thought")
    assert injectable([thought], mode="beat") == (thought,)
    assert why_untold(thought, "delivery") == "kind thought is private"


def test_what_is_in_quarantine_or_superseded_is_told_to_nobody() -> None:
    held, old = replace(PLAIN, screening=DROPPED), replace(PLAIN, superseded_by="b")
    for mode in MODES:
        assert injectable([held, old, PLAIN], mode=mode) == (PLAIN,)
    assert public([held, PLAIN]) == (PLAIN,)
