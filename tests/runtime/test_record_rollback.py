"""Accepting a rollback in a home: what it gives up, what it carries on, what goes before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mentis.errors import BadCheckpoint, UsageError
from mentis.runtime import record_keys, record_rollback
from mentis.runtime.homes import create_home, verify_home
from mentis.runtime.record import Record, open_record
from mentis.stores.sqlite.database import Database
from mentis.values.entry import Draft, Entry, Verdict


def add(home: Path, count: int) -> None:
    with open_record(home) as record:
        for n in range(count):
            draft = Draft("note", "test", {"text": f"note {n}"})
            record.ledger.append(record.agent, [draft], record.stamp())


def older_copy(home: Path, entries: int) -> None:
    """Put the ledger back to where it had so many entries, checkpoints and all."""
    with Database(home / "mentis.db") as database, database.write() as connection:
        connection.execute("DELETE FROM ledger WHERE idx >= ?", (entries,))
        connection.execute("DELETE FROM checkpoints WHERE size > ?", (entries,))


def accept(home: Path, *checkpoints: Path) -> Entry:
    with open_record(home) as record:
        return record_rollback.accept_rollback(record, reason="disk", checkpoints=checkpoints)


def verify(home: Path, *checkpoints: Path) -> Verdict:
    (verdict,) = verify_home(home, checkpoints=checkpoints)
    return verdict


def keep(home: Path, file: Path) -> Path:
    with open_record(home) as record:
        file.write_text(record.checkpoint().note, "utf-8")
    return file


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = create_home(tmp_path / "home")
    add(home, 5)
    return home


def test_a_checkpoint_made_after_the_rollback_is_not_excused_by_it(
    home: Path, tmp_path: Path
) -> None:
    lost = keep(home, tmp_path / "lost.txt")
    older_copy(home, 2)
    accept(home)
    add(home, 1)
    later = keep(home, tmp_path / "later.txt")
    add(home, 4)
    assert verify(home, lost, later).intact
    older_copy(home, 3)
    named = [finding.attack for finding in verify(home, lost, later).findings]
    assert named[:1] == ["truncated"]


def test_a_lost_checkpoint_that_only_somebody_else_kept_is_named_when_it_is_given(
    home: Path, tmp_path: Path
) -> None:
    early = keep(home, tmp_path / "early.txt")
    add(home, 3)
    older_copy(home, 2)
    accept(home)
    assert [finding.attack for finding in verify(home, early).findings] == ["rolled-back"]
    assert accept(home, early).index == 3
    assert verify(home, early).intact
    with pytest.raises(UsageError, match="nothing was rolled back"):
        accept(home)


@pytest.mark.parametrize("entries", [1, 3, 5])
def test_a_rollback_past_changes_of_the_key_leaves_a_ledger_that_verifies(
    home: Path, tmp_path: Path, entries: int
) -> None:
    old = keep(home, tmp_path / "old.txt")
    for _ in range(2):
        with open_record(home) as record:
            record_keys.change_key(record)
        add(home, 2)
    older_copy(home, entries)
    entry = accept(home, old)
    assert entry.index == entries
    add(home, 2)
    now = keep(home, tmp_path / "now.txt")
    verdict = verify(home, old, now)
    assert (verdict.findings, verdict.vouched) == ((), entries + 3)
    # And once more: what the first rollback carried, the second carries on.
    older_copy(home, 1)
    accept(home, old, now)
    add(home, 1)
    assert verify(home, old, now).findings == ()


def test_a_rollback_between_changes_of_the_key_carries_only_what_was_lost(home: Path) -> None:
    for _ in range(2):
        with open_record(home) as record:
            record_keys.change_key(record)
        add(home, 2)
    older_copy(home, 7)
    accept(home)
    add(home, 1)
    assert verify(home).findings == ()


def test_a_rollback_that_was_accepted_twice_carries_each_change_once(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_record(home) as record:
        record_keys.change_key(record)
    older_copy(home, 3)

    def cut_short(_record: Record, _lost: object, _entry: Entry) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(record_rollback, "_carry", cut_short)
        with pytest.raises(KeyboardInterrupt):
            accept(home)
    accept(home)
    add(home, 1)
    assert verify(home).findings == ()


def test_repair_appends_nothing_to_a_ledger_that_was_rolled_back(home: Path) -> None:
    older_copy(home, 3)
    with open_record(home) as record:
        done = record.repair()
        assert record.store.count(record.agent) == 3
    assert done.entry is None
    assert "was rolled back" in done.refusal
    assert [finding.attack for finding in done.verdict.findings] == ["truncated"]
    assert accept(home).index == 3
    assert verify(home).findings == ()


def test_a_file_without_checkpoints_is_no_evidence(home: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("\n", "utf-8")
    with pytest.raises(BadCheckpoint, match="holds no checkpoint"):
        verify(home, empty)
    with open_record(home) as record, pytest.raises(BadCheckpoint, match="holds no checkpoint"):
        record.verify([empty])
