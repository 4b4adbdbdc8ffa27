"""Bugs of the ledger that the machine found, each as the shortest way to it (fault 26)."""

from __future__ import annotations

import pytest

from mentis.ledger import keeping
from mentis.ledger.keeping import LedgerHandle
from mentis.ledger.signature import encode_key
from mentis.ports.entries import Stamp
from mentis.ports.signer import SeededSigner, Signer
from mentis.stores.memory import LedgerInMemory
from mentis.values.checkpoint import KeptNote, Pin
from mentis.values.entry import Draft, Entry

from .verifying import verify_store

OLD, NEW = SeededSigner(bytes([1] * 32)), SeededSigner(bytes([2] * 32))


def pinned(store: LedgerInMemory, signer: Signer) -> LedgerHandle:
    return LedgerHandle(store, "ada", Pin("example.org/test", encode_key(signer.public)))


@pytest.fixture
def changed(stamp: Stamp) -> LedgerInMemory:
    """Two entries under the old key, its checkpoint, the change, two entries under the new key."""
    store = LedgerInMemory()
    notes = [Draft("note", "test", {"n": n}) for n in range(4)]
    store.append("ada", notes[:2], stamp)
    keeping.change_key(pinned(store, OLD), OLD, NEW, stamp)
    store.append("ada", notes[2:], stamp)
    return store


def rotate(store: LedgerInMemory, index: int) -> list[Entry]:
    _, lines = keeping.seal_segment(pinned(store, NEW), index, NEW)
    assert len(list(lines)) == index + 1
    going = [entry for entry in store.entries("ada") if entry.index < index]
    store.drop_before("ada", index)
    return going


@pytest.mark.parametrize("signer", [OLD, NEW])
def test_rotation_up_to_before_a_change_of_the_key_leaves_a_ledger_that_verifies(
    changed: LedgerInMemory, signer: SeededSigner
) -> None:
    segment = rotate(changed, 1)
    assert verify_store(pinned(changed, signer), before=segment).findings == ()


def test_with_the_change_of_the_key_in_a_segment_old_checkpoints_are_set_apart_and_that_is_said(
    changed: LedgerInMemory,
) -> None:
    segment = rotate(changed, 4)
    alone = verify_store(pinned(changed, NEW))
    assert [finding.attack for finding in alone.findings] == ["deleted"]
    assert any("known only from segments" in note for note in alone.notes)
    together = verify_store(pinned(changed, NEW), before=segment)
    assert together.findings == ()
    assert together.notes == ()


def test_a_key_that_was_given_up_still_signs_nothing_after_its_end(
    changed: LedgerInMemory, stamp: Stamp
) -> None:
    note, _ = keeping.checkpoint(pinned(changed, NEW), OLD)
    verdict = verify_store(pinned(changed, NEW), [KeptNote(note, "elsewhere", outside=True)])
    assert {finding.attack for finding in verdict.findings} == {"forged"}
    assert verdict.vouched == 0
