"""What every store of leases does: one owner for each agent and purpose, and fences that rise."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from mentis.disk.processes import end_owner, in_force, owner_name
from mentis.errors import LeaseHeld
from mentis.ports.entries import Stamp
from mentis.ports.ledger_store import LedgerStore
from mentis.values.entry import Draft
from mentis.values.mark import Mark
from mentis.values.part import TextPart
from mentis.values.turn import Turn
from mentis.values.turn_writes import TurnWrites

NOW = datetime(2026, 1, 1, tzinfo=UTC)
YEARS = timedelta(days=1000)
CHILD = """
from mentis.disk.processes import owner_name
print(owner_name("watcher", "child"), flush=True)
input()
"""


@contextmanager
def another_process() -> Generator[tuple[str, subprocess.Popen[str]]]:
    """An owner that is a process of this machine, until it is killed."""
    words = [sys.executable, "-c", CHILD]
    with subprocess.Popen(words, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        yield child.stdout.readline().strip(), child
        child.kill()


def note(n: int) -> Draft:
    return Draft("note", "test", {"n": n})


def test_a_lease_belongs_to_the_first_who_asks_until_it_runs_out(ledger: LedgerStore) -> None:
    assert ledger.lease("ada", "consume") is None
    mine = ledger.take_lease("ada", "consume", "watcher 1", now=NOW, seconds=10)
    assert (mine.owner, mine.fence, mine.end) == ("watcher 1", 1, NOW + timedelta(seconds=10))
    assert mine.expires.endswith("Z")
    assert ledger.take_lease("ada", "consume", "watcher 2", now=NOW, seconds=99) == mine
    assert ledger.lease("ada", "consume") == mine
    later = NOW + timedelta(seconds=10)
    theirs = ledger.take_lease("ada", "consume", "watcher 2", now=later, seconds=10)
    assert (theirs.owner, theirs.fence) == ("watcher 2", 2)
    assert ledger.take_lease("bob", "consume", "watcher 1", now=NOW, seconds=10).fence == 1


def test_a_lease_is_renewed_by_its_holder_and_by_nobody_else(ledger: LedgerStore) -> None:
    mine = ledger.take_lease("ada", "consume", "one", now=NOW, seconds=10)
    renewed = ledger.renew_lease(mine, now=NOW + timedelta(seconds=5), seconds=10)
    assert (renewed.end, renewed.fence) == (NOW + timedelta(seconds=15), mine.fence)
    assert ledger.take_lease("ada", "consume", "one", now=NOW, seconds=20).fence == 1
    ledger.take_lease("ada", "consume", "two", now=NOW + timedelta(seconds=60), seconds=10)
    with pytest.raises(LeaseHeld, match="two has it now"):
        ledger.renew_lease(mine, now=NOW, seconds=10)


def test_a_released_lease_is_free_and_its_fence_is_spent(ledger: LedgerStore) -> None:
    mine = ledger.take_lease("ada", "consume", "one", now=NOW, seconds=10)
    ledger.release_lease(mine)
    assert ledger.lease("ada", "consume") is None
    with pytest.raises(LeaseHeld, match="nobody has it now"):
        ledger.renew_lease(mine, now=NOW, seconds=10)
    theirs = ledger.take_lease("ada", "consume", "two", now=NOW, seconds=10)
    assert theirs.fence == 2
    ledger.release_lease(mine)
    assert ledger.lease("ada", "consume") == theirs


def test_who_lost_the_lease_appends_nothing(ledger: LedgerStore, stamp: Stamp) -> None:
    mine = ledger.take_lease("ada", "consume", "one", now=NOW, seconds=10)
    ledger.append("ada", [note(1)], stamp, lease=mine)
    theirs = ledger.take_lease("ada", "consume", "two", now=NOW + timedelta(minutes=1), seconds=10)
    with pytest.raises(LeaseHeld, match="fence 1 is lost: two has it now"):
        ledger.append("ada", [note(2)], stamp, lease=mine)
    ledger.append("ada", [note(3)], stamp, lease=theirs)
    # Direct ways in need no lease.
    ledger.append("ada", [note(4)], stamp)
    assert [entry.body["n"] for entry in ledger.entries("ada")] == [1, 3, 4]


@pytest.mark.parametrize("purpose", ["consume", "tick", "beat", "delivery", "run"])
def test_with_a_lost_lease_neither_entry_nor_mark_nor_turn_is_written(
    ledger: LedgerStore, stamp: Stamp, purpose: str
) -> None:
    mine = ledger.take_lease("ada", purpose, "one", now=NOW, seconds=10)
    number = ledger.add_turn("ada", "main", Turn("user", (TextPart("Hi"),), state="pending"))
    ledger.take_lease("ada", purpose, "two", now=NOW + timedelta(minutes=1), seconds=10)
    marks, turns = [Mark("tick", "underway", {"n": 1})], TurnWrites("main", number, "complete")
    with pytest.raises(LeaseHeld, match=f"to {purpose} with fence 1 is lost: two has it now"):
        ledger.append("ada", [note(1)], stamp, lease=mine, marks=marks, turns=turns)
    assert (ledger.count("ada"), ledger.marks("ada", "tick")) == (0, ())
    assert [turn.state for turn in ledger.turns("ada", "main")] == ["pending"]


def test_of_many_who_ask_for_a_lease_one_gets_it(ledger: LedgerStore) -> None:
    def ask(n: int) -> str:
        return ledger.take_lease("ada", "consume", f"watcher {n}", now=NOW, seconds=10).owner

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(16)))) == 1


def test_a_lease_that_ends_later_than_any_can_is_not_believed(ledger: LedgerStore) -> None:
    ledger.take_lease("ada", "consume", "somebody", now=NOW, seconds=1e9)
    assert ledger.take_lease("ada", "consume", "watcher", now=NOW, seconds=30).owner == "watcher"


def test_each_purpose_of_an_agent_has_a_lease_of_its_own(ledger: LedgerStore) -> None:
    consume = ledger.take_lease("ada", "consume", "one", now=NOW, seconds=10)
    run = ledger.take_lease("ada", "run", "two", now=NOW, seconds=10)
    assert (consume.owner, run.owner, run.fence) == ("one", "two", 1)
    ledger.release_lease(consume)
    assert (ledger.lease("ada", "consume"), ledger.lease("ada", "run")) == (None, run)


def test_a_lease_for_one_purpose_is_none_for_another(ledger: LedgerStore, stamp: Stamp) -> None:
    mine = ledger.take_lease("ada", "consume", "one", now=NOW, seconds=10)
    with pytest.raises(LeaseHeld, match="to run with fence 1 is lost"):
        ledger.append("ada", [note(1)], stamp, lease=replace(mine, purpose="run"))


def test_a_fence_that_was_given_out_twice_holds_for_the_owner_alone(
    ledger: LedgerStore, stamp: Stamp
) -> None:
    """As after a crash of the store that took its last moments along."""
    mine = ledger.take_lease("ada", "consume", "one", now=NOW, seconds=10)
    lost = replace(mine, owner="two")
    with pytest.raises(LeaseHeld, match="one has it now"):
        ledger.append("ada", [note(1)], stamp, lease=lost)
    ledger.release_lease(lost)
    assert ledger.lease("ada", "consume") == mine


def test_a_live_process_of_this_machine_keeps_its_lease_however_late_it_is(
    ledger: LedgerStore,
) -> None:
    with another_process() as (owner, _):
        theirs = ledger.take_lease("ada", "consume", owner, now=NOW, seconds=10)
        for now in (NOW + YEARS, NOW - YEARS):
            mine = ledger.take_lease("ada", "consume", owner_name("w", "a"), now=now, seconds=10)
            assert mine == theirs
            assert in_force(mine, now)


def test_a_killed_process_of_this_machine_is_replaced_at_once(ledger: LedgerStore) -> None:
    with another_process() as (owner, child):
        theirs = ledger.take_lease("ada", "consume", owner, now=NOW, seconds=9999)
        child.kill()
        os.waitid(
            os.P_PID, child.pid, os.WEXITED | os.WNOWAIT
        )  # nobody asked yet what became of it
        assert not in_force(theirs, NOW)
        mine = ledger.take_lease("ada", "consume", owner_name("w", "a"), now=NOW, seconds=10)
    assert mine.fence == theirs.fence + 1
    with pytest.raises(LeaseHeld):
        ledger.renew_lease(theirs, now=NOW, seconds=10)


@pytest.mark.parametrize("since", ["boot", "start"])
def test_a_process_number_that_was_given_away_again_is_another_process(
    ledger: LedgerStore, since: str
) -> None:
    words, birth = owner_name("watcher", "a").rsplit(" ", 1)
    boot, start = birth.split(".")
    before = f"00000000.{start}" if since == "boot" else f"{boot}.{int(start) + 1}"
    ledger.take_lease("ada", "consume", f"{words} {before}", now=NOW, seconds=9999)
    assert ledger.take_lease("ada", "consume", "me", now=NOW, seconds=10).owner == "me"


def test_of_an_owner_of_another_machine_only_the_time_tells(ledger: LedgerStore) -> None:
    role, place, *rest = owner_name("watcher", "a").split(" ")
    owner = " ".join((role, f"elsewhere{place}", *rest))
    theirs = ledger.take_lease("ada", "consume", owner, now=NOW, seconds=10)
    assert ledger.take_lease("ada", "consume", "me", now=NOW, seconds=10) == theirs
    later = NOW + timedelta(seconds=10)
    assert ledger.take_lease("ada", "consume", "me", now=later, seconds=10).owner == "me"


def test_an_owner_as_older_versions_wrote_it_holds_until_it_runs_out(ledger: LedgerStore) -> None:
    owner = owner_name("watcher", "a").rsplit(" ", 1)[0]
    theirs = ledger.take_lease("ada", "consume", owner, now=NOW, seconds=10)
    assert ledger.take_lease("ada", "consume", "me", now=NOW, seconds=10) == theirs
    ledger.release_lease(theirs)
    gone = owner.replace(f":{os.getpid()} ", f":{2**22 + 1} ")
    ledger.take_lease("ada", "consume", gone, now=NOW, seconds=9999)
    assert ledger.take_lease("ada", "consume", "me", now=NOW, seconds=10).owner == "me"


def test_what_could_not_be_given_back_is_free_for_the_same_process(ledger: LedgerStore) -> None:
    owner = owner_name("watcher", "ended")
    ledger.take_lease("ada", "consume", owner, now=NOW, seconds=10)
    end_owner(owner)
    assert ledger.take_lease("ada", "consume", "me", now=NOW, seconds=10).owner == "me"


def test_a_message_is_not_stored_under_a_lease_that_somebody_else_has(ledger: LedgerStore) -> None:
    mine = ledger.take_lease("ada", "turn main", "one", now=NOW, seconds=10)
    said = Turn("user", (TextPart("Hello"),))
    assert ledger.add_turn("ada", "main", said, lease=mine) == 0
    later = NOW + timedelta(seconds=20)
    theirs = ledger.take_lease("ada", "turn main", "two", now=later, seconds=10)
    with pytest.raises(LeaseHeld, match="two has it now"):
        ledger.add_turn("ada", "main", said, lease=mine)
    assert ledger.add_turn("ada", "main", said, lease=theirs) == 1
