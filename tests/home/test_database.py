"""A home whose database is gone: nothing stands in for it where a checkpoint has seen more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mentis.errors import RolledBack
from mentis.home.create import create_home
from mentis.loop.aside import open_asides
from mentis.memories.memories import open_memories
from mentis.prompts.cognition import open_cognition
from mentis.prompts.personas import Personas
from mentis.prompts.prompts import Prompts
from mentis.record.record import open_record
from mentis.record.rollback import accept_rollback
from mentis.record.verify_home import verify_home
from mentis.status.statuses import open_statuses
from mentis.values.entry import Draft


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


def add(home: Path) -> None:
    with open_record(home) as record:
        record.ledger.append(record.agent, [Draft("note", "test", {"n": 1})], record.stamp())


def asides(home: Path) -> None:
    with open_asides(home):
        pass


_OPEN: tuple[Callable[[Path], object], ...] = (
    open_record,
    open_memories,
    open_cognition,
    Personas.open,
    Prompts.open,
    asides,
    verify_home,
)


def test_a_database_that_is_gone_is_emptied_to_all_and_made_anew_by_nobody(home: Path) -> None:
    add(home)
    (home / "mentis.db").unlink()
    for look in _OPEN:
        with pytest.raises(RolledBack, match=r"is gone: .* has seen 1 entry .*\(emptied\)"):
            look(home)
    with open_statuses(home) as statuses:
        assert "is gone" in statuses.health().reason
        assert statuses.backend_state().total_entries == 0
    assert not (home / "mentis.db").exists()


def test_what_is_gone_can_be_given_up_and_the_record_goes_on(home: Path) -> None:
    add(home)
    (home / "mentis.db").unlink()
    with open_record(home, anew=True) as record:
        accept_rollback(record, reason="the disk died")
    add(home)
    (verdict,) = verify_home(home)
    assert (verdict.entries, verdict.findings) == (2, ())


def test_a_home_in_which_nothing_was_recorded_begins_its_database(home: Path) -> None:
    (home / "mentis.db").unlink()
    with Personas.open(home):
        assert (home / "mentis.db").exists()
