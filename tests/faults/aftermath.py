"""What must hold after anything whatever has happened to a process that appended."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from mentis.ledger.channel.folder import StatusFolder
from mentis.ledger.keeping import LedgerHandle
from mentis.ports.ledger_store import LedgerStore
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.entry import Entry

from .conftest import SEEDED
from .tracing import Told
from .verifying import verify_store
from .victim import BATCH, PIN, append, consumer_of


def check(folder: Path, act: str, told: Told, *, about: object) -> None:
    """Verifies, has all that was acknowledged, nothing twice; and the work can be done again."""
    about = f"{act}, {about}: {told.lines}"
    assert not told.of("bug"), about
    with Database(folder / "mentis.db") as database:
        store = SqliteLedger(database)
        entries = _whole(store, about)
        if act == "erase":
            _check_erased(entries, told, about=about)
        elif act in ("spool", "slot"):
            _check_delivered(store, folder, told, about=about)
        else:
            _check_kept(entries, told, about=about)
            append(store, BATCH if act == "batch" else 1)
            assert [e.delivery for e in _whole(store, about)].count("one-0") == 1, about


def _whole(store: LedgerStore, about: str) -> list[Entry]:
    entries = list(store.entries("ada"))
    verdict = verify_store(LedgerHandle(store, "ada", PIN))
    assert verdict.intact, f"{about} {verdict.findings}"
    times = Counter(entry.delivery for entry in entries if entry.delivery)
    assert set(times.values()) == {1}, about
    assert {f"seed-{n}" for n in range(SEEDED)} <= times.keys(), about
    return entries


def _check_kept(entries: list[Entry], told: Told, *, about: str) -> None:
    new = {entry.delivery for entry in entries if entry.source == "victim"}
    assert told.kept <= new, about
    # Beyond what was acknowledged: nothing, or all of the one append that was on its way.
    assert len(new - told.kept) in {0, 1, BATCH}, about


def _check_erased(entries: list[Entry], told: Told, *, about: str) -> None:
    gone = "text" not in entries[1].body
    assert gone == (entries[-1].kind == "erasure"), about
    assert gone or not told.of("erased"), about


def _check_delivered(store: LedgerStore, folder: Path, told: Told, *, about: str) -> None:
    """A draft that was written becomes one entry, and nothing of it is left over."""
    status = StatusFolder(folder / "status" / "ada")
    assert consumer_of(store, status).consume().fault is None, about
    windows = [entry for entry in _whole(store, about) if entry.kind == "window"]
    assert len(windows) == 1 or (not windows and not told.of("written")), about
    assert (status.waiting(), status.pending.exists()) == ([], False), about
    assert not list(status.quarantine.iterdir()), about
