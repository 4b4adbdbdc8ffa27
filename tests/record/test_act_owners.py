"""Who began an act is a lease where the record is on a server: so the dead elsewhere are found."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from mentis.disk import processes
from mentis.errors import LeaseHeld
from mentis.ledger.chain import make_stamp
from mentis.ledger.tenure import SECONDS
from mentis.ports.clock import SettableClock
from mentis.ports.ids import CountingIds
from mentis.record.act_owners import LeasedOwners
from mentis.stores.postgres.database import PostgresDatabase
from mentis.stores.postgres.ledger import PostgresLedger
from mentis.values.entry import Draft

AGENT = "home/ada"


@pytest.fixture
def ledger(postgres_url: str) -> Iterator[PostgresLedger]:
    with PostgresDatabase(postgres_url, schema="act_owners") as database:
        yield PostgresLedger(database)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def owners(ledger: PostgresLedger, clock: SettableClock) -> LeasedOwners:
    return LeasedOwners(ledger, clock, AGENT)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """What enters meanwhile is a process of another machine."""
    with monkeypatch.context() as patch:
        patch.setattr(processes, "_machine", lambda: "another-machine")
        yield patch


def test_each_process_that_acts_has_a_name_of_its_own_until_it_leaves(owners: LeasedOwners) -> None:
    one, two = owners.enter("a"), owners.enter("b")
    assert (one.name.partition(".")[0], two.name.partition(".")[0]) == ("lease-1", "lease-2")
    assert owners.alive(one.name)
    one.close()
    assert (owners.alive(one.name), owners.alive(two.name)) == (False, True)
    again = owners.enter("c")
    assert again.name.startswith("lease-1.")
    assert (again.name != one.name, owners.alive(one.name)) == (True, False)
    two.close()
    again.close()


def test_one_of_another_machine_is_gone_when_its_lease_has_run_out(
    owners: LeasedOwners, clock: SettableClock, elsewhere: pytest.MonkeyPatch
) -> None:
    far = owners.enter("far")
    elsewhere.undo()
    assert owners.alive(far.name)
    clock.pass_by(timedelta(seconds=SECONDS + 1))
    assert not owners.alive(far.name)
    far.close()


def test_who_was_taken_for_gone_begins_nothing_more_when_it_wakes(
    ledger: PostgresLedger,
    owners: LeasedOwners,
    clock: SettableClock,
    elsewhere: pytest.MonkeyPatch,
) -> None:
    frozen = owners.enter("frozen")
    elsewhere.undo()
    clock.pass_by(timedelta(seconds=SECONDS + 1))
    looking = LeasedOwners(ledger, clock, AGENT, judging=False)
    assert (looking.alive(frozen.name), frozen.is_lost()) == (False, False)
    assert (owners.alive(frozen.name), frozen.is_lost()) == (False, True)
    stamp = make_stamp(clock.now, CountingIds().salt)
    with pytest.raises(LeaseHeld):
        ledger.append(AGENT, [Draft("note", "test", {})], stamp, lease=frozen.lease)
    frozen.close()


def test_a_name_of_an_older_version_is_not_judged(owners: LeasedOwners) -> None:
    assert owners.alive("place.id")
