"""One at a time at something, by a lease: who holds it, dies with it, or cannot give it back."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from mentis.errors import LeaseHeld, StoreDown
from mentis.ports.clock import FixedClock
from mentis.record.leases import entered, holder_of, leased
from mentis.stores.memory import LedgerInMemory
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.lease import Lease

HOLDER = """
import sys
from pathlib import Path
from mentis.home.system import SystemClock
from mentis.record.leases import leased
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
with Database(Path(sys.argv[1])) as database:
    with leased(SqliteLedger(database), SystemClock(), "home/ada", "run"):
        print("held", flush=True)
        input()
"""


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqliteLedger]:
    with Database(tmp_path / "mentis.db") as database:
        yield SqliteLedger(database)


def test_it_is_held_for_the_length_of_the_block_and_for_one_purpose(ledger: SqliteLedger) -> None:
    clock = FixedClock()
    with leased(ledger, clock, "home/ada", "run"):
        with leased(ledger, clock, "home/ada", "tick"), leased(ledger, clock, "home/bob", "run"):
            pass
        with pytest.raises(LeaseHeld) as caught, leased(ledger, clock, "home/ada", "run"):
            pass
    since = clock.now().isoformat(timespec="seconds")
    assert holder_of(caught.value) == f"process {os.getpid()} since {since}"
    with leased(ledger, clock, "home/ada", "run"):
        pass


def test_who_was_killed_is_replaced_at_once_and_who_lives_is_not(
    ledger: SqliteLedger, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "mentis.db")]
    late = FixedClock(step=timedelta(days=300))
    with subprocess.Popen(
        command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(LeaseHeld, match="home/ada"), leased(ledger, late, "home/ada", "run"):
            pass
        holder.kill()
    with leased(ledger, FixedClock(), "home/ada", "run"):
        lease = ledger.lease("home/ada", "run")
        assert lease is not None
        assert lease.fence == 2


class Alarms:
    """What would ring, rung by hand."""

    def __init__(self) -> None:
        self.ring: Callable[[], None] | None = None
        self.set = 0

    def __call__(self, seconds: float, ring: Callable[[], None]) -> Callable[[], None]:
        self.set += 1
        self.ring = ring
        return lambda: None


def test_it_is_renewed_for_other_machines_until_the_block_ends(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store, alarms = LedgerInMemory(), Alarms()
    clock = FixedClock(step=timedelta(seconds=20))
    with leased(store, clock, "ada", "run", alarm=alarms):
        before = store.lease("ada", "run")
        assert before is not None
        assert alarms.ring is not None
        alarms.ring()
        after = store.lease("ada", "run")
        assert after is not None
        assert (after.end > before.end, after.fence, alarms.set) == (True, before.fence, 2)
    alarms.ring()
    assert (store.lease("ada", "run"), alarms.set, caplog.records) == (None, 2, [])


def test_that_another_machine_took_it_is_told(caplog: pytest.LogCaptureFixture) -> None:
    store, alarms = LedgerInMemory(), Alarms()
    with leased(store, FixedClock(step=timedelta(seconds=20)), "ada", "run", alarm=alarms):
        mine = store.lease("ada", "run")
        assert mine is not None
        store.release_lease(mine)
        now = FixedClock().now()
        theirs = store.take_lease("ada", "run", "run elsewhere:1 x", now=now, seconds=30)
        assert alarms.ring is not None
        with caplog.at_level(logging.WARNING):
            alarms.ring()
    assert "is lost: run elsewhere:1 x has it now" in caplog.text
    assert (store.lease("ada", "run"), alarms.set) == (theirs, 1)


def test_what_cannot_be_given_back_is_told_and_free_for_this_process(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Down(LedgerInMemory):
        down = False

        def release_lease(self, lease: Lease) -> None:
            if self.down:
                raise StoreDown("the server is gone")
            super().release_lease(lease)

    store = Down()
    with leased(store, FixedClock(), "ada", "tick"):
        store.down = True
    assert "not given back: the server is gone" in caplog.text
    store.down = False
    with leased(store, FixedClock(), "ada", "tick"):
        pass


async def test_who_is_cancelled_meanwhile_gives_it_back(ledger: SqliteLedger) -> None:
    with anyio.CancelScope() as scope:
        async with entered(leased(ledger, FixedClock(), "ada", "tick")):
            scope.cancel()
            await anyio.lowlevel.checkpoint()
    assert ledger.lease("ada", "tick") is None


async def test_who_is_refused_holds_nothing(ledger: SqliteLedger) -> None:
    with ExitStack() as stack:
        stack.enter_context(leased(ledger, FixedClock(), "ada", "tick"))
        held = ledger.lease("ada", "tick")
        with pytest.raises(LeaseHeld):
            async with entered(leased(ledger, FixedClock(), "ada", "tick")):
                pass
        assert ledger.lease("ada", "tick") == held
