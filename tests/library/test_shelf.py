from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mentis.errors import StoreLocked
from mentis.library import owner_files, shelf
from mentis.library.load import load_shipped
from mentis.library.owner_files import PENDING
from mentis.library.shelf import Shelf
from mentis.values.digest import digest

from .conftest import MANIFEST, Desk, text_of


def test_a_home_without_prompts_has_the_shipped_library(tmp_path: Path) -> None:
    loaded = Shelf(tmp_path / "none").current()
    assert loaded.library == load_shipped()
    assert loaded.problems == ()
    assert not (tmp_path / "none").exists()


def test_as_long_as_no_file_changes_the_snapshot_is_the_same_object(desk: Desk) -> None:
    desk.own("mine")
    loaded = desk.shelf.current()
    assert desk.shelf.current() is loaded
    desk.write("mine.json", {"mine": text_of("Other.")})
    assert desk.shelf.current() is not loaded
    assert loaded.library.block("mine") != desk.block("mine")


def test_no_file_is_read_again_that_did_not_change(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mine", "other"):
        desk.own(name)
    for path in desk.root.rglob("*.json"):
        os.utime(path, ns=(10**18, 10**18))
    desk.shelf.current()
    read: list[str] = []
    real = owner_files.parse_members

    def record(content: bytes, file: str) -> object:
        read.append(Path(file).name)
        return real(content, file)

    monkeypatch.setattr(owner_files, "parse_members", record)
    desk.shelf.current()
    assert read == []
    desk.write("mine.json", {"mine": text_of("New.")})
    assert desk.text("mine") == "New."
    assert set(read) == {"mine.json"}


def test_a_file_that_comes_or_goes_is_seen(desk: Desk) -> None:
    desk.own("mine")
    assert "mine" in desk.ids()
    (desk.root / MANIFEST).unlink()
    assert "mine" not in desk.ids()
    desk.own("mine")
    assert "mine" in desk.ids()


def test_a_change_within_one_tick_of_the_file_system_is_seen(desk: Desk) -> None:
    desk.own("mine", "One")
    path = desk.root / "mine.json"
    desk.shelf.current()
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b"One", b"Two"))  # same inode, same size
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert desk.text("mine") == "Two"


def test_readers_see_a_change_that_was_cut_short_as_finished(desk: Desk) -> None:
    desk.own("mine", "One")
    desk.own("other", "Old")
    old = {name: digest((desk.root / name).read_bytes()) for name in ("mine.json", "other.json")}
    desk.write(".mine.json.aaaaaaaa.tmp", {"mine": text_of("Two")})
    files = {
        "mine.json": {"temporary": ".mine.json.aaaaaaaa.tmp", "old": old["mine.json"]},
        "other.json": {"temporary": None, "old": "sha256:somebody was here"},
        "style.json": {"temporary": None, "old": None},
    }
    desk.write(PENDING, json.dumps({"version": "1.0", "files": files}))
    assert desk.text("mine") == "Two"
    assert desk.text("other") == "Old"
    assert desk.problems() == []
    desk.editor.toggle("mood")  # the next edit finishes it
    assert "Two" in (desk.root / "mine.json").read_text()
    assert not (desk.root / PENDING).exists()
    assert list(desk.root.glob(".*.tmp")) == []


def test_a_damaged_journal_is_a_problem_and_the_files_count(desk: Desk) -> None:
    desk.own("mine")
    desk.write(PENDING, "{")
    assert desk.text("mine") == "Mine."
    assert "this is not the journal of a change" in "".join(desk.problems())


def test_files_that_never_stand_still_leave_the_last_whole_snapshot(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.own("mine")
    loaded = desk.shelf.current()
    count = iter(range(10_000))

    def restless(_: Path) -> dict[str, tuple[int, int, int, int]]:
        return {"mine.json": (next(count), 0, 0, 0)}

    monkeypatch.setattr(shelf, "scan", restless)
    assert desk.shelf.current() is loaded
    with pytest.raises(StoreLocked, match="change faster"):
        Shelf(desk.root).current()


def test_a_shipped_layer_of_ones_own_takes_the_place_of_the_packaged_one(desk: Desk) -> None:
    assert desk.ids() == ["law", "style", "mood", "talk"]
    assert desk.shelf.current().library.revision != load_shipped().revision
