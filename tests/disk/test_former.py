from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mentis.disk.former import kept_former
from mentis.errors import StoreError


def test_files_go_back_to_what_they_were_and_new_ones_go(tmp_path: Path) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text("old")
    with kept_former([old, new]) as former:
        old.unlink()
        old.write_text("changed")
        new.write_text("made")
        former.restore()
    assert old.read_text() == "old"
    assert list(tmp_path.iterdir()) == [old]


def test_a_change_that_stands_leaves_nothing_behind(tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    file.write_text("old")
    with kept_former([file]):
        file.unlink()
        file.write_text("new")
    assert file.read_text() == "new"
    assert list(tmp_path.iterdir()) == [file]


def test_going_back_needs_no_space(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("needs the right to mount a file system")
    try:
        file = disk / "file.json"
        file.write_text("x" * 100_000)
        with kept_former([file]) as former:
            file.unlink()
            file.write_text("y" * 100_000)
            subprocess.run(["dd", "if=/dev/zero", f"of={disk}/filler"], check=False)
            former.restore()
        assert file.read_text() == "x" * 100_000
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_file_that_cannot_be_kept_is_an_error_before_anything_changes(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError), kept_former([tmp_path / "file" / "inner.json"]):
        pass


def test_going_back_that_fails_says_what_is_left(tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    file.write_text("old")
    with kept_former([file]) as former:
        file.unlink()
        file.mkdir()
        (file / "in the way").write_text("")
        with pytest.raises(StoreError, match="revision could not be stored"):
            former.restore()
