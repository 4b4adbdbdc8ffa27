"""A consumer with shipped doubles: a fixed clock, counted ids, and a judge that takes notes."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from mentis.ledger.chain import format_time, make_stamp
from mentis.ledger.channel.consumer import Consumer, Refusal
from mentis.ledger.channel.folder import StatusFolder
from mentis.ledger.channel.operations import OperationsLog
from mentis.ledger.tenure import Tenure
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.ports.ledger_store import LedgerStore
from mentis.stores.memory import LedgerInMemory
from mentis.values.entry import Draft

MakeConsumer = Callable[..., Consumer]


def judge(content: bytes) -> Draft | Refusal:
    """Takes any JSON object with a goal."""
    try:
        window: object = json.loads(content)
    except ValueError:
        return Refusal("it is not JSON")
    if not isinstance(window, dict) or "goal" not in window:
        return Refusal("the foundation is missing", ("S2-FIELD-GOAL: there is no goal",))
    return Draft("window", "pending_status_auto", {"window": cast("object", window)})


@pytest.fixture
def folder(tmp_path: Path) -> StatusFolder:
    folder = StatusFolder(tmp_path / "status" / "ada")
    folder.make()
    return folder


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(step=timedelta(milliseconds=1))


@pytest.fixture
def ids() -> CountingIds:
    return CountingIds()


@pytest.fixture
def store() -> LedgerInMemory:
    return LedgerInMemory()


@pytest.fixture
def make_consumer(
    folder: StatusFolder, clock: FixedClock, ids: CountingIds, store: LedgerInMemory
) -> MakeConsumer:
    def make(
        owner: str = "watcher test:1 x", ledger: LedgerStore | None = None, **rest: object
    ) -> Consumer:
        ledger = ledger or store
        parts = {
            "clock": clock,
            "judge": judge,
            "log": OperationsLog(folder.log, lambda: format_time(clock.now())),
            **rest,
        }
        return Consumer(
            agent="ada",
            folder=folder,
            store=ledger,
            stamp=make_stamp(clock.now, ids.salt),
            tenure=Tenure(ledger, clock, agent="ada", owner=owner),
            ids=ids,
            **parts,  # pyright: ignore[reportArgumentType]  # the test's own
        )

    return make


@pytest.fixture
def consumer(make_consumer: MakeConsumer) -> Consumer:
    return make_consumer()
