"""Fault 7: clocks that go back, jump ahead, or stand still, and a lease that lives by them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mentis.errors import LeaseHeld
from mentis.ledger.chain import make_stamp
from mentis.ledger.verify import verify_chain
from mentis.ports.ids import CountingIds
from mentis.stores.memory import LedgerInMemory
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.entry import Draft

NOW = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)
JUMPS = st.lists(st.timedeltas(timedelta(days=-400), timedelta(days=400)), max_size=12)


@given(jumps=JUMPS)
@settings(max_examples=25)
def test_however_the_clock_jumps_times_only_rise_and_each_step_back_is_recorded(
    jumps: list[timedelta],
) -> None:
    read: list[datetime] = []

    def jumping() -> datetime:
        moment = NOW + (jumps[len(read)] if len(read) < len(jumps) else timedelta(0))
        read.append(moment)
        return moment

    with TemporaryDirectory() as folder, Database(Path(folder) / "mentis.db") as database:
        ledger = SqliteLedger(database)
        stamp = make_stamp(jumping, CountingIds().salt)
        for n in range(len(jumps) + 1):
            ledger.append("ada", [Draft("note", "test", {"n": n})], stamp)
        entries = list(ledger.entries("ada"))
    times = [entry.time for entry in entries]
    assert times == sorted(times)
    back = [n for n, moment in enumerate(read) if n and moment < max(read[:n])]
    assert [entry.index for entry in entries if "clock" in entry.body] == back
    verdict = verify_chain("ada", entries)
    assert verdict.intact
    assert bool(verdict.notes) == bool(back)


def test_a_lease_outlives_a_clock_that_goes_back_and_ends_with_one_that_jumps_ahead() -> None:
    store, stamp = LedgerInMemory(), make_stamp(lambda: NOW, CountingIds().salt)
    first = store.take_lease("ada", "consume", "first", now=NOW, seconds=30)
    earlier = NOW - timedelta(hours=2)
    assert store.take_lease("ada", "consume", "second", now=earlier, seconds=30).owner == "first"
    later = NOW + timedelta(hours=2)
    second = store.take_lease("ada", "consume", "second", now=later, seconds=30)
    assert (second.owner, second.fence) == ("second", first.fence + 1)
    # The first wakes up with the old lease, and a clock that says it still runs.
    with pytest.raises(LeaseHeld):
        store.renew_lease(first, now=NOW, seconds=30)
    with pytest.raises(LeaseHeld):
        store.append("ada", [Draft("note", "test", {})], stamp, lease=first)
