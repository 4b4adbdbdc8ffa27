"""Every store port by each of its implementations: the contract suites run on all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from mentis.ledger.chain import make_stamp
from mentis.ports.clock import FixedClock
from mentis.ports.entries import Stamp
from mentis.ports.ids import CountingIds
from mentis.ports.ledger_store import LedgerStore
from mentis.ports.memory_store import MemoryStore
from mentis.ports.revisions import Revisions
from mentis.ports.state_store import StateStore
from mentis.stores.memory import (
    LedgerInMemory,
    MemoriesInMemory,
    RevisionsInMemory,
)
from mentis.stores.postgres.database import PostgresDatabase
from mentis.stores.postgres.ledger import PostgresLedger
from mentis.stores.postgres.memories import PostgresMemories
from mentis.stores.postgres.revisions import PostgresRevisions
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.stores.sqlite.memories import SqliteMemories
from mentis.stores.sqlite.revisions import SqliteRevisions
from mentis.stores.states import States

_SCHEMAS = count(1)


@pytest.fixture
def stamp() -> Stamp:
    return make_stamp(FixedClock(step=timedelta(seconds=1)).now, CountingIds().salt)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mentis.db"


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    with Database(path) as database:
        yield database


@pytest.fixture
def schema() -> str:
    return f"test_{next(_SCHEMAS)}"


@pytest.fixture
def postgres(postgres_url: str, schema: str) -> Iterator[PostgresDatabase]:
    with PostgresDatabase(postgres_url, schema=schema) as database:
        yield database


@pytest.fixture(params=[LedgerInMemory, SqliteLedger, PostgresLedger])
def ledger(request: pytest.FixtureRequest) -> LedgerStore:
    return _made(request)


@pytest.fixture(params=[MemoriesInMemory, SqliteMemories, PostgresMemories])
def memories(request: pytest.FixtureRequest) -> MemoryStore:
    return _made(request)


@pytest.fixture
def states(revisions: Revisions) -> StateStore:
    return States(revisions, FixedClock())


@pytest.fixture(params=[RevisionsInMemory, SqliteRevisions, PostgresRevisions])
def revisions(request: pytest.FixtureRequest) -> Revisions:
    return _made(request)


def _made(request: pytest.FixtureRequest) -> Any:  # noqa: ANN401 - as many ports as fixtures
    make: Callable[..., object] = request.param
    for module, fixture in (("sqlite", "database"), ("postgres", "postgres")):
        if make.__module__.startswith(f"mentis.stores.{module}"):
            return make(request.getfixturevalue(fixture))
    return make()
