"""What every `LedgerStore` does for whoever reads long: one moment, and nobody waits for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mentis.errors import Defect
from mentis.ports.entries import Stamp
from mentis.ports.ledger_store import LedgerStore
from mentis.stores.sqlite.database import Database
from mentis.values.entry import Draft, Entry
from mentis.values.mark import Mark


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    """Erasing waits no longer than this for whoever reads."""
    with Database(path, busy_seconds=0.01) as database:
        yield database


def note(n: int) -> Draft:
    return Draft("note", "test", {"n": n}, delivery=f"mail-{n}")


def everything(ledger: LedgerStore) -> list[object]:
    return [
        list(ledger.entries("ada")),
        list(ledger.hashes("ada")),
        list(ledger.dropped_deliveries("ada")),
        ledger.checkpoints("ada"),
        ledger.marks("ada", "open"),
        ledger.head("ada"),
        ledger.count("ada"),
        ledger.gaps("ada"),
        ledger.tally("ada"),
        ledger.agents(),
        ledger.find_delivery("ada", "mail-1"),
    ]


def change(ledger: LedgerStore, stamp: Stamp) -> None:
    ledger.append("ada", [note(900)], stamp, marks=[Mark("open", "b", {})])
    ledger.append("bob", [note(1)], stamp)
    ledger.keep_checkpoint("ada", 1, "later")
    tombstone = Draft("erasure", "test", {})
    ledger.erase("ada", 1, ["n", "delivery"], draft=tombstone, stamp=stamp)
    ledger.drop_before("ada", 400)


def test_a_snapshot_stays_as_it_was_whatever_others_write_erase_and_move(
    ledger: LedgerStore, stamp: Stamp
) -> None:
    ledger.append("ada", [note(n) for n in range(600)], stamp, marks=[Mark("open", "a", {})])
    ledger.keep_checkpoint("ada", 600, "note")
    before = everything(ledger)
    with ledger.snapshot() as still:
        reading = still.entries("ada")
        read: list[Entry] = [next(reading)]
        change(ledger, stamp)
        assert [*read, *reading] == before[0]
        assert everything(still) == before
        with still.snapshot() as again:
            assert everything(again) == before
        now = everything(ledger)
        assert now != before
    assert everything(ledger) == now


def test_nothing_is_written_into_a_snapshot(ledger: LedgerStore, stamp: Stamp) -> None:
    ledger.append("ada", [note(1), note(2)], stamp)
    before = everything(ledger)
    with ledger.snapshot() as still:
        with pytest.raises(Defect):
            still.append("ada", [note(3)], stamp)
        with pytest.raises(Defect):
            still.drop_before("ada", 1)
        with pytest.raises(Defect):
            still.keep_checkpoint("ada", 2, "note")
    assert everything(ledger) == before
