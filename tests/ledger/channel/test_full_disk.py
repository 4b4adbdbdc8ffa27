"""A disk that is really full, under the database and then under the spool too."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Generator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mentis.errors import StoreError, StoreFull
from mentis.ledger.channel.consumer import Consumer
from mentis.ledger.channel.folder import StatusFolder, delivery_of
from mentis.ledger.channel.health import check_health
from mentis.ledger.channel.writer import write_draft
from mentis.ledger.verify import verify_chain
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LARGE = json.dumps({"goal": "x" * 40_000}).encode()
pytestmark = pytest.mark.needs_mount


def mount(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["mount", "-t", "tmpfs", *arguments], capture_output=True, text=True, check=False
    )


@pytest.fixture
def small_disk(tmp_path: Path) -> Generator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    done = mount("-o", "size=512k", "tmpfs", str(disk))
    if done.returncode:
        pytest.skip(f"mounting is not allowed here: {done.stderr.strip()}")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def use_up(disk: Path) -> None:
    """Whatever a large draft left, to the last byte."""
    with (disk / "ballast").open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"x" * 512):
            pass


def grow(disk: Path) -> None:
    assert mount("-o", "remount,size=64m", "tmpfs", str(disk)).returncode == 0


def test_drafts_wait_while_the_database_has_no_space_and_drain_when_it_has(
    small_disk: Path,
    folder: StatusFolder,
    make_consumer: Callable[..., Consumer],
    *,
    clock: FixedClock,
    ids: CountingIds,
) -> None:
    sent = [write_draft(folder, LARGE, clock=clock, ids=ids) for _ in range(20)]
    with Database(small_disk / "mentis.db") as database:
        store = SqliteLedger(database)
        consumer = make_consumer(ledger=store)
        first = consumer.consume()
        assert isinstance(first.fault, StoreError)
        assert 0 < len(first.added) < len(sent)
        assert sent[len(first.added) :] == list(map(delivery_of, folder.waiting()))
        use_up(small_disk)
        health = check_health("x" * 200_000, store, folder, now=NOW)
        assert health.status == "RED"
        assert health.reason.startswith("Persistence offline: ")
        assert verify_chain("ada", store.entries("ada")).entries == len(first.added)

        grow(small_disk)
        second = consumer.consume()
        assert second.fault is None
        assert [entry.delivery for entry in store.entries("ada")] == sent
        assert verify_chain("ada", store.entries("ada")).intact
        assert check_health("x" * 200_000, store, folder, now=NOW).status == "GREEN"


def test_a_spool_without_space_refuses_the_draft_and_leaves_nothing_half_written(
    small_disk: Path, clock: FixedClock, ids: CountingIds
) -> None:
    folder = StatusFolder(small_disk / "status" / "ada")
    kept: list[str] = []

    def fill() -> None:
        while True:
            kept.append(write_draft(folder, LARGE, clock=clock, ids=ids))

    with pytest.raises(StoreFull):
        fill()
    assert list(map(delivery_of, folder.waiting())) == kept
    assert all(path.read_bytes() == LARGE for path in folder.spool.iterdir())
