"""Drafts as files: whole, unique, and never over one another."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from threading import Barrier, local

import pytest

from mentis.codec.canon import MAX_BYTES
from mentis.disk.lock import folder_lock
from mentis.errors import BadInput, OutsideHome, StoreConflict, StoreError, StoreLocked
from mentis.ledger.channel import writer
from mentis.ledger.channel.folder import StatusFolder, delivery_of
from mentis.ledger.channel.writer import write_draft, write_pending
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds


def test_a_draft_is_spooled_as_it_is_under_a_name_of_its_own(
    folder: StatusFolder, clock: FixedClock, ids: CountingIds
) -> None:
    names = [write_draft(folder, b'{"n": 1}', clock=clock, ids=ids) for _ in range(3)]
    assert [delivery_of(name) for name in folder.waiting()] == names
    assert (folder.spool / folder.waiting()[0]).read_bytes() == b'{"n": 1}'
    assert stat.S_IMODE(folder.spool.stat().st_mode) == 0o700


def test_the_folders_are_made_where_they_are_missing(
    tmp_path: Path, clock: FixedClock, ids: CountingIds
) -> None:
    folder = StatusFolder(tmp_path / "home" / "status" / "ada")
    write_draft(folder, b"{}", clock=clock, ids=ids)
    assert len(folder.waiting()) == 1


def test_a_delivery_of_ones_own_is_its_name_and_sending_it_again_changes_nothing(
    folder: StatusFolder, clock: FixedClock, ids: CountingIds
) -> None:
    for _ in range(2):
        assert write_draft(folder, b"{}", clock=clock, ids=ids, delivery="task-7") == "task-7"
    assert [delivery_of(name) for name in folder.waiting()] == ["task-7"]


def test_a_delivery_that_waits_with_another_content_is_not_overwritten(
    folder: StatusFolder, clock: FixedClock, ids: CountingIds
) -> None:
    write_draft(folder, b"{}", clock=clock, ids=ids, delivery="task-7")
    with pytest.raises(StoreConflict, match="`task-7` waits"):
        write_draft(folder, b"[]", clock=clock, ids=ids, delivery="task-7")
    (kept,) = folder.spool.iterdir()
    assert kept.read_bytes() == b"{}"


@pytest.mark.parametrize("source", [None, "editor"])
def test_of_two_writers_with_one_delivery_and_two_contents_one_is_told_of_the_conflict(
    folder: StatusFolder,
    clock: FixedClock,
    ids: CountingIds,
    *,
    source: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both have looked, and found nothing, before either draft has its name."""
    looked, synced, sync = Barrier(2), local(), os.fsync

    def wait_for_the_other(descriptor: int) -> None:
        if not hasattr(synced, "once"):
            synced.once = True
            looked.wait(timeout=60)
        sync(descriptor)

    def write(content: bytes, source: str | None) -> bytes:
        write_draft(folder, content, clock=clock, ids=ids, delivery="d", source=source)
        return content

    monkeypatch.setattr(os, "fsync", wait_for_the_other)
    with ThreadPoolExecutor(2) as pool:
        sent = [pool.submit(write, b"{}", None), pool.submit(write, b"[]", source)]
    told = [one.exception() for one in sent]
    assert [type(one) for one in told if one] == [StoreConflict]
    (kept,) = folder.spool.iterdir()
    (won,) = (one.result() for one in sent if not one.exception())
    assert kept.read_bytes().endswith(won)


def test_two_writers_with_the_same_draft_are_both_served_and_one_file_waits(
    folder: StatusFolder, clock: FixedClock, ids: CountingIds
) -> None:
    with ThreadPoolExecutor(8) as pool:
        sent = [
            pool.submit(write_draft, folder, b"{}", clock=clock, ids=ids, delivery="d")
            for _ in range(16)
        ]
    assert {one.result() for one in sent} == {"d"}
    assert len(list(folder.spool.iterdir())) == 1


def test_drafts_wait_in_the_order_they_were_written_whatever_they_are_called(
    folder: StatusFolder, ids: CountingIds
) -> None:
    clock = FixedClock()
    for name in ("zz", "20990101", "bb", "aa"):
        write_draft(folder, b"{}", clock=clock, ids=ids, delivery=name)
    assert [delivery_of(name) for name in folder.waiting()] == ["zz", "20990101", "bb", "aa"]


def test_a_clock_that_is_set_back_changes_no_order(folder: StatusFolder, ids: CountingIds) -> None:
    (folder.spool / "by-hand.json").write_bytes(b"{}")
    sent = ["by-hand"]
    for year in (2099, 2026, 1980, 2100, 2026):
        clock = FixedClock(datetime(year, 1, 1, tzinfo=UTC))
        sent.append(write_draft(folder, b"{}", clock=clock, ids=ids))
    assert [delivery_of(name) for name in folder.waiting()] == sent


@pytest.mark.parametrize("number", ["9" * 20, "8" + "9" * 19])
def test_the_highest_number_a_name_can_have_takes_no_order_away(
    folder: StatusFolder, clock: FixedClock, ids: CountingIds, number: str
) -> None:
    (folder.spool / f"{number}.x.json").write_bytes(b"{}")
    for name in ("c-first", "b-second", "a-third"):
        write_draft(folder, b"{}", clock=clock, ids=ids, delivery=name)
    waiting = [delivery_of(name) for name in folder.waiting()]
    assert [name for name in waiting if name != "x"] == ["c-first", "b-second", "a-third"]
    assert waiting.index("x") in (0, 3)


def test_a_spool_that_somebody_holds_for_good_is_told_and_nothing_is_written(
    folder: StatusFolder, clock: FixedClock, ids: CountingIds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_TURN_SECONDS", 0.0)
    with folder_lock(folder.spool, seconds=0), pytest.raises(StoreLocked, match="another process"):
        write_draft(folder, b"{}", clock=clock, ids=ids)
    assert list(folder.spool.iterdir()) == []
    write_draft(folder, b"{}", clock=clock, ids=ids)


def test_a_pipe_under_the_name_of_a_delivery_is_not_waited_for(
    folder: StatusFolder, clock: FixedClock, ids: CountingIds
) -> None:
    os.mkfifo(folder.spool / "task-7.json")
    with pytest.raises(StoreConflict):
        write_draft(folder, b"{}", clock=clock, ids=ids, delivery="task-7")


@pytest.mark.parametrize(
    "delivery",
    [
        "../x",
        "/etc/x",
        "a/b",
        "a\\b",
        "A",
        "x" * 129,
        "-x",
        ".x",
        "a\x00",
        "a.b",
        "ä",
        "\uff0e\uff0e",
        "x ",
    ],
)
def test_a_delivery_that_could_lead_anywhere_is_refused(
    folder: StatusFolder, clock: FixedClock, ids: CountingIds, delivery: str
) -> None:
    with pytest.raises(BadInput, match="cannot be the id of a delivery"):
        write_draft(folder, b"{}", clock=clock, ids=ids, delivery=delivery)
    assert folder.waiting() == []


def test_the_slot_holds_the_last_draft(folder: StatusFolder) -> None:
    write_pending(folder, b"one")
    write_pending(folder, b"two")
    assert folder.pending.read_bytes() == b"two"


def test_a_draft_that_is_too_large_is_refused_before_it_is_written(
    folder: StatusFolder, clock: FixedClock, ids: CountingIds
) -> None:
    with pytest.raises(BadInput, match="more than"):
        write_draft(folder, b"x" * (MAX_BYTES + 1), clock=clock, ids=ids)
    with pytest.raises(BadInput, match="more than"):
        write_pending(folder, b"x" * (MAX_BYTES + 1))
    assert (folder.waiting(), folder.pending.exists()) == ([], False)


def test_a_file_where_the_folder_should_be_is_reported(
    tmp_path: Path, clock: FixedClock, ids: CountingIds
) -> None:
    (tmp_path / "status").write_text("in the way", encoding="utf-8")
    with pytest.raises(StoreError, match="cannot be written"):
        write_draft(StatusFolder(tmp_path / "status" / "ada"), b"{}", clock=clock, ids=ids)


def test_a_listing_that_misses_a_draft_does_not_put_a_later_one_before_it(
    folder: StatusFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"{number:020}.{name}.json" for number, name in enumerate("dcba")]
    listings = [[names[2]], names]

    def listed(path: Path) -> Iterator[Path]:
        return (path / name for name in listings.pop(0))

    monkeypatch.setattr(Path, "iterdir", listed)
    # The fourth came after the first look, and one of its own writer may still be unseen.
    assert folder.waiting() == names[:3]


@pytest.mark.parametrize("name", ["spool", "quarantine"])
def test_a_folder_that_is_a_link_is_refused(
    folder: StatusFolder, tmp_path: Path, name: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder.path.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder.path / name, ignore_errors=True)
    (folder.path / name).symlink_to(elsewhere)
    with pytest.raises(OutsideHome):
        write_pending(folder, b"{}")
    assert list(elsewhere.iterdir()) == []
