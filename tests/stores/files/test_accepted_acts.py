"""What a person said yes to is kept beside the keys, for one home and nobody else's."""

from __future__ import annotations

from pathlib import Path

import pytest

from mentis.errors import MentisError, StoreDamaged
from mentis.stores.files.accepted_acts import AcceptedFile

ONE, OTHER = "sha256:1", "sha256:2"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def accepted(home: Path) -> AcceptedFile:
    return AcceptedFile(home.parent / "config", home)


def test_a_yes_is_to_one_thing_of_one_agent_and_lasts(home: Path) -> None:
    accepted(home).accept("ada", "k", ONE)
    kept = accepted(home)
    assert kept.is_accepted("ada", "k", ONE)
    assert not kept.is_accepted("ada", "k", OTHER)
    assert not kept.is_accepted("bob", "k", ONE)
    assert kept.path.stat().st_mode & 0o077 == 0
    assert (kept.forget("ada", "k"), kept.forget("ada", "k")) == (True, False)
    assert not accepted(home).is_accepted("ada", "k", ONE)


def test_a_home_elsewhere_has_neither_the_yes_nor_the_secret(home: Path) -> None:
    accepted(home).accept("ada", "k", ONE)
    (home.parent / "copy").mkdir()
    copy = accepted(home.parent / "copy")
    assert not copy.is_accepted("ada", "k", ONE)
    assert copy.seal("text") != accepted(home).seal("text")
    assert accepted(home).seal("text") == accepted(home).seal("text") != accepted(home).seal("")


def test_looking_makes_nothing(home: Path) -> None:
    assert not accepted(home).is_accepted("ada", "k", ONE)
    assert not accepted(home).forget("ada", "k")
    assert not (home.parent / "config").exists()


@pytest.mark.parametrize(
    "text", ["", "[]", '{"secret": "zz", "yes": {}}', '{"home": "x", "secret": "00", "yes": {}}']
)
def test_a_damaged_file_says_yes_to_nothing(home: Path, text: str) -> None:
    accepted(home).accept("ada", "k", ONE)
    accepted(home).path.write_text(text)
    with pytest.raises(StoreDamaged, match="cannot be read"):
        accepted(home).is_accepted("ada", "k", ONE)


def test_a_folder_inside_the_home_or_open_to_others_does_not_count(home: Path) -> None:
    inside = AcceptedFile(home / "config", home)
    with pytest.raises(StoreDamaged, match="inside the home"):
        inside.accept("ada", "k", ONE)
    accepted(home).accept("ada", "k", ONE)
    accepted(home).path.chmod(0o666)
    with pytest.raises(MentisError, match="others can change"):
        accepted(home).is_accepted("ada", "k", ONE)
