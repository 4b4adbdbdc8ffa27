"""A ledger in memory with a key, and the ways in which somebody with the file could change it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import chain

import pytest

from mentis.ledger import keeping
from mentis.ledger.chain import commit_field, hash_entry, make_stamp
from mentis.ledger.checkpoint import sign_checkpoint
from mentis.ledger.keeping import LedgerHandle
from mentis.ledger.merkle import tree_of
from mentis.ledger.segments import read_segment
from mentis.ledger.signature import encode_key
from mentis.ledger.verify import verify_chain
from mentis.ports.clock import FixedClock
from mentis.ports.entries import Stamp
from mentis.ports.ids import CountingIds
from mentis.ports.signer import SeededSigner, Signer
from mentis.record.verify import VerifyEvidence, verify_agent
from mentis.stores.memory import LedgerInMemory
from mentis.values.checkpoint import Checkpoint, KeptNote, Pin, WitnessKey, WitnessPolicy
from mentis.values.entry import Draft, Entry, Verdict

ORIGIN = "example.org/test"


def new_stamp() -> Stamp:
    return make_stamp(FixedClock(step=timedelta(seconds=1)).now, CountingIds().salt)


@dataclass
class Ledger:
    """Agent `ada`, with its key; `entries` can be changed as an attacker would."""

    signer: Signer = field(default_factory=SeededSigner)
    stamp: Stamp = field(default_factory=new_stamp)
    store: LedgerInMemory = field(default_factory=LedgerInMemory)
    agent: str = "ada"
    sealed: list[Entry] = field(default_factory=list[Entry])  # what was rotated into segments

    @property
    def pin(self) -> Pin:
        return Pin(ORIGIN, encode_key(self.signer.public))

    @property
    def keeping(self) -> LedgerHandle:
        return LedgerHandle(self.store, self.agent, self.pin)

    @property
    def entries(self) -> list[Entry]:
        return [*self.sealed, *self.store.entries(self.agent)]

    def add(self, *drafts: Draft) -> tuple[Entry, ...]:
        return self.store.append(self.agent, drafts, self.stamp)

    def fill(self, count: int) -> None:
        start = self.store.count(self.agent)
        for n in range(start, start + count):
            body = {"text": f"entry {n}", "n": n}
            self.add(Draft("note", "test", body, delivery=f"mail-{n}"))

    def rotate(self, index: int) -> None:
        """Move what is before `index` into a segment, which is read from then on."""
        segment, lines = keeping.seal_segment(self.keeping, index, self.signer)
        self.sealed += read_segment(list(lines))[1]
        keeping.record_rotation(self.keeping, segment, self.signer, self.stamp)
        self.store.drop_before(self.agent, index)

    def note(
        self, size: int | None = None, *, signer: Signer | None = None, origin: str = ORIGIN
    ) -> str:
        hashes = [entry.hash for entry in self.entries][:size]
        says = Checkpoint(f"{origin}/{self.agent}", len(hashes), tree_of(hashes).root.hex())
        return sign_checkpoint(says, signer or self.signer)

    def verify(
        self,
        entries: Iterable[Entry] | None = None,
        *,
        local: Sequence[str] = (),
        outside: Sequence[str] = (),
        witnesses: Sequence[WitnessKey] = (),
        quorum: int = 0,
    ) -> Verdict:
        notes = [KeptNote(note, "here", outside=False) for note in local]
        notes += [KeptNote(note, "elsewhere", outside=True) for note in outside]
        read = self.entries if entries is None else entries
        pin = replace(self.pin, policy=WitnessPolicy(tuple(witnesses), quorum))
        return verify_chain(self.agent, read, pin=pin, notes=notes)


def verify_store(
    ledger: LedgerHandle, outside: Iterable[KeptNote] = (), *, before: Iterable[Entry] | None = None
) -> Verdict:
    """As `mentis status verify` does it; `before` are entries of segments."""
    if before is None:
        asked = VerifyEvidence(pin=ledger.pin, outside=tuple(outside))
        return verify_agent(ledger.agent, ledger.store, ledger.store, asked)
    own = [
        KeptNote(note, "the ledger", outside=False)
        for _, note in ledger.store.checkpoints(ledger.agent)
    ]
    read = chain(before, ledger.store.entries(ledger.agent))
    return verify_chain(ledger.agent, read, pin=ledger.pin, notes=[*own, *outside])


def rechained(entries: Iterable[Entry], start: int) -> list[Entry]:
    """The chain with every link and hash from `start` on made to fit again."""
    chain: list[Entry] = []
    for index, entry in enumerate(entries):
        if index >= start:
            prev = chain[-1].hash if chain else None
            fields = {
                name: commit_field(name, value, bytes.fromhex(entry.salts[name]))
                for name, value in entry.body.items()
            }
            bent = replace(entry, index=index, prev=prev, fields={**entry.fields, **fields})
            chain.append(replace(bent, hash=hash_entry(bent)))
        else:
            chain.append(entry)
    return chain


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()
