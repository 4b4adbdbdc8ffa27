"""What every inbox and its doorbell do: in order, once, and nobody is forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import pytest

from mentis.ports.inbox import AgentInbox, Doorbell
from mentis.stores.memory import InboxInMemory
from mentis.stores.postgres.database import PostgresDatabase
from mentis.stores.postgres.inbox import PostgresInbox, PostgresWorkers
from mentis.values.inbox import INBOX, InboxAnswer, InboxMessage

DONE = InboxAnswer("answered", "Yes.", 3)


class Both(AgentInbox, Doorbell, Protocol):
    """A store is both, since a message and its ring are one transaction."""


@pytest.fixture(params=["memory", "postgres"])
def inbox(request: pytest.FixtureRequest) -> Iterator[Both]:
    if request.param == "memory":
        yield InboxInMemory()
        return
    store = PostgresInbox(request.getfixturevalue("postgres"))
    yield store
    store.close()


def message(name: str) -> InboxMessage:
    return InboxMessage(name, "main", f'{{"text":"{name}"}}', "seal")


def test_messages_wait_in_their_order_until_they_are_answered(inbox: Both) -> None:
    assert [inbox.put("ada", message(name)) for name in "bac"] == [True, True, True]
    assert inbox.put("bob", message("a"))
    assert [one.id for one in inbox.waiting("ada", 2)] == ["b", "a"]
    assert inbox.counts() == (4, 2)
    inbox.answered("ada", "b", DONE)
    assert [one.id for one in inbox.waiting("ada", 9)] == ["a", "c"]
    assert inbox.waiting("ada", 1) == (message("a"),)
    inbox.answered("ada", "b", InboxAnswer("failed", reason="late"))
    assert (inbox.answer("ada", "b"), inbox.answer("ada", "a")) == (DONE, None)
    assert inbox.answer("bob", "b") is None


def test_a_message_that_is_sent_again_is_one_message_also_once_it_is_answered(inbox: Both) -> None:
    assert inbox.put("ada", message("a"))
    assert not inbox.put("ada", message("a"))
    inbox.answered("ada", "a", DONE)
    assert not inbox.put("ada", message("a"))
    assert inbox.waiting("ada", 9) == ()


def test_it_is_counted_how_often_a_message_was_tried(inbox: Both) -> None:
    inbox.put("ada", message("a"))
    assert [inbox.tried("ada", "a"), inbox.tried("ada", "a")] == [1, 2]
    assert inbox.tried("ada", "none") == 0


def test_rings_of_one_agent_are_one_and_each_is_claimed_by_one(inbox: Both) -> None:
    inbox.put("ada", message("a"))
    inbox.put("ada", message("b"))
    inbox.put("bob", message("a"))
    first, second = inbox.claim(60), inbox.claim(60)
    assert first is not None
    assert second is not None
    assert [first.agent, second.agent] == ["ada", "bob"]
    assert inbox.claim(60) is None
    inbox.rest(first)
    assert inbox.claim(60) is None


def test_what_rings_while_it_is_served_rings_again_after_that(inbox: Both) -> None:
    inbox.ring("ada")
    ring = inbox.claim(60)
    assert ring is not None
    inbox.put("ada", message("late"))
    assert inbox.claim(60) is None
    inbox.rest(ring)
    again = inbox.claim(60)
    assert again is not None
    assert again.agent == "ada"


def test_a_claim_of_somebody_who_is_gone_runs_out_and_he_changes_nothing_any_more(
    inbox: Both,
) -> None:
    inbox.ring("ada")
    gone = inbox.claim(0)
    assert gone is not None
    taken = inbox.claim(60)
    assert taken is not None
    inbox.rest(gone)
    inbox.keep(gone, 0)
    inbox.rest(gone, again=0)
    assert inbox.claim(60) is None
    inbox.rest(taken, again=0)
    assert inbox.claim(60) is not None


def test_a_ring_for_later_waits_and_an_earlier_one_counts(inbox: Both) -> None:
    inbox.ring("ada", seconds=3600)
    assert inbox.claim(60) is None
    inbox.ring("ada")
    ring = inbox.claim(60)
    assert ring is not None
    inbox.rest(ring, again=3600)
    assert inbox.claim(60) is None


def test_of_many_who_claim_at_once_each_gets_another_agent(inbox: Both) -> None:
    for number in range(12):
        inbox.ring(f"agent-{number:02}")
    with ThreadPoolExecutor(6) as pool:
        claimed = [ring.agent for ring in pool.map(inbox.claim, [60.0] * 20) if ring]
    assert sorted(claimed) == [f"agent-{number:02}" for number in range(12)]


def test_who_waits_hears_a_ring(inbox: Both) -> None:
    inbox.wait(0.01)  # from here on it listens
    with ThreadPoolExecutor(1) as pool:
        heard = pool.submit(inbox.wait, 30.0)
        inbox.ring("ada")
        while not heard.done():
            inbox.ring("ada")
    assert inbox.claim(1) is not None


def test_a_message_and_its_mark_are_there_together(postgres: PostgresDatabase) -> None:
    inbox = PostgresInbox(postgres)
    inbox.put("ada", message("a"))
    marks = "SELECT agent, kind, key FROM marks"
    assert postgres.read(marks) == [("ada", INBOX, "a")]
    inbox.answered("ada", "a", DONE)
    assert postgres.read(marks) == []


def test_workers_are_seen_until_they_go_and_are_told_to_stop(postgres: PostgresDatabase) -> None:
    workers = PostgresWorkers(postgres)
    assert workers.seen("one", 0)
    assert workers.drain("one")
    assert not workers.drain("two")
    assert not workers.seen("one", 2)
    (row,) = workers.all()
    assert (row.name, row.serving, row.draining, row.seen) == ("one", 2, True, 0)
    workers.gone("one")
    assert workers.all() == ()
