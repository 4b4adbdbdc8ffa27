"""Accepting a rollback in a home: what it gives up, what it carries on, what goes before it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mentis.errors import BadCheckpoint, RolledBack, StoreDamaged, StoreError, UsageError
from mentis.home.create import create_home
from mentis.ledger import auditor, keeping
from mentis.ledger.checkpoint import sign_checkpoint
from mentis.record import (
    export as record_export,
)
from mentis.record import (
    keys as record_keys,
)
from mentis.record import (
    rollback as record_rollback,
)
from mentis.record import (
    rotation as record_rotation,
)
from mentis.record.record import Record, open_record
from mentis.record.verify_home import verify_home
from mentis.stores.sqlite.database import Database
from mentis.values.checkpoint import Checkpoint
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
        done = record_rollback.accept_rollback(record, reason="disk", checkpoints=checkpoints)
        return done.entry


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


def tear(home: Path, *indexes: int) -> None:
    with Database(home / "mentis.db") as database, database.write() as connection:
        for index in indexes:
            connection.execute("DELETE FROM ledger WHERE idx = ?", (index,))


def test_entries_that_are_missing_between_others_stop_the_start(home: Path) -> None:
    add(home, 3)
    tear(home, 2, 3, 5)
    with pytest.raises(RolledBack, match="entries 2 to 3 are missing between others") as caught:
        add(home, 1)
    assert "1 more" in caught.value.message
    with open_record(home) as record:
        assert record.repair().entry is None
        assert record.store.count(record.agent) == 8


def test_a_gap_that_was_accepted_lets_the_ledger_go_on_and_is_told_for_ever(
    home: Path, tmp_path: Path
) -> None:
    add(home, 3)
    tear(home, 2, 3)
    entry = accept(home)
    assert entry.index == 8
    add(home, 2)
    verdict = verify(home, keep(home, tmp_path / "now.txt"))
    assert ("deleted", 2) in {(one.attack, one.index) for one in verdict.findings}
    assert any("gives up entries 2 to 3" in note for note in verdict.notes)
    with pytest.raises(UsageError, match="nothing was rolled back"):
        accept(home)
    tear(home, 6)
    with pytest.raises(RolledBack, match="entries 6 to 6 are missing"):
        add(home, 1)


def test_a_gap_that_no_checkpoint_has_seen_cannot_be_accepted(home: Path) -> None:
    with open_record(home) as record:
        for n in range(4):
            draft = Draft("note", "test", {"n": n})
            record.store.append(record.agent, [draft], record.stamp())
    tear(home, 7)
    with pytest.raises(StoreDamaged, match="only the first 5"):
        accept(home)


def test_a_gap_and_a_missing_end_cannot_be_accepted(home: Path) -> None:
    tear(home, 2, 4)
    with pytest.raises(StoreDamaged, match="the end is not what the last checkpoint saw"):
        accept(home)


def test_an_anchor_that_is_not_mounted_stops_the_acceptance_of_a_rollback(
    home: Path, tmp_path: Path
) -> None:
    usb = tmp_path / "usb"
    usb.mkdir()
    with open_record(home) as record:
        record_keys.add_anchor(record, f"file:{usb / 'notes.txt'}")
    add(home, 1)
    usb.rename(tmp_path / "gone")
    older_copy(home, 3)
    for _ in range(2):
        with pytest.raises(StoreError, match=r"what is given up cannot be told: .* not there"):
            accept(home)
        usb.mkdir(exist_ok=True)  # the place where it would be mounted
    usb.rmdir()
    (tmp_path / "gone").rename(usb)
    accept(home)
    assert verify(home).findings == ()


def test_an_anchor_that_cannot_be_asked_stops_the_acceptance_or_is_named_in_it(
    home: Path, tmp_path: Path
) -> None:
    anchor = tmp_path / "elsewhere" / "notes.txt"
    anchor.parent.mkdir()
    with open_record(home) as record:
        record_keys.add_anchor(record, f"file:{anchor}")
    anchor.unlink()
    anchor.mkdir()
    older_copy(home, 3)
    with pytest.raises(StoreError, match=r"what is given up cannot be told: anchor file:") as told:
        accept(home)
    assert "--without-anchors" in told.value.hint
    with open_record(home) as record:
        assert record.store.count(record.agent) == 3
        done = record_rollback.accept_rollback(record, reason="disk", without_anchors=True)
    (unread,) = done.unread
    assert "could not be read" in unread
    assert any("without having asked anchor file:" in note for note in verify(home).notes)


def test_checkpoints_of_an_earlier_key_are_believed_at_the_start_where_that_key_was_in_force(
    home: Path,
) -> None:
    with open_record(home) as record:
        before = record.require_sealing().signer()
        record_keys.change_key(record)
    add(home, 1)
    with open_record(home) as record:
        sealed, agent = record.require_sealing(), record.agent
        sealed.folder.kept_file(agent).unlink()
        log, root = sealed.pin.log(agent), "ab" * 32
        late = sign_checkpoint(Checkpoint(log, 7, root), before)
        record.store.keep_checkpoint(agent, 7, late)
        assert keeping.last_seen(record.keeping, None) != Checkpoint(log, 7, root)
        early = sign_checkpoint(Checkpoint(log, 5, root), before)
        with Database(home / "mentis.db") as database, database.write() as connection:
            connection.execute("DELETE FROM checkpoints")
        record.store.keep_checkpoint(agent, 5, early)
        assert keeping.last_seen(record.keeping, None) == Checkpoint(log, 5, root)
    with pytest.raises(RolledBack, match="the first 5 entries are not those"):
        add(home, 1)


# Segments of what was given up


def rotate(home: Path, index: int) -> Path:
    with open_record(home) as record:
        return record_rotation.rotate(record, index).path


def audited(home: Path, path: Path) -> list[object]:
    with open_record(home) as record:
        done = record_export.write_export(record, path)
    pin = done.pin
    told = auditor.audit(str(path), key=pin.public_key, origin=pin.origin, checkpoints=[])
    return list(told["findings"])


@pytest.fixture
def lost(home: Path, tmp_path: Path) -> Path:
    """A segment of a rotation that the database, put back from a backup, knows nothing of."""
    shutil.copy(home / "mentis.db", tmp_path / "backup.db")
    add(home, 5)
    path = rotate(home, 8)
    shutil.copy(tmp_path / "backup.db", home / "mentis.db")
    return path


def test_segments_of_what_was_given_up_are_set_aside_and_the_record_goes_on(
    home: Path, lost: Path, tmp_path: Path
) -> None:
    with open_record(home) as record:
        done = record_rollback.accept_rollback(record, reason="disk")
    (aside,) = done.aside
    assert (aside.parent, aside.name) == (lost.parent, f"given-up-1-{lost.name}")
    assert aside.is_file()
    verdict = verify(home)
    assert verdict.findings == ()
    assert any(f"and {lost.name} (disk)" in note for note in verdict.notes)
    add(home, 6)
    rotate(home, 10)
    verdict = verify(home)
    assert (verdict.findings, verdict.entries) == ((), 13)
    assert any(repr(aside.name) in note for note in verdict.notes)
    with open_record(home) as record:
        assert [record.entry(n).index for n in (2, 7)] == [2, 7]
    assert audited(home, tmp_path / "bundle.zip") == []
    # What both histories began with is erased in both.
    with open_record(home) as record:
        record.erase(2, ["text"], reason="asked for")
        record.erase(7, ["text"], reason="asked for")
    assert "note 2" not in aside.read_text().splitlines()[3]
    assert "note 2" in aside.read_text().splitlines()[8]
    assert verify(home).findings == ()


def test_a_segment_of_the_same_entries_stays_where_it_is(home: Path, tmp_path: Path) -> None:
    shutil.copy(home / "mentis.db", tmp_path / "backup.db")
    path = rotate(home, 3)
    shutil.copy(tmp_path / "backup.db", home / "mentis.db")
    with open_record(home) as record:
        assert record_rollback.accept_rollback(record, reason="disk").aside == ()
    assert path.is_file()
    assert verify(home).findings == ()


def test_nothing_is_moved_out_beside_a_segment_of_another_history(home: Path, lost: Path) -> None:
    """As an acceptance leaves it that was cut short; doing it again sets it aside."""
    stale = lost.read_bytes()
    accept(home)
    lost.write_bytes(stale)
    add(home, 3)
    (finding,) = verify(home).findings
    assert (finding.column, finding.attack) == ("segment", "inserted")
    assert "accept-rollback" in finding.message
    with open_record(home) as record:
        count = record.store.count(record.agent)
        with pytest.raises(StoreDamaged, match="not those of the ledger") as caught:
            record_rotation.rotate(record, 7)
        assert "accept-rollback" in caught.value.hint
        assert record.store.count(record.agent) == count
    with open_record(home) as record:
        done = record_rollback.accept_rollback(record, reason="again")
    assert [path.name for path in done.aside] == [f"given-up-2-{lost.name}"]
    rotate(home, 7)
    assert verify(home).findings == ()
    with pytest.raises(UsageError, match="nothing was rolled back"):
        accept(home)


def test_of_two_segments_the_one_with_the_hashes_that_were_kept_is_read(
    home: Path, lost: Path, tmp_path: Path
) -> None:
    stale = lost.read_bytes()
    accept(home)
    add(home, 8)
    rotate(home, 10)
    lost.write_bytes(stale)
    verdict = verify(home)
    assert [finding.attack for finding in verdict.findings] == ["inserted"]
    assert verdict.entries == 15
    with open_record(home) as record:
        assert record.entry(6).body["text"] == "note 0"
        assert record_rollback.accept_rollback(record, reason="again").aside
    assert audited(home, tmp_path / "bundle.zip") == []


def test_a_planted_segment_is_not_set_aside_where_nothing_was_rolled_back(
    home: Path, lost: Path
) -> None:
    with open_record(home) as record:
        record.require_sealing().folder.kept_file(record.agent).unlink()
    with pytest.raises(UsageError, match="nothing was rolled back"):
        accept(home)
    assert lost.is_file()
