"""Who is still there is said by the lock, not by what anybody wrote down."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mentis.errors import OutsideHome, StoreDamaged, UsageError
from mentis.stores.files.owners import Owners

HOLDER = """
import sys
from pathlib import Path
from mentis.stores.files.owners import Owners
owner = Owners(Path(sys.argv[1])).enter("other")
print(owner.name, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def owners(tmp_path: Path) -> Owners:
    return Owners(tmp_path / "owners")


def left(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "owners").glob("*.owner"))


def test_an_owner_is_alive_until_it_is_closed(owners: Owners, tmp_path: Path) -> None:
    with owners.enter("one") as one, owners.enter("two") as two:
        assert (owners.alive(one.name), owners.alive(two.name)) == (True, True)
        assert Owners(tmp_path / "owners").alive(one.name)
        assert left(tmp_path) == ["one.owner", "two.owner"]
    assert (owners.alive(one.name), owners.alive(two.name)) == (False, False)
    assert left(tmp_path) == []


def test_a_killed_process_is_gone_and_its_file_is_swept(owners: Owners, tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "owners")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as holder:
        assert holder.stdout is not None
        name = holder.stdout.readline().strip()
        with owners.enter("mine"):
            assert owners.alive(name)
            assert left(tmp_path) == ["mine.owner", "other.owner"]
        holder.kill()
        holder.wait()
        assert not owners.alive(name)
        assert left(tmp_path) == ["other.owner"]
        with owners.enter("next"):
            assert left(tmp_path) == ["next.owner"]
        assert not owners.alive(name)


def test_an_owner_of_another_place_cannot_be_judged_and_counts_as_alive(
    owners: Owners, tmp_path: Path
) -> None:
    elsewhere = Owners(tmp_path / "elsewhere")
    with elsewhere.enter("far") as far:
        assert owners.alive(far.name)  # nobody was ever here
        with owners.enter("near") as near:
            assert owners.alive(far.name)
            assert elsewhere.alive(near.name)
    assert owners.alive(far.name)
    assert not elsewhere.alive(far.name)


@pytest.mark.parametrize("name", ["", "one", "a.b/../c", "a.", "a.b.c"])
def test_a_name_that_is_none_of_ours_is_left_alone(owners: Owners, name: str) -> None:
    assert owners.alive(name)


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a" * 65])
def test_a_name_that_cannot_be_a_file_is_refused(owners: Owners, name: str) -> None:
    with pytest.raises(UsageError):
        owners.enter(name)


def test_a_folder_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "owners").symlink_to(tmp_path)
    with pytest.raises(OutsideHome):
        Owners(tmp_path / "home" / "owners").enter("one")


@pytest.mark.parametrize("content", [b"", b"\xff", b"a b"])
def test_without_the_name_of_its_place_nobody_is_judged(
    owners: Owners, tmp_path: Path, content: bytes
) -> None:
    with owners.enter("one") as one:
        (tmp_path / "owners" / "place").write_bytes(content)
        with pytest.raises(StoreDamaged, match="place cannot be read"):
            owners.alive(one.name)


def test_a_pipe_or_a_link_in_the_place_of_its_name_is_refused_and_not_waited_for(
    owners: Owners, tmp_path: Path
) -> None:
    place = tmp_path / "owners" / "place"
    place.parent.mkdir()
    os.mkfifo(place)
    with pytest.raises(StoreDamaged, match="it is no plain file"):
        owners.enter("one")
    place.unlink()
    (tmp_path / "name").write_text("elsewhere")
    place.symlink_to(tmp_path / "name")
    with pytest.raises(StoreDamaged, match="place cannot be read"):
        owners.enter("one")


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_what_only_looks_like_an_owner_is_left_alone(
    owners: Owners, tmp_path: Path, kind: str
) -> None:
    odd, other = tmp_path / "owners" / "odd.owner", tmp_path / "other"
    odd.parent.mkdir()
    other.write_text("precious")
    if kind == "pipe":
        os.mkfifo(odd)
    elif kind == "link":
        odd.symlink_to(other)
    else:
        odd.mkdir()
    with owners.enter("one"):
        assert left(tmp_path) == ["odd.owner", "one.owner"]
    assert other.read_text() == "precious"
