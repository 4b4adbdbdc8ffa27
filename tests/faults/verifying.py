"""Verification as `mentis status verify` does it, of a store alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mentis.ledger.keeping import LedgerHandle
from mentis.ledger.verify import verify_chain
from mentis.record.verify import VerifyEvidence, verify_agent
from mentis.values.checkpoint import KeptNote
from mentis.values.entry import Entry, Verdict


def verify_store(
    ledger: LedgerHandle, outside: Iterable[KeptNote] = (), *, before: Sequence[Entry] = ()
) -> Verdict:
    """`before` are the entries of segments; without them the store speaks alone."""
    store, agent = ledger.store, ledger.agent
    if not before:
        asked = VerifyEvidence(pin=ledger.pin, outside=tuple(outside))
        return verify_agent(agent, store, store, asked)
    own = [KeptNote(note, "the ledger", outside=False) for _, note in store.checkpoints(agent)]
    read = [*before, *store.entries(agent)]
    return verify_chain(agent, read, pin=ledger.pin, notes=[*own, *outside])
