from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from mentis.library.integrity import ASIDE, validate_integrity
from mentis.values.digest import digest

from .conftest import MANIFEST, Desk


def test_a_sound_home_has_every_file_checked_and_nothing_kept(desk: Desk) -> None:
    desk.own("mine")
    desk.editor.toggle("style")
    found = validate_integrity(desk.shelf)
    assert found.sound
    assert found.checked == ("_meta/overrides.json", MANIFEST, "mine.json")
    assert found.kept_aside == ()
    assert not (desk.root / ASIDE).exists()


def test_a_broken_file_is_copied_aside_once_and_named_with_its_place(desk: Desk) -> None:
    desk.own("mine")
    desk.write("mine.json", '{\n  "mine": oops\n}')
    content = (desk.root / "mine.json").read_bytes()
    found = validate_integrity(desk.shelf)
    (problem,) = found.problems
    assert str(problem.location) == f"{desk.root}/mine.json:2:11"
    short = digest(content).removeprefix("sha256:")[:8]
    assert found.kept_aside == (f"{ASIDE}/mine.json.{short}",)
    assert (desk.root / found.kept_aside[0]).read_bytes() == content
    assert (desk.root / "mine.json").read_bytes() == content
    assert (
        problem.hint == f"correct the file at this place; a copy is kept in {found.kept_aside[0]}"
    )
    assert not found.sound
    assert validate_integrity(desk.shelf).kept_aside == found.kept_aside
    assert len(list((desk.root / ASIDE).iterdir())) == 1


def test_mending_the_file_brings_its_blocks_back_and_keeps_the_copy(desk: Desk) -> None:
    desk.own("mine")
    good = (desk.root / "mine.json").read_bytes()
    desk.write("mine.json", "{")
    assert "mine" not in desk.ids()
    validate_integrity(desk.shelf)
    desk.write("mine.json", good)
    assert validate_integrity(desk.shelf).sound
    assert desk.text("mine") == "Mine."
    assert len(list((desk.root / ASIDE).iterdir())) == 1


def test_a_wrong_entry_needs_no_copy_since_edits_keep_it(desk: Desk) -> None:
    desk.write(MANIFEST, {"version": "2.0", "prompts": {"style": {"order": "x"}, "odd": 5}})
    found = validate_integrity(desk.shelf)
    assert len(found.problems) == 2
    assert found.kept_aside == ()


def test_links_that_lead_out_and_folders_are_not_copied(desk: Desk, tmp_path: Path) -> None:
    desk.own("mine")
    (tmp_path / "secret").write_text("secret")
    (desk.root / "link.json").symlink_to(tmp_path / "secret")
    (desk.root / "folder.json").mkdir()
    found = validate_integrity(desk.shelf)
    assert len(found.problems) == 2
    assert found.kept_aside == ()


def test_where_no_copy_can_be_kept_that_is_a_warning(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write("mine.json", "{")

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "mkdir", refuse)
    found = validate_integrity(desk.shelf)
    assert [problem.severity for problem in found.problems] == ["error", "warning"]
    assert "no copy of this broken file could be kept" in found.problems[1].message


def test_a_file_that_is_too_large_is_kept_aside_too(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "prompts", max_file_bytes=10)
    desk.write("mine.json", '{"mine": {"variants": {}}}')
    (kept,) = validate_integrity(desk.shelf).kept_aside
    assert (desk.root / kept).read_bytes() == (desk.root / "mine.json").read_bytes()
