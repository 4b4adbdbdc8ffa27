"""What every `LedgerStore` does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from mentis.errors import NotCanonical, StoreConflict
from mentis.ledger.verify import verify_chain
from mentis.ports.ledger_store import LedgerStore, Stamp
from mentis.values.entry import Draft, Entry, Head


def note(n: int, delivery: str | None = None) -> Draft:
    return Draft("note", "test", {"n": n}, delivery=delivery)


def test_an_empty_ledger_has_no_agents_and_no_entries(ledger: LedgerStore) -> None:
    assert ledger.agents() == ()
    assert list(ledger.entries("ada")) == []


def test_appended_entries_come_back_as_they_were_made(ledger: LedgerStore, stamp: Stamp) -> None:
    body: dict[str, object] = {
        "text": "Größe 😀\x00",
        "list": (1, 2.5, None, True),
        "deep": {"b": {"a": []}},
    }
    draft = Draft("window", "test", body, ruleset="mentis", delivery="mail-1")
    made = ledger.append("ada", [draft, note(2)], stamp)
    assert tuple(ledger.entries("ada")) == made
    assert [entry.index for entry in made] == [0, 1]
    assert verify_chain("ada", ledger.entries("ada")).intact


def test_the_stamp_is_given_the_head_as_it_is_at_that_moment(ledger: LedgerStore) -> None:
    heads: list[Head | None] = []

    def stamp(agent: str, head: Head | None, draft: Draft) -> Entry:
        heads.append(head)
        index = 0 if head is None else head.index + 1
        return Entry(agent, index, f"t{index}", "s", draft.kind, None, None, {}, f"h{index}")

    ledger.append("ada", [note(0), note(1)], stamp)
    ledger.append("ada", [note(2)], stamp)
    assert heads == [None, Head(0, "h0", "t0"), Head(1, "h1", "t1")]


def test_each_agent_has_a_chain_of_its_own(ledger: LedgerStore, stamp: Stamp) -> None:
    ledger.append("bob", [note(1)], stamp)
    ledger.append("ada", [note(2), note(3)], stamp)
    assert ledger.agents() == ("ada", "bob")
    assert [entry.index for entry in ledger.entries("ada")] == [0, 1]
    assert [entry.index for entry in ledger.entries("bob")] == [0]
    assert list(ledger.entries("nobody")) == []


def test_appending_nothing_leaves_no_trace(ledger: LedgerStore, stamp: Stamp) -> None:
    assert ledger.append("ada", [], stamp) == ()
    assert ledger.agents() == ()


def test_equal_drafts_without_a_delivery_are_two_entries(ledger: LedgerStore, stamp: Stamp) -> None:
    ledger.append("ada", [note(1), note(1)], stamp)
    assert len(list(ledger.entries("ada"))) == 2


def test_one_delivery_seen_twice_is_one_entry(ledger: LedgerStore, stamp: Stamp) -> None:
    first = ledger.append("ada", [note(1, "mail-1"), note(2)], stamp)
    again = ledger.append("ada", [note(1, "mail-1"), note(3)], stamp)
    assert again[0] == first[0]
    assert again[1].index == 2
    assert len(list(ledger.entries("ada"))) == 3


def test_one_delivery_twice_in_one_batch_is_one_entry(ledger: LedgerStore, stamp: Stamp) -> None:
    first, second = ledger.append("ada", [note(1, "mail-1"), note(1, "mail-1")], stamp)
    assert first == second
    assert len(list(ledger.entries("ada"))) == 1


def test_the_same_delivery_may_come_to_two_agents(ledger: LedgerStore, stamp: Stamp) -> None:
    ledger.append("ada", [note(1, "mail-1")], stamp)
    ledger.append("bob", [note(2, "mail-1")], stamp)
    assert ledger.agents() == ("ada", "bob")


@pytest.mark.parametrize(
    "other",
    [
        Draft("note", "test", {"n": 2}, delivery="mail-1"),
        Draft("note", "test", {"n": True}, delivery="mail-1"),
        Draft("note", "test", {"n": 1, "more": 1}, delivery="mail-1"),
        Draft("note", "test", {}, delivery="mail-1"),
        Draft("window", "test", {"n": 1}, delivery="mail-1"),
    ],
)
def test_the_same_delivery_with_another_content_is_a_conflict_and_nothing_is_kept(
    ledger: LedgerStore, stamp: Stamp, other: Draft
) -> None:
    ledger.append("ada", [note(1, "mail-1")], stamp)
    with pytest.raises(StoreConflict, match="`mail-1` of agent `ada` is entry 0") as caught:
        ledger.append("ada", [note(5), other], stamp)
    assert caught.value.facts == {"agent": "ada", "delivery": "mail-1", "index": 0}
    assert len(list(ledger.entries("ada"))) == 1


def test_a_delivery_made_while_the_clock_went_back_is_still_recognised(
    ledger: LedgerStore, stamp: Stamp
) -> None:
    late = Head(-1, "none", "2030-01-01T00:00:00.000000Z")
    ledger.append("ada", [note(1, "mail-1")], lambda agent, _, draft: stamp(agent, late, draft))
    (again,) = ledger.append("ada", [note(1, "mail-1")], stamp)
    assert again.index == 0
    assert "clock" in again.body


def test_one_draft_that_is_refused_keeps_the_whole_batch_out(
    ledger: LedgerStore, stamp: Stamp
) -> None:
    ledger.append("ada", [note(1)], stamp)
    for value in (float("nan"), 2**60, -0.0, "\ud800", {1: 2}, object()):
        with pytest.raises(NotCanonical):
            ledger.append("ada", [note(2), Draft("note", "test", {"value": value})], stamp)
    assert [entry.body for entry in ledger.entries("ada")] == [{"n": 1}]


def test_a_refused_first_batch_makes_no_agent(ledger: LedgerStore, stamp: Stamp) -> None:
    with pytest.raises(NotCanonical):
        ledger.append("ada", [note(1), Draft("note", "test", {"value": float("inf")})], stamp)
    assert ledger.agents() == ()


def test_entries_can_be_read_while_others_are_written(ledger: LedgerStore, stamp: Stamp) -> None:
    ledger.append("ada", [note(n) for n in range(600)], stamp)
    reading = ledger.entries("ada")
    assert next(reading).index == 0
    ledger.append("ada", [note(600)], stamp)
    rest = [entry.index for entry in reading]
    assert rest[:599] == list(range(1, 600))
    assert verify_chain("ada", ledger.entries("ada")).entries == 601


def test_threads_may_append_to_one_ledger(ledger: LedgerStore, stamp: Stamp) -> None:
    def append(n: int) -> Entry:
        return ledger.append("ada", [note(n)], stamp)[0]

    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(append, range(24)))
    assert sorted(entry.index for entry in made) == list(range(24))
    verdict = verify_chain("ada", ledger.entries("ada"))
    assert (verdict.findings, verdict.entries) == ((), 24)
