"""Faults 3, 13, 20, 23, 24: files that are damaged, exchanged, or copied at a bad moment."""

from __future__ import annotations

import random
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from mentis.errors import MentisError, RolledBack
from mentis.ledger import keeping
from mentis.ledger.keeping import LedgerHandle
from mentis.ports.entries import Stamp
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.checkpoint import KeptCheckpoint, KeptNote
from mentis.values.entry import Draft, Entry, Verdict

from .conftest import first_then_slow
from .tracing import Victims
from .verifying import verify_store
from .victim import PIN, SIGNER

PAGE, SECTOR = 8192, 512


def fill(path: Path, stamp: Stamp, count: int, *, name: str = "mail") -> tuple[list[Entry], str]:
    """Entries, and a checkpoint of all of them that is kept elsewhere."""
    with Database(path) as database:
        ledger = SqliteLedger(database)
        drafts = [
            Draft("note", "test", {"text": f"{name} {n} " * (3 + n * 9)}, delivery=f"{name}-{n}")
            for n in range(count)
        ]
        entries = list(ledger.append("ada", drafts, stamp))
        note, _ = keeping.checkpoint(LedgerHandle(ledger, "ada", PIN), SIGNER)
        return entries, note


def leave_log(path: Path, to: Path, stamp: Stamp) -> KeptCheckpoint:
    """What a killed process leaves: one more entry that is only in the -wal file."""
    with Database(path) as database:
        ledger = SqliteLedger(database)
        ledger.append("ada", [Draft("note", "test", {"last": True})], stamp)
        kept = KeptCheckpoint(*keeping.checkpoint(LedgerHandle(ledger, "ada", PIN), SIGNER))
        for name in ("mentis.db", "mentis.db-wal"):
            shutil.copy(path.with_name(name), to / name)
    return kept


def verdict_of(path: Path, outside: str | None = None) -> Verdict | MentisError:
    notes = [KeptNote(outside, "elsewhere", outside=True)] if outside else []
    try:
        with Database(path) as database:
            return verify_store(LedgerHandle(SqliteLedger(database), "ada", PIN), notes)
    except MentisError as error:
        return error


def is_told(verdict: Verdict | MentisError) -> bool:
    return isinstance(verdict, MentisError) or not verdict.intact


@pytest.mark.parametrize("seed", first_then_slow(*range(3)))
def test_a_flipped_bit_in_any_page_is_told_or_changes_nothing(
    tmp_path: Path, stamp: Stamp, seed: int
) -> None:
    path, copy = tmp_path / "mentis.db", tmp_path / "copy.db"
    entries, note = fill(path, stamp, 30)
    sound = path.read_bytes()
    chance = random.Random(seed)  # noqa: S311 - repeatable on purpose
    told = 0
    page = int.from_bytes(sound[16:18], "big")  # as the file itself says
    assert page == PAGE
    # Between them the runs bend each sector once, and the head of each page, where the tree is
    # held together.
    sectors = range(seed * SECTOR, len(sound), 3 * SECTOR)
    places = [start + chance.randrange(SECTOR) for start in sectors]
    places += [start + chance.randrange(40) for start in range(0, len(sound), page)]
    for at in places:
        bent = bytearray(sound)
        bent[at] ^= 1 << chance.randrange(8)
        copy.write_bytes(bent)
        verdict = verdict_of(copy, note)
        told += is_told(verdict)
        assert is_told(verdict) or still(copy) == entries, f"byte {at}"
    assert told


def still(path: Path) -> list[Entry]:
    """As they stand there, each found by its delivery as well."""
    with Database(path) as database:
        ledger = SqliteLedger(database)
        entries = list(ledger.entries("ada"))
        found = [ledger.find_delivery("ada", entry.delivery or "") for entry in entries]
        return [entry for entry, again in zip(entries, found, strict=True) if entry == again]


def test_a_log_cut_or_garbled_at_its_end_loses_whole_entries_and_the_checkpoint_tells(
    tmp_path: Path, stamp: Stamp
) -> None:
    path, left = tmp_path / "mentis.db", tmp_path / "left"
    left.mkdir()
    entries, _ = fill(path, stamp, 5)
    kept = leave_log(path, left, stamp)
    log = (left / "mentis.db-wal").read_bytes()
    for at in range(0, len(log), 509):
        for tail in (b"", b"\xff" * (len(log) - at)):
            folder = tmp_path / "torn"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(left, folder)
            (folder / "mentis.db-wal").write_bytes(log[:at] + tail)
            alone = verdict_of(folder / "mentis.db")
            assert isinstance(alone, Verdict)
            assert (alone.intact, alone.entries) in {(True, 5), (True, 6)}
            with_note = verdict_of(folder / "mentis.db", kept.note)
            assert is_told(with_note) == (alone.entries == 5)
    assert len(entries) == 5


def test_a_log_that_is_gone_is_told_by_the_checkpoint_and_the_start_is_refused(
    tmp_path: Path, stamp: Stamp
) -> None:
    path, left = tmp_path / "mentis.db", tmp_path / "left"
    left.mkdir()
    fill(path, stamp, 5)
    kept = leave_log(path, left, stamp)
    (left / "mentis.db-wal").unlink()
    found = verdict_of(left / "mentis.db", kept.note)
    assert isinstance(found, Verdict)
    assert [(f.index, f.attack) for f in found.findings] == [(5, "rolled-back")]
    with Database(left / "mentis.db") as database:
        ledger = LedgerHandle(SqliteLedger(database), "ada", PIN)
        with pytest.raises(RolledBack):
            keeping.start(ledger, kept)
        # Nobody can tell without a checkpoint from outside, and that is said.
        alone = verify_store(ledger)
    assert alone.intact
    assert "cannot be seen" in alone.completeness


def test_the_log_of_another_database_is_told(tmp_path: Path, stamp: Stamp) -> None:
    left, other = tmp_path / "left", tmp_path / "other"
    seen: list[str] = []
    for folder, name, count in ((left, "mail", 5), (other, "post", 9)):
        folder.mkdir()
        work = tmp_path / f"work-{name}"
        work.mkdir()
        fill(work / "mentis.db", stamp, count, name=name)
        seen.append(leave_log(work / "mentis.db", folder, stamp).note)
    shutil.copy(other / "mentis.db-wal", left / "mentis.db-wal")
    assert is_told(verdict_of(left / "mentis.db", seen[0]))


def test_a_copy_made_while_it_is_written_is_a_beginning_of_it_or_is_told(
    tmp_path: Path, untraced: Victims, stamp: Stamp
) -> None:
    path, copy = tmp_path / "mentis.db", tmp_path / "copy.db"
    fill(path, stamp, 3)
    copies: list[tuple[bytes, bytes]] = []

    def copy_both() -> None:
        main, log = path.read_bytes(), b""
        with suppress(FileNotFoundError):  # it goes with the last one who has the database open
            log = path.with_name("mentis.db-wal").read_bytes()
        copies.append((main, log))

    untraced.run("busy", tmp_path, meanwhile=copy_both)
    whole = [entry.hash for entry in still(path)]
    seen: set[int] = set()
    for main, log in copies:
        copy.write_bytes(main)
        copy.with_name("copy.db-wal").write_bytes(log)
        verdict = verdict_of(copy)
        if not is_told(verdict):
            hashes = [entry.hash for entry in still(copy)]
            assert hashes == whole[: len(hashes)]
            seen.add(len(hashes))
    assert seen, "no copy could be read at all"


def test_garbage_in_the_index_of_the_log_is_not_believed(tmp_path: Path, stamp: Stamp) -> None:
    path, left = tmp_path / "mentis.db", tmp_path / "left"
    left.mkdir()
    fill(path, stamp, 5)
    kept = leave_log(path, left, stamp)
    (left / "mentis.db-shm").write_bytes(b"\xa5" * 32768)
    verdict = verdict_of(left / "mentis.db", kept.note)
    assert isinstance(verdict, Verdict)
    assert (verdict.intact, verdict.entries) == (True, 6)


def test_writes_that_really_end_half_way_are_told_and_can_be_done_again(
    tmp_path: Path, untraced: Victims, stamp: Stamp
) -> None:
    fill(tmp_path / "mentis.db", stamp, 2)
    told = untraced.run("short", tmp_path)
    assert (told.status, told.of("bug")) == (0, [])
    assert len(told.of("refused")) == len(told.of("kept")) == 22
    verdict = verdict_of(tmp_path / "mentis.db")
    assert isinstance(verdict, Verdict)
    assert (verdict.intact, verdict.entries) == (True, 2 + 1 + 22)


def test_the_largest_entry_there_may_be_goes_in_and_one_byte_more_stays_out(
    path: Path, stamp: Stamp
) -> None:
    with Database(path) as database:
        ledger = SqliteLedger(database)
        largest = 1024 * 1024 - len('{"text":""}')
        ledger.append("ada", [Draft("note", "test", {"text": "x" * largest})], stamp)
        too_large = Draft("note", "test", {"text": "x" * (largest + 1)})
        with pytest.raises(MentisError, match="1048576"):
            ledger.append("ada", [too_large], stamp)
        assert verify_store(LedgerHandle(ledger, "ada", PIN)).entries == 1
