"""Leases against a model: whatever is taken, renewed, released, late or killed, in any order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from mentis.disk.processes import end_owner, owner_name
from mentis.errors import LeaseHeld
from mentis.ledger.chain import make_stamp
from mentis.ports.ids import CountingIds
from mentis.ports.ledger_store import LedgerStore
from mentis.stores.memory import LedgerInMemory
from mentis.stores.postgres.database import PostgresDatabase
from mentis.stores.postgres.ledger import PostgresLedger
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.entry import Draft
from mentis.values.lease import Lease

SECONDS = 10
PURPOSES = st.sampled_from(["consume", "run"])
SLOTS = st.integers(0, 2)
PLACES = st.sampled_from(["here", "elsewhere"])
_NAMES = count(1)


class LeaseMachine(RuleBasedStateMachine):
    """The model: who holds each purpose, every lease that was ever given out, and who is dead.

    An owner has a slot and a place; killed, the next one in its slot is a new one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.store = self.open()
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.stamp = make_stamp(lambda: self.now, CountingIds().salt)
        self.owners: dict[tuple[int, str], str] = {}
        self.dead: set[str] = set()
        self.given: list[Lease] = []
        self.holder: dict[str, Lease | None] = {"consume": None, "run": None}
        self.fence = {"consume": 0, "run": 0}

    def open(self) -> LedgerStore:
        return LedgerInMemory()

    def owner(self, slot: int, place: str) -> str:
        key = (slot, place)
        if key not in self.owners or self.owners[key] in self.dead:
            name = owner_name("test", f"n{next(_NAMES)}")
            self.owners[key] = name if place == "here" else name.replace("test ", "test far-")
        return self.owners[key]

    def free(self, purpose: str) -> bool:
        held = self.holder[purpose]
        if held is None:
            return True
        far = " far-" in held.owner
        return held.end <= self.now if far else held.owner in self.dead

    @rule(slot=SLOTS, place=PLACES, purpose=PURPOSES)
    def take(self, slot: int, place: str, purpose: str) -> None:
        owner, held = self.owner(slot, place), self.holder[purpose]
        mine = held is not None and held.owner == owner
        free = self.free(purpose)
        lease = self.store.take_lease("ada", purpose, owner, now=self.now, seconds=SECONDS)
        assert (lease.owner == owner) == (mine or free)
        if lease.owner != owner:
            return
        assert lease.fence == self.fence[purpose] + (not mine)
        self.fence[purpose], self.holder[purpose] = lease.fence, lease
        self.given.append(lease)

    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        if not self.given:
            return
        lease = data.draw(st.sampled_from(self.given))
        if self.holds(lease):
            self.holder[lease.purpose] = self.store.renew_lease(
                lease, now=self.now, seconds=SECONDS
            )
            return
        with pytest.raises(LeaseHeld):
            self.store.renew_lease(lease, now=self.now, seconds=SECONDS)

    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        if not self.given:
            return
        lease = data.draw(st.sampled_from(self.given))
        self.store.release_lease(lease)
        if self.holds(lease):
            self.holder[lease.purpose] = None

    @rule(slot=SLOTS, place=PLACES)
    def kill(self, slot: int, place: str) -> None:
        owner = self.owner(slot, place)
        self.dead.add(owner)
        if place == "here":
            end_owner(owner)

    @rule(seconds=st.sampled_from([-3600, -1, 1, SECONDS - 1, SECONDS + 1, 3600]))
    def jump(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    def holds(self, lease: Lease) -> bool:
        held = self.holder[lease.purpose]
        return held is not None and (held.fence, held.owner) == (lease.fence, lease.owner)

    @invariant()
    def the_store_knows_the_holder_and_nobody_else_writes(self) -> None:
        for purpose, held in self.holder.items():
            assert self.store.lease("ada", purpose) == held
        for lease in self.given[-5:]:
            if not self.holds(lease):
                with pytest.raises(LeaseHeld):
                    self.store.append("ada", [Draft("note", "t", {})], self.stamp, lease=lease)


class SqliteLeases(LeaseMachine):
    def open(self) -> LedgerStore:
        self.folder = TemporaryDirectory()
        self.database = Database(Path(self.folder.name) / "mentis.db")
        return SqliteLedger(self.database)

    def teardown(self) -> None:
        self.database.close()
        self.folder.cleanup()


class PostgresLeases(LeaseMachine):
    url = ""
    schemas = count(1)

    def open(self) -> LedgerStore:
        self.database = PostgresDatabase(self.url, schema=f"leases_{next(self.schemas)}")
        return PostgresLedger(self.database)

    def teardown(self) -> None:
        self.database.close()


def test_leases_in_postgresql_do_what_the_model_does(postgres_url: str) -> None:
    PostgresLeases.url = postgres_url
    few = settings(max_examples=8, stateful_step_count=20, deadline=None)
    run_state_machine_as_test(PostgresLeases, settings=few)


TestInMemory = LeaseMachine.TestCase
TestInMemory.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestSqlite = SqliteLeases.TestCase
TestSqlite.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)
