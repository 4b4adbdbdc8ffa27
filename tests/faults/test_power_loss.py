"""Faults 2 and 3: the power goes. What was not synced is gone, torn, or there in another order."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from mentis.errors import MentisError
from mentis.ledger import keeping
from mentis.ledger.keeping import LedgerHandle
from mentis.ports.entries import Stamp
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.entry import Draft

from .conftest import first_then_slow
from .recording import RecordedDatabase, Tape, disks_after
from .verifying import verify_store
from .victim import PIN, SIGNER


def record(path: Path, stamp: Stamp) -> tuple[Tape, list[int]]:
    """A life on tape; with each acknowledgement how many entries there were."""
    tape, sizes = Tape(), [0]

    def acknowledge(ledger: SqliteLedger) -> None:
        sizes.append(ledger.count("ada"))
        tape.mark()

    with RecordedDatabase(path, tape) as database:
        ledger = SqliteLedger(database)
        kept = LedgerHandle(ledger, "ada", PIN)
        for n in range(3):
            ledger.append("ada", [Draft("note", "test", {"text": f"{n} " * 1500})], stamp)
            acknowledge(ledger)
        ledger.append("ada", [Draft("note", "test", {"n": n}) for n in range(10)], stamp)
        acknowledge(ledger)
        keeping.erase(kept, 1, reason="asked", signer=SIGNER, stamp=stamp)  # also folds
        acknowledge(ledger)
        for n in range(2):  # the log begins anew, over what was in it
            ledger.append("ada", [Draft("note", "test", {"after": n})], stamp)
            acknowledge(ledger)
    return tape, sizes


@pytest.mark.parametrize("number", first_then_slow(*range(3)))
def test_after_a_power_loss_at_any_moment_every_acknowledged_entry_is_there(
    tmp_path: Path, stamp: Stamp, number: int
) -> None:
    tape, sizes = record(tmp_path / "mentis.db", stamp)
    assert {event.kind for event in tape.events} == {"write", "cut", "sync", "remove", "mark"}
    for moment in range(number, len(tape.events) + 1, 3):
        assert lost_at(tape, sizes, moment, tmp_path / "disk") == []


def test_without_its_syncs_the_same_tape_does_lose_entries(tmp_path: Path, stamp: Stamp) -> None:
    """The test above can fail: this is the build it is there to catch."""
    tape, sizes = record(tmp_path / "mentis.db", stamp)
    written = [n for n, event in enumerate(tape.events) if event.kind == "mark"][3]
    careless = Tape([event for event in tape.events[: written + 1] if event.kind != "sync"])
    assert lost_at(careless, sizes, len(careless.events), tmp_path / "disk")


def lost_at(tape: Tape, sizes: list[int], moment: int, folder: Path) -> list[str]:
    """Which of the disks that may be left then break a promise, and how."""
    done = tape.acknowledged(moment)
    allowed = range(sizes[done], sizes[min(done + 1, len(sizes) - 1)] + 1)
    broken: list[str] = []
    chance = random.Random(moment)  # noqa: S311 - repeatable on purpose
    for way, disk in enumerate(disks_after(tape, moment, chance)):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, content in disk.items():
            (folder / name).write_bytes(content)
        found = survivors(folder / "mentis.db")
        if found not in allowed:
            broken.append(f"moment {moment}, way {way}: {found}, not {allowed}")
    return broken


def survivors(path: Path) -> int | str:
    """How many entries there are; or what is wrong."""
    try:
        with Database(path) as database:
            verdict = verify_store(LedgerHandle(SqliteLedger(database), "ada", PIN))
            damage = database.read("PRAGMA integrity_check")
    except MentisError as error:
        return error.message
    if verdict.findings or damage != [("ok",)]:
        return f"{verdict.findings} {damage}"
    return verdict.entries
