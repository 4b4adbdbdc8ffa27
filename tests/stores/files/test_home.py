from __future__ import annotations

import errno
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.disk.atomic import unwritable, write_atomic
from mentis.errors import (
    HomeError,
    HomeExists,
    HomeMissing,
    HomeUnwritable,
    MentisError,
    OutsideHome,
    PersonaError,
    StoreError,
    StoreFull,
)
from mentis.stores.files.home import MARKER, Home, checked_id, find_home, write_home


def home_with(tmp_path: Path, *personas: str) -> Home:
    files = {f"personas/{name}/persona.toml": "" for name in personas}
    return write_home(tmp_path / "home", {MARKER: "format = 1\n", **files})


def test_a_home_is_found_by_its_marker(tmp_path: Path) -> None:
    home = home_with(tmp_path, "ada")
    assert find_home(home.path) == home
    assert home.name == "home"


def test_what_is_not_a_home_is_named(tmp_path: Path) -> None:
    path = tmp_path / "home"
    with pytest.raises(HomeMissing, match="no home here") as missing:
        find_home(path)
    path.mkdir()
    with pytest.raises(HomeMissing, match="not a home"):
        find_home(path)
    path.rmdir()
    path.write_text("x")
    with pytest.raises(HomeError, match="this is a file"):
        find_home(path)
    assert missing.value.hint == f"make one with: mentis init {path}"


def test_nothing_that_exists_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "profile.toml").write_text("mine")
    with pytest.raises(HomeExists, match=r"profile\.toml is already there"):
        write_home(tmp_path, {MARKER: "", "profile.toml": "theirs"})
    assert (tmp_path / "profile.toml").read_text() == "mine"
    assert not (tmp_path / MARKER).exists()


def test_a_home_on_top_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    with pytest.raises(HomeExists, match="this is a file"):
        write_home(tmp_path / "home", {MARKER: ""})


def test_a_home_under_a_file_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        write_home(tmp_path / "file" / "home", {MARKER: ""})


def test_the_only_persona_needs_no_name_and_several_do(tmp_path: Path) -> None:
    home = home_with(tmp_path, "ada", "bob")
    assert home.pick_persona("bob") == "bob"
    with pytest.raises(PersonaError, match="2 personas") as caught:
        home.pick_persona(None)
    assert "ada, bob" in caught.value.hint
    with pytest.raises(PersonaError, match="no persona 'eve'"):
        home.pick_persona("eve")


def test_of_several_personas_the_default_is_taken_unless_another_is_named(tmp_path: Path) -> None:
    home = home_with(tmp_path, "ada", "bob")
    assert home.pick_persona(None, "bob") == "bob"
    assert home.pick_persona("ada", "bob") == "ada"
    with pytest.raises(PersonaError, match="default persona 'eve' is not in this home") as caught:
        home.pick_persona(None, "eve")
    assert "mentis persona use" in caught.value.hint


def test_one_persona_is_picked_and_none_is_an_error(tmp_path: Path) -> None:
    assert home_with(tmp_path, "ada").pick_persona(None) == "ada"
    with pytest.raises(PersonaError, match="no persona in this home"):
        write_home(tmp_path / "empty", {MARKER: ""}).pick_persona(None)


@given(st.text())
def test_an_id_never_leads_out_of_the_home(text: str) -> None:
    try:
        accepted = checked_id(text, "persona")
    except OutsideHome:
        return
    assert not set(accepted) & set("/\\.: \x00")
    assert 1 <= len(accepted) <= 64


def test_a_persona_behind_a_link_out_of_the_home_is_refused(tmp_path: Path) -> None:
    home = home_with(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (home.path / "personas").mkdir()
    (home.path / "personas" / "ada").symlink_to(outside)
    with pytest.raises(OutsideHome, match="leads out of"):
        home.persona("ada")


def test_an_atomic_write_replaces_the_whole_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "file.toml"
    write_atomic(target, "old and long\n")
    write_atomic(target, "new\n")
    assert target.read_text() == "new\n"
    assert list(tmp_path.iterdir()) == [target]


def test_a_failed_write_keeps_the_old_file_and_cleans_up(tmp_path: Path) -> None:
    target = tmp_path / "file.toml"
    write_atomic(target, "old\n")
    with pytest.raises(UnicodeEncodeError):
        write_atomic(target, "\ud800")
    assert target.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [target]
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError):
        write_atomic(tmp_path / "folder", "a file cannot replace a folder")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file.toml", "folder"]


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (errno.ENOSPC, StoreFull),
        (errno.EDQUOT, StoreFull),
        (errno.EACCES, HomeUnwritable),
        (errno.EROFS, HomeUnwritable),
        (errno.EIO, StoreError),
    ],
)
def test_each_reason_a_disk_gives_has_its_error(number: int, error: type[MentisError]) -> None:
    made = unwritable(Path("file"), OSError(number, "reason"))
    assert type(made) is error
