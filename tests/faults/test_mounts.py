"""Fault 6: a disk that is mounted read-only, and comes back."""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from mentis.errors import MentisError
from mentis.ledger.verify import verify_chain
from mentis.ports.entries import Stamp
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.entry import Draft

pytestmark = pytest.mark.needs_mount
DRAFT = Draft("note", "test", {"text": "x" * 3000}, delivery="one")


def mount(*arguments: str) -> str | None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    return done.stderr.strip() or "mount failed" if done.returncode else None


@pytest.fixture
def disk(tmp_path: Path) -> Generator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    if reason := mount("-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)):
        pytest.skip(f"mounting is not allowed here: {reason}")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def seal(disk: Path) -> None:
    assert mount("-o", "remount,ro", str(disk)) is None


def unseal(disk: Path) -> None:
    assert mount("-o", "remount,rw", str(disk)) is None


def test_on_a_disk_that_is_read_only_a_start_is_refused_and_reading_and_verifying_work(
    disk: Path, stamp: Stamp
) -> None:
    path = disk / "mentis.db"
    with Database(path) as database:
        SqliteLedger(database).append("ada", [DRAFT], stamp)
    seal(disk)
    with pytest.raises(MentisError), Database(path) as database:
        SqliteLedger(database).append("ada", [DRAFT], stamp)
    with Database(path, readonly=True) as database:
        assert verify_chain("ada", SqliteLedger(database).entries("ada")).entries == 1
    unseal(disk)
    with Database(path) as database:
        SqliteLedger(database).append("ada", [DRAFT], stamp)
        assert SqliteLedger(database).count("ada") == 1
