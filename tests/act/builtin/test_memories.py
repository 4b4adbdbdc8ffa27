"""Notes are kept once, with their lineage, and found again by their words."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.act.builtin.memories import KINDS, Recall, Remember
from mentis.act.builtin.search import Found, search
from mentis.errors import StoreLocked
from mentis.library.acts import load_acts
from mentis.ports.clock import FixedClock
from mentis.stores.memory import MemoriesInMemory
from mentis.values.cognition import Memory
from mentis.values.trust import Trust

from .calling import do, result

pytestmark = pytest.mark.anyio
WORDS = load_acts()


def remember(memories: MemoriesInMemory) -> Remember:
    return Remember(WORDS["remember"], memories, FixedClock())


async def test_a_note_is_kept_with_its_kind_tags_source_and_time() -> None:
    memories = MemoriesInMemory()
    payload = {"text": "Ada likes tea.", "kind": "preference", "tags": ["tea", "Ada"]}
    told = result(await do(remember(memories), payload))
    (memory,) = memories.memories("home/ada")
    assert memory == Memory(
        id=told["id"],
        text="Ada likes tea.",
        kind="preference",
        trust=Trust.SELF,
        source="act:k1",
        time="2026-01-01T00:00:00.000000Z",
        tags=("tea", "Ada"),
    )
    assert (told["kind"], told["trust"]) == ("preference", "self")


async def test_the_same_call_again_keeps_one_note_and_another_call_a_second() -> None:
    memories = MemoriesInMemory()
    act = remember(memories)
    first = result(await do(act, {"text": "once"}))
    assert result(await do(act, {"text": "once"}, attempt=2)) == first
    await do(act, {"text": "once"}, key="k2")
    assert len(memories.memories("home/ada")) == 2


@pytest.mark.parametrize(
    ("lineage", "trust"),
    [
        (Trust.UNTRUSTED, Trust.UNTRUSTED),
        (Trust.REFERENCE, Trust.REFERENCE),
        (Trust.SELF, Trust.SELF),
        (Trust.OWNER, Trust.SELF),
    ],
)
async def test_a_note_is_never_trusted_more_than_what_it_was_made_from(
    lineage: Trust, trust: Trust
) -> None:
    memories = MemoriesInMemory()
    await do(remember(memories), {"text": "note"}, lineage=lineage)
    assert [memory.trust for memory in memories.memories("home/ada")] == [trust]


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"text": ""},
        {"text": 7},
        {"text": "x" * 4001},
        {"text": "note", "kind": "system"},
        {"text": "note", "kind": "meta"},
        {"text": "note", "kind": "override"},
        {"text": "note", "kind": ["fact"]},
        {"text": "note", "tags": "tea"},
        {"text": "note", "tags": [""]},
        {"text": "note", "tags": ["t"] * 9},
        {"text": "note", "tags": [None]},
    ],
)
async def test_what_is_no_note_is_not_kept(payload: dict[str, Any]) -> None:
    memories = MemoriesInMemory()
    await do(remember(memories), payload, fits=False)
    assert memories.memories("home/ada") == ()


class Locked(MemoriesInMemory):
    def remember(self, agent: str, memory: Memory) -> None:
        raise StoreLocked("the database is locked")


async def test_a_store_that_fails_makes_the_act_unavailable() -> None:
    outcome = await do(remember(Locked()), {"text": "note"})
    assert (outcome.state, outcome.reason) == ("unavailable", "the database is locked")


async def test_notes_are_found_by_their_words_and_tags_and_told_with_their_trust() -> None:
    memories = MemoriesInMemory()
    for memory in (
        Memory("a", "Ada likes tea", trust=Trust.SELF),
        Memory("b", "Bob came by", trust=Trust.UNTRUSTED, source="mail", tags=("tea",)),
        Memory("c", "nothing of the kind", trust=Trust.UNTRUSTED),
    ):
        memories.remember("home/ada", memory)
    act = Recall(WORDS["recall"], memories)
    outcome = await do(act, {"query": "TEA Ada"})
    told = result(outcome)
    assert [each["id"] for each in told["memories"]] == ["a", "b"]
    assert told["memories"][1]["source"] == "mail"
    assert told["kept"] == 3
    assert outcome.trust is Trust.UNTRUSTED
    own = await do(act, {"query": "likes", "limit": 1})
    assert own.trust is Trust.SELF
    assert result(await do(act, {"query": "zebra"}))["memories"] == []


async def test_another_search_can_be_handed_in() -> None:
    memories = MemoriesInMemory()
    memories.remember("home/ada", Memory("a", "anything"))
    act = Recall(
        WORDS["recall"],
        memories,
        search=lambda kept, query, limit: tuple(Found(memory, 1.0) for memory in kept[:limit]),
    )
    assert len(result(await do(act, {"query": "?"}))["memories"]) == 1


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"query": ""},
        {"query": "q" * 1001},
        {"query": "q", "limit": 0},
        {"query": "q", "limit": 21},
        {"query": "q", "limit": 1.5},
        {"query": "q", "limit": True},
    ],
)
async def test_a_search_out_of_bounds_is_refused(payload: dict[str, Any]) -> None:
    await do(Recall(WORDS["recall"], MemoriesInMemory()), payload, fits=False)


@pytest.mark.parametrize("limit", [math.nan, math.inf, -math.inf])
async def test_a_number_that_is_none_is_refused(limit: float) -> None:
    act = Recall(WORDS["recall"], MemoriesInMemory())
    await do(act, {"query": "q", "limit": limit}, fits=False)


def test_kinds_that_instruct_are_never_found() -> None:
    kept = [Memory(kind, "tea", kind=kind) for kind in ("fact", "meta", "override", "system")]
    assert [found.memory.id for found in search(kept, "tea", 9)] == ["fact"]
    assert {"system", "meta", "override"}.isdisjoint(KINDS)


TEXTS = st.text(alphabet="abc ", max_size=12)


@given(st.lists(TEXTS, max_size=8), TEXTS, st.integers(1, 5))
def test_a_search_is_bounded_and_does_not_depend_on_the_order(
    texts: list[str], query: str, limit: int
) -> None:
    kept = [Memory(f"m{at}", text) for at, text in enumerate(texts)]
    found = search(kept, query, limit)
    assert found == search(kept[::-1], query, limit)
    assert len(found) <= limit
    words = set(query.split())
    assert all(words & set(each.memory.text.split()) for each in found)
    sharing = sum(bool(words & set(text.split())) for text in texts)
    assert len(found) == min(limit, sharing)
