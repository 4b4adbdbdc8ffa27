"""A ledger in a file as a killed process left it, and processes that can be made to fail on it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

from mentis.ledger.chain import make_stamp
from mentis.ports.clock import FixedClock
from mentis.ports.entries import Stamp
from mentis.ports.ids import CountingIds
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.entry import Draft

from .tracing import Victims, need_tracing, victims

SEEDED = 3
NewFolder = Callable[[], Path]


def first_then_slow(first: object, *others: object) -> list[object]:
    """Cases of one kind: the first is run by `make test`, the others by `make slow`."""
    return [first, *(pytest.param(other, marks=pytest.mark.slow) for other in others)]


@pytest.fixture
def stamp() -> Stamp:
    return make_stamp(FixedClock(step=timedelta(seconds=1)).now, CountingIds().salt)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mentis.db"


@pytest.fixture
def seed(tmp_path: Path, stamp: Stamp) -> Path:
    """Three entries: two in the database, one only in the -wal file."""
    folder, left = tmp_path / "open", tmp_path / "seed"
    folder.mkdir()
    with Database(folder / "mentis.db") as database:
        ledger = SqliteLedger(database)
        for n in range(SEEDED):
            draft = Draft("note", "seed", {"text": f"{n} " * 500}, delivery=f"seed-{n}")
            ledger.append("ada", [draft], stamp)
            if n == 1:
                database.fold()
        shutil.copytree(folder, left)  # nobody writes just now, so this is what a kill leaves
    (left / "mentis.db-shm").unlink()
    return left


@pytest.fixture
def new_folder(seed: Path, tmp_path: Path) -> NewFolder:
    """A fresh copy of the seed each time it is called."""
    numbers = count()

    def copy() -> Path:
        folder = tmp_path / f"f{next(numbers):04d}"
        return Path(shutil.copytree(seed, folder))

    return copy


@pytest.fixture
def traced(tmp_path: Path) -> Generator[Victims]:
    need_tracing()
    with victims(tmp_path) as ready:
        yield ready


@pytest.fixture
def untraced(tmp_path: Path) -> Generator[Victims]:
    with victims(tmp_path) as ready:
        yield ready
