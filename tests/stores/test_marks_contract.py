"""What every `LedgerStore` does with what stands open beside its entries."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from mentis.errors import BadInput, Defect, LeaseHeld, NotCanonical, StoreConflict, StoreDamaged
from mentis.ledger.verify import verify_chain
from mentis.ports.entries import Stamp
from mentis.ports.ledger_store import LedgerStore
from mentis.stores.layout import read_mark
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.stores.sqlite.migrations import APPLICATION_ID, MIGRATIONS
from mentis.values.entry import Draft
from mentis.values.lease import Lease
from mentis.values.mark import Mark


def note(n: int, delivery: str | None = None) -> Draft:
    return Draft("note", "test", {"n": n}, delivery=delivery)


def opened(key: str, **value: object) -> Mark:
    return Mark("act", key, value, replaces="nothing")


def taken(key: str) -> Mark:
    return Mark("act", key, replaces="something")


def keys(ledger: LedgerStore, kind: str = "act", agent: str = "ada") -> list[str]:
    return [mark.key for mark in ledger.marks(agent, kind)]


def test_marks_are_set_and_taken_away_with_entries(ledger: LedgerStore, stamp: Stamp) -> None:
    value: dict[str, object] = {"deep": {"list": [1, 2.5, None, True]}, "text": "Größe 😀\x00"}
    ledger.append("ada", [note(1)], stamp, marks=[Mark("act", "k1", value), opened("k2")])
    assert ledger.mark("ada", "act", "k1") == Mark("act", "k1", value)
    assert ledger.mark("ada", "act", "k2") == Mark("act", "k2", {})
    ledger.append("ada", [note(2)], stamp, marks=[taken("k1")])
    assert ledger.mark("ada", "act", "k1") is None
    assert keys(ledger) == ["k2"]


def test_marks_are_changed_together_with_an_erasure_or_not_at_all(
    ledger: LedgerStore, stamp: Stamp
) -> None:
    ledger.append("ada", [note(1)], stamp, marks=[opened("k1", n=1), opened("k2")])
    tombstone = Draft("erasure", "test", {})
    with pytest.raises(StoreConflict):
        ledger.erase("ada", 0, ["n"], draft=tombstone, stamp=stamp, marks=[taken("gone")])
    assert [entry.body.get("n") for entry in ledger.entries("ada")] == [1]
    marks = [Mark("act", "k1", {"n": None}), taken("k2")]
    ledger.erase("ada", 0, ["n"], draft=tombstone, stamp=stamp, marks=marks)
    assert ledger.marks("ada", "act") == (Mark("act", "k1", {"n": None}),)
    assert [entry.body.get("n") for entry in ledger.entries("ada")] == [None, None]


def test_marks_come_in_the_order_of_their_keys_and_apart_by_agent_and_kind(
    ledger: LedgerStore, stamp: Stamp
) -> None:
    marks = [opened(key) for key in ("b", "a", "Ä", "B", "😀", "\uff5e", "")]
    ledger.append("ada", [note(1)], stamp, marks=[*marks, Mark("news", "a", {})])
    ledger.append("bob", [note(1)], stamp, marks=[opened("a", of="bob")])
    assert keys(ledger) == ["", "B", "a", "b", "Ä", "\uff5e", "😀"]
    assert keys(ledger, "news") == ["a"]
    assert ledger.marks("bob", "act") == (Mark("act", "a", {"of": "bob"}),)
    assert (ledger.marks("bob", "news"), ledger.mark("bob", "act", "b")) == ((), None)


def test_a_mark_is_replaced_whatever_is_there_unless_it_says_what_must_be(
    ledger: LedgerStore, stamp: Stamp
) -> None:
    for n in range(2):
        ledger.append("ada", [note(n)], stamp, marks=[Mark("pin", "tool", {"n": n})])
    assert ledger.mark("ada", "pin", "tool") == Mark("pin", "tool", {"n": 1})
    change = Mark("pin", "tool", {"n": 2}, replaces="something")
    ledger.append("ada", [note(3)], stamp, marks=[change])
    assert ledger.mark("ada", "pin", "tool") == Mark("pin", "tool", {"n": 2})
    ledger.append("ada", [note(4)], stamp, marks=[Mark("pin", "none")])
    assert keys(ledger, "pin") == ["tool"]


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (opened("k1"), "`act` `k1` of agent `ada` stands already"),
        (taken("k2"), "`act` `k2` of agent `ada` does not stand any more"),
        (Mark("act", "k2", {}, replaces="something"), "`k2` of agent `ada` does not stand"),
    ],
)
def test_who_comes_second_writes_nothing_at_all(
    ledger: LedgerStore, stamp: Stamp, second: Mark, said: str
) -> None:
    ledger.append("ada", [note(1)], stamp, marks=[opened("k1", n=1)])
    with pytest.raises(StoreConflict, match=said) as caught:
        ledger.append("ada", [note(2), note(3)], stamp, marks=[opened("k3"), second])
    assert caught.value.facts == {"agent": "ada", "kind": "act", "key": second.key}
    assert ledger.marks("ada", "act") == (Mark("act", "k1", {"n": 1}),)
    assert ledger.count("ada") == 1


def test_a_mark_sees_what_the_ones_before_it_did(ledger: LedgerStore, stamp: Stamp) -> None:
    ledger.append("ada", [note(1)], stamp, marks=[opened("k1", n=1)])
    ledger.append("ada", [note(2)], stamp, marks=[taken("k1"), opened("k1", n=2)])
    assert ledger.marks("ada", "act") == (Mark("act", "k1", {"n": 2}),)
    with pytest.raises(StoreConflict):
        ledger.append("ada", [note(3)], stamp, marks=[taken("k1"), taken("k1")])
    assert keys(ledger) == ["k1"]


def test_when_every_draft_was_known_the_marks_stay_as_they_are(
    ledger: LedgerStore, stamp: Stamp
) -> None:
    ledger.append("ada", [note(1, "mail-1")], stamp, marks=[opened("k1")])
    # The same again, as after an answer that got lost: neither a conflict nor a second mark.
    ledger.append("ada", [note(1, "mail-1")], stamp, marks=[opened("k1")])
    ledger.append("ada", [note(2, "mail-2")], stamp, marks=[taken("k1")])
    ledger.append("ada", [note(1, "mail-1")], stamp, marks=[opened("k1")])
    assert keys(ledger) == []
    ledger.append("ada", [note(1, "mail-1"), note(3)], stamp, marks=[opened("k1")])
    assert keys(ledger) == ["k1"]


def test_what_is_refused_sets_no_mark(ledger: LedgerStore, stamp: Stamp) -> None:
    bad = Draft("note", "test", {"value": float("nan")})
    with pytest.raises(NotCanonical):
        ledger.append("ada", [note(1), bad], stamp, marks=[opened("k1")])
    lost = Lease("ada", "consume", "nobody", 7, "2026-01-01T00:00:00.000000Z")
    with pytest.raises(LeaseHeld):
        ledger.append("ada", [note(1)], stamp, lease=lost, marks=[opened("k1")])
    assert (keys(ledger), ledger.count("ada")) == ([], 0)


@pytest.mark.parametrize("value", [float("nan"), b"bytes", "\ud800", {1}, object()])
def test_a_mark_that_json_cannot_say_is_refused_before_anything_is_written(
    ledger: LedgerStore, stamp: Stamp, value: object
) -> None:
    with pytest.raises(BadInput, match="mark `act` `k1` has no JSON form"):
        ledger.append("ada", [note(1)], stamp, marks=[opened("k1", value=value)])
    assert (keys(ledger), ledger.count("ada")) == ([], 0)


def test_marks_need_an_entry(ledger: LedgerStore, stamp: Stamp) -> None:
    with pytest.raises(Defect, match="together with entries"):
        ledger.append("ada", [], stamp, marks=[opened("k1")])


def test_erasing_and_dropping_entries_leaves_the_marks(ledger: LedgerStore, stamp: Stamp) -> None:
    ledger.append("ada", [note(1), note(2)], stamp, marks=[opened("k1", n=1)])
    ledger.erase("ada", 0, ["n"], draft=note(3), stamp=stamp)
    ledger.drop_before("ada", 2)
    assert ledger.marks("ada", "act") == (Mark("act", "k1", {"n": 1}),)


def test_of_many_who_take_one_mark_one_wins_and_nobody_else_is_hurt(
    ledger: LedgerStore, stamp: Stamp
) -> None:
    ledger.append("ada", [note(0)], stamp, marks=[opened("one")])

    def run(n: int) -> str:
        marks = [taken("one")] if n % 2 else [opened(f"k{n:02d}"), Mark("act", f"x{n:02d}", {})]
        try:
            ledger.append("ada", [note(n), note(-n)], stamp, marks=marks)
        except StoreConflict:
            return "conflict"
        return "kept"

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(run, range(1, 49)))
    assert answers[0::2].count("kept") == 1
    assert set(answers[1::2]) == {"kept"}
    assert len(keys(ledger)) == 48
    assert ledger.count("ada") == 1 + 2 * 25
    assert verify_chain("ada", ledger.entries("ada")).intact


@pytest.mark.parametrize(
    ("key", "value"), [(1, "{}"), ("k", None), ("k", b"{}"), ("k", "{"), ("k", "[]"), ("k", "NaN")]
)
def test_a_mark_that_somebody_changed_is_not_believed(key: object, value: object) -> None:
    with pytest.raises(StoreDamaged, match="mark `act`") as caught:
        read_mark("act", key, value)
    assert caught.value.facts["column"] == "marks"


def test_a_changed_cell_in_a_file_is_damage(path: Path, stamp: Stamp) -> None:
    with Database(path) as database:
        ledger = SqliteLedger(database)
        ledger.append("ada", [note(1)], stamp, marks=[opened("k1")])
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute('UPDATE marks SET value = \'{"a":1,"a":2}\'')
        with pytest.raises(StoreDamaged, match="stands twice"):
            ledger.marks("ada", "act")


def test_a_file_from_before_marks_can_be_read_without_being_changed(path: Path) -> None:
    before = next(n for n, step in enumerate(MIGRATIONS) if step.__name__ == "_add_marks")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for step in MIGRATIONS[:before]:
            step(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {before}")
    content = path.read_bytes()
    with Database(path, readonly=True) as database:
        ledger = SqliteLedger(database)
        assert (ledger.marks("ada", "act"), ledger.mark("ada", "act", "k")) == ((), None)
    assert path.read_bytes() == content
