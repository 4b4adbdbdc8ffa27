"""One transaction, seen by the work in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from mentis.errors import StoreDamaged
from mentis.ports.entries import Stamp
from mentis.stores.rows import Row, to_row
from mentis.stores.session import ADD_TURN, HEAD, REPLACE_TURN, SqlTransaction
from mentis.values.entry import Draft, Entry


class Told(SqlTransaction):
    """Says what the database was asked, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[object] = []

    def run(self, statement: str, parameters: Sequence[object]) -> list[Row]:
        self.asked.append(statement)
        return []

    def run_insert(self, rows: Sequence[Row]) -> None:
        self.asked.append([row[1] for row in rows])


def fail(session: SqlTransaction, work: Callable[[], object]) -> None:
    """A part that does this and then breaks."""
    with session.part():
        work()
        raise ValueError("mine")


@pytest.fixture
def entry(stamp: Stamp) -> Entry:
    return stamp("ada", None, Draft("note", "test", {"n": 1}))


def test_a_head_is_asked_for_once_and_then_follows_what_is_added(entry: Entry) -> None:
    session = Told()
    assert session.head("ada") == session.head("ada") == []
    session.insert([to_row(entry)])
    assert session.head("ada") == [(entry.index, entry.hash, entry.time)]
    assert session.asked == [HEAD]


def test_what_was_added_is_sent_together_and_before_anything_else(entry: Entry) -> None:
    session = Told()
    for _ in range(3):
        with session.part():
            session.insert([to_row(entry)])
    session.execute("SELECT 1")
    assert session.asked == [[0, 0, 0], "SELECT 1"]


def test_a_part_that_fails_before_it_was_sent_is_forgotten_alone(entry: Entry) -> None:
    session = Told()
    with session.part():
        session.insert([to_row(entry)])
    with pytest.raises(ValueError, match="mine"):
        fail(session, lambda: session.insert([to_row(entry)] * 2))
    assert session.stands
    session.send()
    assert session.asked == [[0]]
    session.head("ada")
    assert session.asked[1:] == [HEAD]


@pytest.mark.parametrize("statement", ["SELECT 1", "DELETE FROM leases"])
def test_a_part_that_fails_after_it_wrote_takes_the_transaction_with_it(
    statement: str, entry: Entry
) -> None:
    session = Told()

    def write() -> None:
        session.insert([to_row(entry)])
        session.execute(statement)

    with pytest.raises(ValueError, match="mine"):
        fail(session, write)
    assert not session.stands


def test_a_part_that_only_read_may_fail(entry: Entry) -> None:
    session = Told()
    session.insert([to_row(entry)])
    with pytest.raises(ValueError, match="mine"):
        fail(session, lambda: session.execute("SELECT 1"))
    assert session.stands


PLACE, OTHER = ("ada", "s", 0), ("bob", "s", 0)


def test_turns_are_sent_after_the_entries_and_only_before_a_look_at_their_own_conversation(
    entry: Entry,
) -> None:
    session = Told()
    session.write_turn(ADD_TURN, PLACE, "{}")
    session.insert([to_row(entry)])
    session.look("SELECT 1", (), of=OTHER[:2])
    assert session.asked == ["SELECT 1"]
    session.look("SELECT 1", (), of=PLACE[:2])
    assert session.asked[1:] == [[0], ADD_TURN, "SELECT 1"]


def test_a_part_that_fails_leaves_its_turns_out_and_no_others(entry: Entry) -> None:
    session = Told()
    with session.part():
        session.write_turn(ADD_TURN, PLACE, "{}")

    def write() -> None:
        session.insert([to_row(entry)])
        session.write_turn(REPLACE_TURN, OTHER, "{}")
        session.defer("DELETE FROM media", ())

    with pytest.raises(ValueError, match="mine"):
        fail(session, write)
    assert session.stands
    session.send()
    assert session.asked == [ADD_TURN]


def test_a_turn_that_the_database_did_not_keep_was_not_recorded() -> None:
    session = Told()
    session.write_turn(ADD_TURN, PLACE, "{}")
    with pytest.raises(StoreDamaged, match="did not keep turn 0 of session `s` of `ada`"):
        session.finish()
