"""Which ways into the ledger are open, and why not."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mentis.errors import StoreDown, StoreFull
from mentis.ledger.channel.consumer import Consumer
from mentis.ledger.channel.folder import StatusFolder
from mentis.ledger.channel.health import check_health, offline
from mentis.ledger.channel.writer import write_pending
from mentis.stores.memory import LedgerInMemory
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.health import Health
from mentis.values.lease import Lease

MakeConsumer = Callable[..., Consumer]
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def up(health: Health) -> list[str]:
    return [route.route[0] for route in health.routes if route.up]


def test_with_a_store_that_writes_the_direct_ways_are_open(
    store: LedgerInMemory, folder: StatusFolder
) -> None:
    health = check_health("ada", store, folder, now=NOW)
    assert (health.status, up(health), health.persists) == ("GREEN", ["B", "C"], True)
    assert health.routes[0].reason == "nobody holds the lease"
    assert store.agents() == ()


@pytest.mark.parametrize(("role", "routes"), [("watcher", "ABC"), ("monitor", "BCD")])
def test_the_holder_of_the_lease_is_told(
    make_consumer: MakeConsumer,
    store: LedgerInMemory,
    folder: StatusFolder,
    *,
    role: str,
    routes: str,
) -> None:
    make_consumer(f"{role} host:7 x").tenure.begin()
    write_pending(folder, b"{}")
    health = check_health("ada", store, folder, now=NOW)
    assert (health.status, "".join(up(health)), health.waiting) == ("GREEN", routes, 1)
    assert f"{role} host:7 x holds the lease, fence 1" in {r.reason for r in health.routes}


def test_drafts_that_wait_for_nobody_are_yellow(
    store: LedgerInMemory, folder: StatusFolder
) -> None:
    write_pending(folder, b"{}")
    health = check_health("ada", store, folder, now=NOW)
    assert (health.status, health.reason) == (
        "YELLOW",
        "1 draft waiting, and nobody consumes what comes as files",
    )


def test_a_store_that_is_down_is_red_with_the_reason(folder: StatusFolder) -> None:
    class Down(LedgerInMemory):
        def take_lease(
            self, agent: str, purpose: str, owner: str, *, now: datetime, seconds: float
        ) -> Lease:
            raise StoreDown("the server is gone")

    write_pending(folder, b"{}")
    health = check_health("ada", Down(), folder, now=NOW)
    assert (health.status, health.persists, health.waiting) == ("RED", False, 1)
    assert health.reason == "Persistence offline: the server is gone"
    assert {route.reason for route in health.routes} == {"the server is gone"}


def test_a_full_disk_is_seen_although_it_can_be_read(tmp_path: Path, folder: StatusFolder) -> None:
    with Database(tmp_path / "mentis.db") as database:
        store = SqliteLedger(database)
        pages = database.read("PRAGMA page_count")[0][0]
        database.read(f"PRAGMA max_page_count = {pages}")
        # Every free page is used up, but for one where the last change needed two.
        with pytest.raises(StoreFull):
            fill(database)
        health = check_health("x" * 50_000, store, folder, now=NOW)
    assert (health.status, "no space left" in health.reason) == ("RED", True)


def fill(database: Database) -> None:
    while True:
        with database.write() as connection:
            connection.execute("INSERT INTO checkpoints (agent, size, note) VALUES ('x', 0, 'x')")


def test_a_spool_that_cannot_be_written_is_yellow(store: LedgerInMemory, tmp_path: Path) -> None:
    (tmp_path / "status").write_text("in the way", encoding="utf-8")
    health = check_health("ada", store, StatusFolder(tmp_path / "status" / "ada"), now=NOW)
    assert health.status == "YELLOW"
    assert health.reason.startswith("drafts cannot be spooled: ")


def test_a_store_that_cannot_even_be_opened_is_red(folder: StatusFolder) -> None:
    health = offline(StoreDown("nothing listens"), folder)
    assert (health.status, up(health)) == ("RED", [])


def test_a_watcher_that_cannot_record_is_not_counted_as_up(
    make_consumer: MakeConsumer, store: LedgerInMemory, folder: StatusFolder
) -> None:
    make_consumer("watcher host:7 x").tenure.begin()
    write_pending(folder, b"{}")
    folder.fault.write_text("no space left for that one", encoding="utf-8")
    health = check_health("ada", store, folder, now=NOW)
    assert (health.status, up(health)) == ("YELLOW", ["B", "C"])
    assert health.reason == "drafts cannot be recorded: no space left for that one"


def test_what_the_watcher_told_is_never_read_through_a_link(
    make_consumer: MakeConsumer, store: LedgerInMemory, folder: StatusFolder, tmp_path: Path
) -> None:
    secret = tmp_path / "key.pem"
    secret.write_text("PRIVATE")
    make_consumer("watcher host:7 x").tenure.begin()
    folder.fault.symlink_to(secret)
    health = check_health("ada", store, folder, now=NOW)
    assert "it is a link" in health.routes[0].reason
    assert not any("PRIVATE" in route.reason for route in health.routes)


def test_a_pipe_where_the_watcher_tells_its_trouble_keeps_nobody_waiting(
    make_consumer: MakeConsumer, store: LedgerInMemory, folder: StatusFolder
) -> None:
    make_consumer("watcher host:7 x").tenure.begin()
    os.mkfifo(folder.fault)
    health = check_health("ada", store, folder, now=NOW)
    assert "a pipe, not a file" in health.routes[0].reason
