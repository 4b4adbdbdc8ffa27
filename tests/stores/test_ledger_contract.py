"""What every `LedgerStore` does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from mentis.errors import BadInput, NotCanonical, StoreConflict, UsageError
from mentis.ledger.verify import verify_chain
from mentis.ports.entries import Stamp
from mentis.ports.ledger_store import LedgerStore
from mentis.values.entry import Before, Draft, Entry, Head
from mentis.values.tally import Tally

NOW = datetime(2026, 1, 1, tzinfo=UTC)


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

    def stamp(agent: str, head: Before | None, draft: Draft) -> Entry:
        heads.append(None if head is None else Head(head.index, head.hash, head.time))
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


def test_reading_may_start_anywhere(ledger: LedgerStore, stamp: Stamp) -> None:
    made = ledger.append("ada", [note(n) for n in range(300)], stamp)
    assert tuple(ledger.entries("ada", start=290)) == made[290:]
    assert tuple(ledger.hashes("ada", start=290)) == tuple(entry.hash for entry in made[290:])
    assert list(ledger.entries("ada", start=300)) == []
    assert ledger.latest("ada", 2) == made[-2:]
    assert ledger.latest("ada", 0) == ()
    assert ledger.latest("ada", 1000) == made


def test_the_last_of_one_kind_are_found_whatever_stands_between(
    ledger: LedgerStore, stamp: Stamp, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = ["turn", "turn", *["act"] * 20, "turn", "act"]
    made = ledger.append("ada", [Draft(kind, "test", {"n": 1}) for kind in kinds], stamp)
    ledger.append("bob", [Draft("turn", "test", {})], stamp)
    assert ledger.latest("ada", 2, kind="turn") == (made[1], made[22])
    assert ledger.latest("ada", 9, kind="turn") == (made[0], made[1], made[22])
    assert ledger.latest("ada", 1, kind="act") == made[-1:]
    assert ledger.latest("ada", 0, kind="act") == ledger.latest("ada", 3, kind="window") == ()
    assert ledger.latest("nobody", 3, kind="turn") == ()
    for module in ("mentis.stores.sql_ledger", "mentis.stores.memory.ledger"):
        monkeypatch.setattr(f"{module}.LOOKED_BACK", 5)
    assert ledger.latest("ada", 9, kind="turn") == (made[22],)


def test_the_last_of_one_kind_are_those_that_are_there_however_often_they_are_asked_for(
    ledger: LedgerStore, stamp: Stamp, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("mentis.stores.sql_ledger", "mentis.stores.memory.ledger"):
        monkeypatch.setattr(f"{module}.LOOKED_BACK", 20)
    batches = ["a" * 9, "ta", "t", "tt" + "a" * 9, "t", "t", "a" * 12 + "t", "a" * 25, "t", "tat"]
    kinds, made = {"a": "act", "t": "turn"}, list[Entry]()
    for batch in batches:
        drafts = [Draft(kinds[letter], "test", {"n": 1}) for letter in batch]
        made += ledger.append("ada", drafts, stamp)
        for kind in ("turn", "act"):
            expected = tuple(entry for entry in made[-20:] if entry.kind == kind)
            for count in (2, 30, 1, 3):
                assert ledger.latest("ada", count, kind=kind) == expected[-count:]


def test_an_entry_is_found_by_its_index_and_by_its_delivery(
    ledger: LedgerStore, stamp: Stamp
) -> None:
    first, second = ledger.append("ada", [note(1, "mail-1"), note(2)], stamp)
    assert (ledger.find("ada", 1), ledger.find("ada", 2)) == (second, None)
    assert ledger.find_delivery("ada", "mail-1") == first
    assert ledger.find_delivery("bob", "mail-1") is None
    assert ledger.head("ada") == Head(1, second.hash, second.time)
    assert (ledger.count("ada"), ledger.count("bob"), ledger.head("bob")) == (2, 0, None)


def test_the_order_of_a_body_and_its_numbers_come_back(ledger: LedgerStore, stamp: Stamp) -> None:
    body: dict[str, object] = {"z": 1.5, "a": {"y": 1e22, "b": 1e-7}, "m": 2**53 - 1}
    ledger.append("ada", [Draft("note", "test", body)], stamp)
    (entry,) = ledger.entries("ada")
    assert list(entry.body) == ["z", "a", "m"]
    assert verify_chain("ada", [entry]).intact


def test_erasing_takes_value_and_salt_and_leaves_commitment_and_tombstone(
    ledger: LedgerStore, stamp: Stamp
) -> None:
    draft = Draft("note", "test", {"secret": "s", "open": "o"}, delivery="mail-1")
    (before,) = ledger.append("ada", [draft], stamp)
    tombstone = Draft("erasure", "test", {"entry": 0, "fields": ["secret"]})
    made = ledger.erase("ada", 0, ["secret"], draft=tombstone, stamp=stamp)
    after, last = ledger.entries("ada")
    assert last == made
    assert (last.index, last.prev) == (1, before.hash)
    kept = {name: before.salts[name] for name in ("open", "delivery")}
    body = {"open": "o", "delivery": "mail-1"}
    assert after == replace(before, body=body, salts=kept)
    # One delivery is one entry still, and of what was erased only the name is compared.
    assert ledger.append("ada", [draft], stamp) == (after,)


def test_with_the_delivery_erased_nothing_knows_it_any_more(
    ledger: LedgerStore, stamp: Stamp
) -> None:
    ledger.append("ada", [note(1, "mail-1")], stamp)
    ledger.erase("ada", 0, ["delivery", "n"], draft=note(2), stamp=stamp)
    assert ledger.find_delivery("ada", "mail-1") is None
    (again,) = ledger.append("ada", [note(1, "mail-1")], stamp)
    assert again.index == 2


def test_a_tombstone_that_is_refused_erases_nothing(ledger: LedgerStore, stamp: Stamp) -> None:
    made = ledger.append("ada", [note(1)], stamp)
    bad = Draft("note", "test", {"value": float("nan")})
    with pytest.raises(NotCanonical):
        ledger.erase("ada", 0, ["n"], draft=bad, stamp=stamp)
    assert tuple(ledger.entries("ada")) == made


@pytest.mark.parametrize(("index", "fields"), [(7, ["n"]), (0, ["other"]), (0, [])])
def test_what_is_not_there_cannot_be_erased(
    ledger: LedgerStore, stamp: Stamp, index: int, fields: list[str]
) -> None:
    made = ledger.append("ada", [note(1)], stamp)
    with pytest.raises(UsageError):
        ledger.erase("ada", index, fields, draft=note(2), stamp=stamp)
    assert tuple(ledger.entries("ada")) == made


def test_dropped_entries_leave_their_hashes_and_the_chain_goes_on(
    ledger: LedgerStore, stamp: Stamp
) -> None:
    made = ledger.append("ada", [note(n, f"mail-{n}") for n in range(5)], stamp)
    ledger.append("bob", [note(1)], stamp)
    assert ledger.drop_before("ada", 3) == 3
    assert ledger.drop_before("ada", 3) == 0
    assert tuple(ledger.entries("ada")) == made[3:]
    assert (ledger.count("ada"), ledger.count("bob")) == (5, 1)
    (last,) = ledger.append("ada", [note(9)], stamp)
    assert (last.index, last.prev) == (5, made[-1].hash)
    assert tuple(ledger.hashes("ada")) == (*(e.hash for e in made), last.hash)
    assert tuple(ledger.hashes("ada", start=2)) == (*(e.hash for e in made[2:]), last.hash)
    assert ledger.find("ada", 1) is None


def test_the_last_entry_is_never_dropped(ledger: LedgerStore, stamp: Stamp) -> None:
    made = ledger.append("ada", [note(n) for n in range(3)], stamp)
    assert ledger.drop_before("ada", 99) == 2
    assert tuple(ledger.entries("ada")) == made[2:]
    assert ledger.drop_before("nobody", 1) == 0


def test_a_delivery_whose_entry_was_dropped_is_not_taken_again(
    ledger: LedgerStore, stamp: Stamp
) -> None:
    ledger.append("ada", [note(1, "mail-1"), note(2)], stamp)
    ledger.drop_before("ada", 1)
    with pytest.raises(StoreConflict, match="`mail-1` of agent `ada` was entry 0") as caught:
        ledger.append("ada", [note(1, "mail-1")], stamp)
    assert caught.value.facts["index"] == 0
    assert ledger.count("ada") == 2


def test_checkpoints_come_back_in_their_order(ledger: LedgerStore) -> None:
    assert ledger.checkpoints("ada") == ()
    for size, text in ((3, "three\n"), (5, "five ✓"), (4, "after a rollback")):
        ledger.keep_checkpoint("ada", size, text)
    ledger.keep_checkpoint("bob", 1, "one")
    expected = ((3, "three\n"), (5, "five ✓"), (4, "after a rollback"))
    assert ledger.checkpoints("ada") == expected


def test_each_of_many_at_once_gets_its_entries_or_its_own_error(
    ledger: LedgerStore, stamp: Stamp
) -> None:
    ledger.append("ada", [note(0, "taken")], stamp)

    def append(n: int) -> str:
        agent = ("ada", "bob")[n % 2]
        draft = (note(n), Draft("note", "t", {"v": 2**60}), note(n, "taken"))[n % 3]
        try:
            (entry,) = ledger.append(agent, [note(-n), draft], stamp)[1:]
        except (NotCanonical, StoreConflict) as error:
            return error.code
        return f"{entry.agent} {entry.body['n']}"

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(append, range(60)))
    assert answers[::3] == [f"{('ada', 'bob')[n % 2]} {n}" for n in range(0, 60, 3)]
    assert set(answers[1::3]) == {"not-canonical"}
    assert set(answers[2::6]) | set(answers[5::6]) >= {"store-conflict"}
    for agent in ("ada", "bob"):
        assert verify_chain(agent, ledger.entries(agent)).intact
    assert ledger.count("ada") == 21  # the first, and two for each of ten
    assert ledger.count("bob") == 22  # `taken` is new there, once


def test_entries_are_counted_by_source_and_kind(ledger: LedgerStore, stamp: Stamp) -> None:
    assert ledger.tally("ada") == Tally()
    drafts = [
        Draft("window", "editor", {"n": 1}),
        Draft("note", "editor", {"n": 2}),
        Draft("window", "Büro", {"n": 3}),
        Draft("window", "a", {"n": 4}),
    ]
    made = ledger.append("ada", drafts, stamp)
    ledger.append("bob", [note(1)], stamp)
    counted = ledger.tally("ada")
    assert counted == Tally(
        4, made[0].time, made[3].time, {"Büro": 1, "a": 1, "editor": 2}, {"note": 1, "window": 3}
    )
    assert list(counted.sources) == ["Büro", "a", "editor"]


def test_what_was_dropped_is_not_counted_any_more(ledger: LedgerStore, stamp: Stamp) -> None:
    made = ledger.append("ada", [note(n) for n in range(5)], stamp)
    ledger.drop_before("ada", 3)
    assert ledger.tally("ada") == Tally(2, made[3].time, made[4].time, {"test": 2}, {"note": 2})
    assert ledger.gaps("ada") == ()


def test_entries_that_are_missing_between_others_are_named(ledger: LedgerStore) -> None:
    indexes = iter((2, 3, 7, 8, 10))

    def leave_out(agent: str, _head: Before | None, draft: Draft) -> Entry:
        index = next(indexes)
        return Entry(agent, index, f"t{index}", "s", draft.kind, None, None, {}, f"h{index}")

    assert ledger.gaps("ada") == ()
    ledger.append("ada", [note(0), note(1)], leave_out)
    assert ledger.gaps("ada") == ()
    ledger.append("ada", [note(2), note(3), note(4)], leave_out)
    assert ledger.gaps("ada") == ((4, 6), (9, 9))
    assert ledger.gaps("bob") == ()


def test_what_dropped_entries_were_delivered_as_is_told(ledger: LedgerStore, stamp: Stamp) -> None:
    drafts = [Draft("note", "test", {"n": n}, delivery=f"d{n}" if n else None) for n in range(4)]
    ledger.append("ada", drafts, stamp)
    ledger.drop_before("ada", 3)
    assert list(ledger.dropped_deliveries("ada")) == [None, "d1", "d2"]
    assert list(ledger.dropped_deliveries("ada", start=2)) == ["d2"]
    assert [ledger.dropped_as("ada", f"d{n}") for n in range(4)] == [None, 1, 2, None]
    assert ledger.dropped_as("bob", "d1") is None


@pytest.mark.parametrize(
    "draft",
    [
        Draft("note", "a\0b", {}),
        Draft("no\0te", "test", {}),
        Draft("note", "test", {}, ruleset="r\0"),
        Draft("note", "test", {}, delivery="d\0"),
    ],
)
def test_a_text_that_not_every_store_can_keep_is_refused_by_all(
    ledger: LedgerStore, stamp: Stamp, draft: Draft
) -> None:
    with pytest.raises(BadInput):
        ledger.append("ada", [note(0), draft], stamp)
    assert ledger.count("ada") == 0
    (kept,) = ledger.append("ada", [Draft("note", "test", {"te\0xt": "a\0b"})], stamp)
    assert ledger.find("ada", 0) == kept, "a body is kept whatever it says"


def test_a_dropped_delivery_that_is_forgotten_may_be_taken_again(
    ledger: LedgerStore, stamp: Stamp
) -> None:
    drafts = [Draft("note", "test", {"n": n}, delivery=f"d{n}") for n in range(4)]
    ledger.append("ada", drafts, stamp)
    ledger.drop_before("ada", 3)
    ledger.forget_delivery("ada", 1)
    assert list(ledger.dropped_deliveries("ada")) == ["d0", None, "d2"]
    (again,) = ledger.append("ada", drafts[1:2], stamp)
    assert again.index == 4
    with pytest.raises(StoreConflict, match="rotated away"):
        ledger.append("ada", drafts[2:3], stamp)


def test_names_that_no_agent_can_have_are_told_apart(ledger: LedgerStore, stamp: Stamp) -> None:
    ledger.append("ada", [Draft("note", "test", {})], stamp)
    assert (ledger.agents(), ledger.misnamed_agents()) == (("ada",), ())
