"""Drafts as files: whole, unique, and never over one another."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from mentis.errors import BadInput, OutsideHome, StoreConflict, StoreError
from mentis.ledger.canon import MAX_BYTES
from mentis.ledger.channel.folder import StatusFolder, delivery_of
from mentis.ledger.channel.writer import write_draft, write_pending
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds


def test_a_draft_is_spooled_as_it_is_under_a_name_of_its_own(
    folder: StatusFolder, clock: FixedClock, ids: CountingIds
) -> None:
    names = [write_draft(folder, b'{"n": 1}', clock=clock, ids=ids) for _ in range(3)]
    assert folder.waiting() == [f"{name}.json" for name in names]
    assert [delivery_of(name) for name in folder.waiting()] == names
    assert (folder.spool / f"{names[0]}.json").read_bytes() == b'{"n": 1}'
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
    assert folder.waiting() == ["task-7.json"]


def test_a_delivery_that_waits_with_another_content_is_not_overwritten(
    folder: StatusFolder, clock: FixedClock, ids: CountingIds
) -> None:
    write_draft(folder, b"{}", clock=clock, ids=ids, delivery="task-7")
    with pytest.raises(StoreConflict, match="`task-7` waits"):
        write_draft(folder, b"[]", clock=clock, ids=ids, delivery="task-7")
    assert (folder.spool / "task-7.json").read_bytes() == b"{}"


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
    listings = [["3.json"], ["1.json", "2.json", "3.json", "4.json"]]

    def listed(path: Path) -> Iterator[Path]:
        return (path / name for name in listings.pop(0))

    monkeypatch.setattr(Path, "iterdir", listed)
    # The fourth came after the first look, and one of its own writer may still be unseen.
    assert folder.waiting() == ["1.json", "2.json", "3.json"]


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
