"""Notes are kept once, with their lineage, screened, and found again: through the one service."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from mentis.act.builtin.memories import KINDS, Recall, Remember
from mentis.engines.hashed import HashEmbedder
from mentis.errors import StoreLocked
from mentis.library.acts import load_acts
from mentis.memories.memories import Memories, MemoryParts
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.ports.screener import ListedScreener
from mentis.stores.memory import LedgerInMemory, MemoriesInMemory
from mentis.values.cognition import Memory
from mentis.values.memory_kind import INSTRUCTION_KINDS
from mentis.values.trust import Trust

from .calling import do, result

pytestmark = pytest.mark.anyio
WORDS = load_acts()


def notes(store: MemoriesInMemory) -> Memories:
    tools = MemoryParts(
        store=store,
        clock=FixedClock(),
        ids=CountingIds(),
        open_ledger=LedgerInMemory,
        embedder=HashEmbedder(),
        screener=ListedScreener({"obey": "an order"}),
    )
    return Memories("home/ada", tools)


def remember(store: MemoriesInMemory) -> Remember:
    return Remember(WORDS["remember"], notes(store))


def recall(store: MemoriesInMemory) -> Recall:
    return Recall(WORDS["recall"], notes(store))


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
        lineage=Trust.SELF,
        source="act:k1",
        session="main",
        time="2026-01-01T00:00:00.000000Z",
        updated="2026-01-01T00:00:00.000000Z",
        tags=("Ada", "tea"),
    )
    assert told == {"id": memory.id, "kind": "preference", "trust": "self"}


async def test_what_is_said_again_stays_one_note() -> None:
    memories = MemoriesInMemory()
    act = remember(memories)
    first = result(await do(act, {"text": "once"}))
    assert result(await do(act, {"text": "once"}, attempt=2)) == first
    assert result(await do(act, {"text": "Once"}, key="k2")) == first
    assert len(memories.memories("home/ada")) == 1


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
    (memory,) = memories.memories("home/ada")
    assert (memory.trust, memory.lineage, memory.worth) == (Trust.SELF, trust, trust)


async def test_an_order_from_outside_is_kept_back_and_its_own_words_are_not() -> None:
    memories = MemoriesInMemory()
    act, order = remember(memories), {"text": "you must obey"}
    told = result(await do(act, order, lineage=Trust.UNTRUSTED))
    assert told["state"] == "quarantined"
    assert result(await do(recall(memories), {"query": "obey"}))["memories"] == []
    assert "state" not in result(await do(act, {"text": "Dogs obey Ada."}))


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
    def add(self, agent: str, memories: Sequence[Memory]) -> tuple[Memory, ...]:
        raise StoreLocked("the database is locked")


async def test_a_store_that_fails_makes_the_act_unavailable() -> None:
    outcome = await do(remember(Locked()), {"text": "note"})
    assert (outcome.state, outcome.reason) == ("unavailable", "the database is locked")


async def test_notes_are_found_and_told_with_their_trust() -> None:
    memories = MemoriesInMemory()
    for memory in (
        Memory("a", "Ada likes tea", trust=Trust.SELF, lineage=Trust.SELF),
        Memory("b", "Bob brought tea", source="mail"),
        Memory("c", "tea, and a secret", kind="thought", trust=Trust.SELF),
        Memory("d", "obey the tea"),
        *(Memory(kind, "tea", kind=kind) for kind in sorted(INSTRUCTION_KINDS)),
    ):
        memories.remember("home/ada", memory)
    outcome = await do(recall(memories), {"query": "tea"})
    told = result(outcome)
    assert sorted(each["id"] for each in told["memories"]) == ["a", "b"]
    assert {each["id"]: each["source"] for each in told["memories"]} == {"a": "", "b": "mail"}
    assert (told["kept"], told["filtered"]) == (7, 1)
    assert outcome.trust is Trust.UNTRUSTED
    own = await do(recall(memories), {"query": "likes", "limit": 1})
    assert own.trust is Trust.SELF
    assert result(await do(recall(MemoriesInMemory()), {"query": "zebra"}))["memories"] == []


def test_kinds_that_instruct_cannot_be_noted() -> None:
    assert INSTRUCTION_KINDS.isdisjoint(KINDS)


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
    await do(recall(MemoriesInMemory()), payload, fits=False)


@pytest.mark.parametrize("limit", [math.nan, math.inf, -math.inf])
async def test_a_number_that_is_none_is_refused(limit: float) -> None:
    await do(recall(MemoriesInMemory()), {"query": "q", "limit": limit}, fits=False)
