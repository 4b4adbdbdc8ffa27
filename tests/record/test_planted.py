"""What is put into the home by somebody else is neither signed for, shown nor erased from."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mentis.errors import RolledBack, StoreDamaged, UsageError
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ledger import keeping
from mentis.ledger.chain import make_stamp
from mentis.ledger.checkpoint import read_note
from mentis.ledger.records import write_entry
from mentis.ledger.segments import segment_name, write_segment
from mentis.ports.clock import FixedClock
from mentis.record import keys as record_keys
from mentis.record import rotation as record_rotation
from mentis.record.record import Record, open_record
from mentis.record.verify_home import verify_home
from mentis.stores.memory import LedgerInMemory
from mentis.stores.rows import COLUMNS, to_row
from mentis.stores.sqlite.database import Database
from mentis.values.checkpoint import Segment, Standing
from mentis.values.entry import Draft, Entry, Finding

DAY = timedelta(days=1)


@dataclass
class Owned:
    """A home of which each entry is a day older than the next."""

    path: Path
    clock: FixedClock

    @property
    def folder(self) -> Path:
        return self.path / "ledger" / "ada"

    def open(self, persona: str = "ada") -> Record:
        return open_record(self.path, persona, parts=Parts(clock=self.clock))

    def add(self, count: int, persona: str = "ada") -> None:
        with self.open(persona) as record:
            for n in range(count):
                draft = Draft("note", "test", {"text": f"note {n}", "n": n})
                record.ledger.append(record.agent, [draft], record.stamp())

    def rotate(self, index: int) -> Path:
        with self.open() as record:
            return record_rotation.rotate(record, index).path

    def found(self) -> list[Finding]:
        return [finding for verdict in verify_home(self.path) for finding in verdict.findings]

    def change(self, *statements: str) -> None:
        with Database(self.path / "mentis.db") as database, database.write() as connection:
            for statement in statements:
                connection.execute(statement)

    def notes(self) -> list[str]:
        with self.open() as record:
            return [note for _, note in record.checkpoints()]

    def plant(self, first: int, entries: Sequence[Entry], *, last: int | None = None) -> Path:
        end = first + len(entries) - 1 if last is None else last
        segment = Segment("home/ada", first, end, Standing(), "x")
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / segment_name(segment)
        path.write_bytes(b"".join(write_segment(segment, entries)))
        return path


@pytest.fixture
def owned(tmp_path: Path) -> Owned:
    home = create_home(tmp_path / "home")
    marker = home / "mentis.toml"
    marker.write_text(
        marker.read_text().replace("[ledger]\n", "[ledger]\nkeep_segments_days = 1\n")
    )
    owned = Owned(home, FixedClock(datetime(2026, 1, 1, tzinfo=UTC), DAY))
    owned.add(10)
    return owned


def forged(count: int, agent: str = "home/ada") -> list[Entry]:
    """A chain that holds in itself, of a life that never was."""
    clock = FixedClock(datetime(2020, 1, 1, tzinfo=UTC), DAY)
    store, stamp = LedgerInMemory(), make_stamp(clock.now, lambda: bytes(16), clock.uptime)
    drafts = [Draft("note", "test", {"text": f"forged {n}"}) for n in range(count)]
    return list(store.append(agent, drafts, stamp))


def put_hashes(owned: Owned, entries: Sequence[Entry], table: str = "ledger") -> None:
    owned.change(
        *(f"UPDATE {table} SET hash = '{one.hash}' WHERE idx = {one.index}" for one in entries)  # noqa: S608
    )


# Retention


def test_a_planted_segment_makes_nobody_sign_that_entries_were_let_go(owned: Owned) -> None:
    with owned.open() as record:
        old = replace(record.entry(0), time="2020-01-01T00:00:00.000000Z")
    owned.plant(0, [old], last=9)
    owned.add(1)
    with owned.open() as record:
        assert record_rotation.expire(record).entry is None
        assert record.store.count(record.agent) == 11
    (finding,) = owned.found()
    assert (finding.column, finding.attack) == ("segment", "inserted")


def test_a_planted_copy_of_what_was_never_moved_is_not_let_go(owned: Owned) -> None:
    """Neither when somebody has moved the entries out by hand."""
    with owned.open() as record:
        signer = record.require_sealing().signer()
        path = record.segments.write(*keeping.seal_segment(record.signable_ledger(), 4, signer))
    owned.change(
        "INSERT INTO dropped (agent, idx, hash, delivery)"
        " SELECT agent, idx, hash, delivery FROM ledger WHERE idx < 4",
        "DELETE FROM ledger WHERE idx < 4",
    )
    assert owned.found() == []
    with owned.open() as record, pytest.raises(StoreDamaged, match="no signed rotation"):
        record_rotation.expire(record)
    assert path.exists()
    assert "retention" not in [entry.kind for entry in owned_entries(owned)]


def owned_entries(owned: Owned) -> list[Entry]:
    with owned.open() as record:
        return list(record.store.entries(record.agent))


def test_copies_of_a_rotation_that_was_cut_short_are_said_and_go_with_the_rest(
    owned: Owned,
) -> None:
    with owned.open() as record:
        signer = record.require_sealing().signer()
        copy = record.segments.write(*keeping.seal_segment(record.signable_ledger(), 4, signer))
    (verdict,) = verify_home(owned.path)
    assert verdict.findings == ()
    assert any("entries 0 to 3 in it are a copy" in note for note in verdict.notes)
    moved = owned.rotate(5)
    with owned.open() as record:
        record.erase(2, ["text"], reason="asked for")
    assert not any("note 2" in file.read_text() for file in (copy, moved))
    assert owned.found() == []
    with owned.open() as record:
        assert set(record_rotation.expire(record).files) == {copy, moved}
    assert owned.found() == []


# What is signed


def test_rotation_signs_no_hashes_that_were_put_over_sealed_ones(owned: Owned) -> None:
    put_hashes(owned, forged(5))
    before = owned.notes()
    with owned.open() as record, pytest.raises(StoreDamaged, match="are not those"):
        record_rotation.rotate(record, 5)
    assert owned.notes() == before


def test_an_anchor_is_told_what_was_compared(owned: Owned, tmp_path: Path) -> None:
    put_hashes(owned, forged(9))
    with owned.open() as record:
        kept = record.require_sealing().folder.kept_checkpoint(record.agent)
        made = record_keys.add_anchor(record, f"file:{tmp_path / 'anchor.txt'}")
    assert kept is not None
    assert read_note(made.note).checkpoint == read_note(kept.note).checkpoint


def with_bob(owned: Owned) -> None:
    shutil.copytree(owned.path / "personas" / "ada", owned.path / "personas" / "bob")
    owned.add(5, "bob")


def test_a_change_of_the_key_is_refused_while_another_agent_was_rewritten(owned: Owned) -> None:
    with_bob(owned)
    owned.change(
        "DELETE FROM ledger WHERE agent = 'home/bob'",
        "DELETE FROM checkpoints WHERE agent = 'home/bob'",
    )
    marks = ", ".join("?" * len(COLUMNS))
    with Database(owned.path / "mentis.db") as database, database.write() as connection:
        connection.executemany(
            f"INSERT INTO ledger ({', '.join(COLUMNS)}) VALUES ({marks})",  # noqa: S608
            [to_row(entry) for entry in forged(5, "home/bob")],
        )
    with owned.open("ada") as record:
        before = record.require_sealing().pin
        with pytest.raises(RolledBack, match="home/bob"):
            record_keys.change_key(record)
        assert record.store.count("home/bob") == 5
        assert record.require_sealing().folder.changing_to() is None
    with owned.open("ada") as record:
        assert record.require_sealing().pin == before


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE ledger SET source = 'x' WHERE agent = 'home/bob' AND idx = 1",
        "DELETE FROM ledger WHERE agent = 'home/bob'",
    ],
    ids=["an early entry edited", "all of it gone"],
)
def test_a_change_of_the_key_is_refused_unless_every_agent_verifies(
    owned: Owned, change: str
) -> None:
    with_bob(owned)
    owned.change(change)
    with owned.open("ada") as record, pytest.raises((StoreDamaged, RolledBack), match="home/bob"):
        record_keys.change_key(record)
    assert "key" not in [entry.kind for entry in owned_entries(owned)]


def test_with_sound_agents_the_key_changes_for_all_of_them(owned: Owned) -> None:
    with_bob(owned)
    with owned.open("ada") as record:
        _, entries = record_keys.change_key(record)
    assert [entry.agent for entry in entries] == ["home/ada", "home/bob"]
    assert owned.found() == []


# Erasing and showing


def test_entries_that_changed_places_in_a_segment_are_not_erased_for_each_other(
    owned: Owned,
) -> None:
    path = owned.rotate(8)
    honest = path.read_bytes()
    lines = honest.splitlines(keepends=True)
    lines[2], lines[7] = lines[7], lines[2]
    path.write_bytes(b"".join(lines))
    count = len(owned_entries(owned))
    with owned.open() as record, pytest.raises(StoreDamaged, match="not in its place"):
        record.erase(1, ["text"], reason="asked for")
    assert len(owned_entries(owned)) == count
    assert owned.found()[0].index == 1


@pytest.mark.parametrize("bent", ["body", "hash", "short", "long"])
def test_a_segment_that_is_not_what_was_moved_is_neither_shown_nor_erased_from(
    owned: Owned, bent: str
) -> None:
    path = owned.rotate(5)
    lines = path.read_bytes().splitlines(keepends=True)
    if bent == "body":
        lines[3] = lines[3].replace(b"note 2", b"note X")
    elif bent == "hash":
        lines[3] = write_entry(replace(forged(3)[2], index=2))
    elif bent == "short":
        del lines[3:]
    else:
        lines.append(write_entry(replace(forged(6)[5], index=5)))
    path.write_bytes(b"".join(lines))
    count = len(owned_entries(owned))
    if bent != "long":
        with owned.open() as record, pytest.raises(StoreDamaged):
            record.entry(2)
        with owned.open() as record, pytest.raises(StoreDamaged):
            record.erase(2, ["text"], reason="asked for")
        assert len(owned_entries(owned)) == count
    assert owned.found()


def test_a_segment_of_entries_that_never_were_shows_nothing_and_is_named(owned: Owned) -> None:
    owned.plant(500, [replace(forged(1)[0], index=500)])
    with owned.open() as record, pytest.raises(UsageError, match="no entry 500"):
        record.entry(500)
    (finding,) = owned.found()
    assert (finding.index, finding.column, finding.attack) == (500, "segment", "inserted")


def test_a_segment_planted_where_entries_were_let_go_is_named_and_not_believed(
    owned: Owned,
) -> None:
    owned.rotate(5)
    with owned.open() as record:
        assert len(record_rotation.expire(record).files) == 1
    owned.plant(0, forged(4))
    (finding,) = owned.found()
    assert (finding.column, finding.attack) == ("segment", "inserted")
    count = len(owned_entries(owned))
    with owned.open() as record, pytest.raises(StoreDamaged, match="not the one"):
        record.entry(2)
    # Also with the kept hashes made to fit, no tombstone is signed.
    put_hashes(owned, forged(4), "dropped")
    with owned.open() as record, pytest.raises(StoreDamaged, match="are not those"):
        record.erase(2, ["text"], reason="asked for")
    assert len(owned_entries(owned)) == count


def test_segments_of_others_and_under_other_names_are_named(owned: Owned) -> None:
    path = owned.rotate(5)
    head = path.read_bytes().splitlines()[0]
    other = {**json.loads(head), "agent": "home/bob"}
    (owned.folder / "segment-7.jsonl").write_bytes(path.read_bytes())
    (owned.folder / "segment-8.jsonl").write_text(json.dumps(other) + "\n")
    (owned.folder / "readme.txt").write_text("mine")
    (verdict,) = verify_home(owned.path)
    assert [finding.attack for finding in verdict.findings] == ["inserted", "inserted"]
    assert {"segment-7.jsonl", "segment-8.jsonl"} == {
        finding.message.partition(":")[0] for finding in verdict.findings
    }
    assert any("'readme.txt'" in note for note in verdict.notes)
