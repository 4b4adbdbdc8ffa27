from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mentis.disk.inside import inside
from mentis.disk.lock import write_lock
from mentis.errors import HomeUnwritable, OutsideHome, StoreError, StoreLocked


@pytest.mark.parametrize("name", ["plain.json", "_meta/user.json", "a/b/c.json"])
def test_a_name_inside_the_folder_is_a_path(tmp_path: Path, name: str) -> None:
    assert inside(tmp_path, name) == tmp_path / name


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../x", "a/..", "nul\0byte"])
def test_a_name_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(OutsideHome):
        inside(tmp_path, name)


def test_a_link_that_leads_out_is_refused_and_so_is_a_loop(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "out").symlink_to(tmp_path)
    (root / "loop").symlink_to(root / "loop")
    with pytest.raises(OutsideHome):
        inside(root, "out/file")
    with pytest.raises(OutsideHome):
        inside(root, "loop/file")


@pytest.mark.parametrize(
    ("links", "name"),
    [
        ({"loop": "loop"}, "loop"),
        ({"a": "b", "b": "a"}, "a/file"),
        ({"a": "missing/../a"}, "a"),
        ({"late": "../later"}, "late"),
        ({"late": "../later"}, "late/file"),
        ({"late": "missing/../../later"}, "late"),
        ({"first": "second", "second": "../later"}, "first/file"),
        ({"late": "file/../../later"}, "late"),
    ],
)
def test_a_link_that_ends_nowhere_or_in_what_is_yet_to_come_outside_is_refused(
    tmp_path: Path, links: dict[str, str], name: str
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "file").touch()
    for link, target in links.items():
        (root / link).symlink_to(target)
    with pytest.raises(OutsideHome):
        inside(root, name)


def test_a_link_to_what_is_yet_to_come_inside_is_a_path(tmp_path: Path) -> None:
    (tmp_path / "late").symlink_to("folder/later")
    assert inside(tmp_path, "late/file") == tmp_path / "late/file"


def test_a_link_behind_a_path_too_long_to_look_at_is_refused(
    tmp_path: Path, long_way_out: Callable[[Path, str], Path]
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret").write_text("outside")
    link = long_way_out(root, "secret")
    assert link.read_text() == "outside"
    with pytest.raises(OutsideHome):
        inside(root, link.name)


def test_a_folder_that_may_not_be_looked_into_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str) -> os.stat_result:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(os, "lstat", refuse)
        with pytest.raises(HomeUnwritable, match="Permission denied"):
            inside(tmp_path, "closed/file")


HOLD = """
import sys
from pathlib import Path
from mentis.disk.lock import write_lock
with write_lock(Path(sys.argv[1]), seconds=0):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_lock_another_process_holds_is_named(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(lock)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreLocked, match="another process"), write_lock(lock, seconds=0):
            pass
        holder.communicate("")
    with write_lock(lock, seconds=0):
        assert lock.exists()


def test_a_lock_that_cannot_be_made_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises((HomeUnwritable, StoreError)),
        write_lock(tmp_path / "file" / ".lock", seconds=0),
    ):
        pass
