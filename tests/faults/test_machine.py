"""The whole ledger against a list: appends, deliveries, erasures, checkpoints, keys, rotation,
leases and reopening, in any order; after each, verification finds what the list says.
"""

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
    precondition,
    rule,
    run_state_machine_as_test,
)

from mentis.errors import LeaseHeld, StoreConflict
from mentis.ledger import keeping
from mentis.ledger.chain import make_stamp
from mentis.ledger.keeping import LedgerHandle
from mentis.ledger.signature import encode_key
from mentis.ports.ids import CountingIds
from mentis.ports.ledger_store import LedgerStore
from mentis.ports.signer import SeededSigner
from mentis.stores.postgres.database import PostgresDatabase
from mentis.stores.postgres.ledger import PostgresLedger
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.checkpoint import KeptCheckpoint, KeptNote, Pin
from mentis.values.entry import Draft, Entry
from mentis.values.lease import Lease

from .verifying import verify_store

TEXTS = st.text("aé😀", max_size=3)
OWNERS = st.sampled_from(["watcher", "monitor"])
SECONDS = 30


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.store = self.open()
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.ids = CountingIds()
        self.stamp = make_stamp(self._tick, self.ids.salt)
        self.keys = (bytes([n % 256] * 32) for n in count(1))
        self.signer = SeededSigner(next(self.keys))
        self.pin = Pin("example.org/model", encode_key(self.signer.public))
        # The model.
        self.chain: list[Entry] = []
        self.drafts: dict[str, Draft] = {}
        self.segments: list[Entry] = []
        self.erased: set[int] = set()
        self.outside: list[KeptNote] = []
        self.kept: KeptCheckpoint | None = None
        self.leases: dict[str, Lease] = {}
        self.holder: Lease | None = None

    def open(self) -> LedgerStore:
        raise NotImplementedError

    def reopened(self) -> LedgerStore:
        raise NotImplementedError

    def _tick(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now

    @property
    def ledger(self) -> LedgerHandle:
        return LedgerHandle(self.store, "ada", self.pin)

    @rule(texts=st.lists(TEXTS, min_size=1, max_size=3), known=st.booleans())
    def append(self, texts: list[str], *, known: bool) -> None:
        drafts = [
            Draft("note", "test", {"text": text}, delivery=self.ids.new_id() if known else None)
            for text in texts
        ]
        self.chain += self.store.append("ada", drafts, self.stamp)
        self.drafts |= {draft.delivery: draft for draft in drafts if draft.delivery}

    @precondition(lambda self: self.drafts)
    @rule(data=st.data(), text=TEXTS, changed=st.booleans())
    def deliver_again(self, data: st.DataObject, text: str, *, changed: bool) -> None:
        draft = self.drafts[data.draw(st.sampled_from(sorted(self.drafts)))]
        first = next(e for e in self.chain if e.delivery == draft.delivery)
        fresh = Draft("note", "test", {"text": text})
        if changed:
            draft = Draft("other", "test", draft.body, delivery=draft.delivery)
        if changed or first.index < len(self.segments):
            with pytest.raises(StoreConflict):
                self.store.append("ada", [fresh, draft], self.stamp)
            return
        made, again = self.store.append("ada", [fresh, draft], self.stamp)
        assert again.hash == first.hash
        self.chain.append(made)

    @precondition(lambda self: self._erasable())
    @rule(data=st.data())
    def erase(self, data: st.DataObject) -> None:
        index = data.draw(st.sampled_from(self._erasable()))
        made = keeping.erase(
            self.ledger, index, ["text"], reason="asked", signer=self.signer, stamp=self.stamp
        )
        self.chain.append(made)
        self.erased.add(index)

    def _erasable(self) -> list[int]:
        return [
            entry.index
            for entry in self.chain[len(self.segments) :]
            if entry.kind == "note" and entry.index not in self.erased
        ]

    @precondition(lambda self: self.chain)
    @rule()
    def checkpoint(self) -> None:
        self.kept = KeptCheckpoint(*keeping.checkpoint(self.ledger, self.signer))
        self.outside.append(KeptNote(self.kept.note, "elsewhere", outside=True))

    @precondition(lambda self: self.chain)
    @rule()
    def change_key(self) -> None:
        new = SeededSigner(next(self.keys))
        self.chain.append(keeping.change_key(self.ledger, self.signer, new, self.stamp))
        self.signer = new
        self.pin = Pin(self.pin.origin, encode_key(new.public))

    @precondition(lambda self: len(self.chain) - len(self.segments) > 1)
    @rule(data=st.data())
    def rotate(self, data: st.DataObject) -> None:
        index = data.draw(st.integers(len(self.segments) + 1, len(self.chain) - 1))
        segment, lines = keeping.seal_segment(self.ledger, index, self.signer)
        assert len(list(lines)) == index - len(self.segments) + 1
        self.chain.append(keeping.record_rotation(self.ledger, segment, self.signer, self.stamp))
        going = [entry for entry in self.store.entries("ada") if entry.index < index]
        assert self.store.drop_before("ada", index) == len(going)
        self.segments += going

    @rule(owner=OWNERS)
    def take_lease(self, owner: str) -> None:
        free = self.holder is None or self.holder.owner == owner or self.holder.end <= self.now
        lease = self.store.take_lease("ada", "consume", owner, now=self.now, seconds=SECONDS)
        assert (lease.owner == owner) == free
        if free:
            assert self.holder is None or lease.fence >= self.holder.fence
            self.holder = self.leases[owner] = lease

    @rule(owner=OWNERS)
    def renew_lease(self, owner: str) -> None:
        if owner not in self.leases:
            return
        mine = self.leases[owner]
        if self.holder is not None and self.holder.fence == mine.fence:
            lease = self.store.renew_lease(mine, now=self.now, seconds=SECONDS)
            self.holder = self.leases[owner] = lease
            self.chain += self.store.append(
                "ada", [Draft("note", "lease", {"text": ""})], self.stamp, lease=lease
            )
            return
        with pytest.raises(LeaseHeld):
            self.store.renew_lease(mine, now=self.now, seconds=SECONDS)
        with pytest.raises(LeaseHeld):
            self.store.append("ada", [Draft("note", "lease", {})], self.stamp, lease=mine)

    @rule(seconds=st.sampled_from([1, SECONDS - 1, SECONDS + 1]))
    def wait(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @rule()
    def reopen(self) -> None:
        self.store = self.reopened()
        keeping.start(self.ledger, self.kept)

    @rule(segments=st.booleans())
    def verify(self, *, segments: bool) -> None:
        before = self.segments if segments else []
        verdict = verify_store(self.ledger, self.outside, before=before)
        missing = ["deleted"] if self.segments and not segments else []
        assert [finding.attack for finding in verdict.findings] == missing
        assert verdict.entries == len(self.chain)
        # What was rotated away with its tombstone is not told of, unless the segments are read.
        told = {erased.index for erased in verdict.erased}
        assert told == self.erased if segments else told <= self.erased

    @invariant()
    def holds_what_was_accepted(self) -> None:
        assert list(self.store.hashes("ada")) == [entry.hash for entry in self.chain]
        assert self.store.count("ada") == len(self.chain)
        lease = self.store.lease("ada", "consume")
        assert (lease and lease.fence) == (self.holder and self.holder.fence)


class SqliteMachine(Machine):
    def open(self) -> LedgerStore:
        self.folder = TemporaryDirectory()
        return self.reopened()

    def reopened(self) -> LedgerStore:
        if hasattr(self, "database"):
            self.database.close()
        self.database = Database(Path(self.folder.name) / "mentis.db")
        return SqliteLedger(self.database)

    def teardown(self) -> None:
        self.database.close()
        self.folder.cleanup()


class PostgresMachine(Machine):
    url = ""
    schemas = count(1)

    def open(self) -> LedgerStore:
        self.schema = f"machine_{next(self.schemas)}"
        return self.reopened()

    def reopened(self) -> LedgerStore:
        if hasattr(self, "database"):
            self.database.close()
        self.database = PostgresDatabase(self.url, schema=self.schema)
        return PostgresLedger(self.database)

    def teardown(self) -> None:
        self.database.close()


def test_the_whole_ledger_in_postgresql_does_what_a_list_would_do(postgres_url: str) -> None:
    PostgresMachine.url = postgres_url
    few = settings(max_examples=8, stateful_step_count=15, deadline=None)
    run_state_machine_as_test(PostgresMachine, settings=few)


TestSqlite = SqliteMachine.TestCase
TestSqlite.settings = settings(max_examples=15, stateful_step_count=20, deadline=None)
