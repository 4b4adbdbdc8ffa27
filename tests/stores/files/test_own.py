"""What is kept beside the keys is believed only where nobody else can write."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mentis.errors import SigningKeyError
from mentis.home.create import create_home
from mentis.record.record import open_record
from mentis.record.verify_home import verify_home
from mentis.stores.files.own import check_own, make_own
from mentis.values.entry import Draft


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MENTIS_CONFIG", str(tmp_path / "config"))
    return tmp_path / "config"


@pytest.fixture
def home(config: Path, tmp_path: Path) -> Path:
    home = create_home(tmp_path / "home")
    _sign(home)
    assert config.is_dir()
    return home


def _sign(home: Path) -> None:
    with open_record(home) as record:
        record.start()
        record.ledger.append(record.agent, [Draft("note", "test", {"n": 1})], record.stamp())
        record.checkpoint()


def _start(home: Path) -> None:
    with open_record(home) as record:
        record.start()


PLACES: dict[str, Callable[[Path], Path]] = {
    "the folder of all": lambda config: config,
    "the folder of the ledgers": lambda config: config / "ledgers",
    "the folder of the key": lambda config: next((config / "ledgers").iterdir()),
    "the last checkpoint": lambda config: next(config.rglob("*.json")),
    "the folder of the homes": lambda config: config / "homes",
    "the home's identity": lambda config: next((config / "homes").iterdir()),
}


@pytest.mark.parametrize("use", [_sign, _start, verify_home])
@pytest.mark.parametrize("place", PLACES)
def test_what_others_can_write_is_refused_and_named(
    home: Path, config: Path, place: str, use: Callable[[Path], object]
) -> None:
    there = PLACES[place](config)
    there.chmod(there.stat().st_mode | 0o002)
    with pytest.raises(SigningKeyError, match="others can change") as refused:
        use(home)
    assert refused.value.facts["file"] == str(there)
    assert refused.value.hint.startswith(f"chmod go-w {there}")
    there.chmod(there.stat().st_mode & ~0o022)
    use(home)


def test_how_far_was_verified_is_not_taken_from_a_file_that_others_can_write(
    home: Path, config: Path
) -> None:
    verify_home(home, resume=True)
    kept = next(config.rglob("verified-*"))
    kept.chmod(0o666)
    with pytest.raises(SigningKeyError, match="others can change"):
        verify_home(home, resume=True)


def test_a_group_that_may_write_is_refused_unless_it_is_the_users_own(tmp_path: Path) -> None:
    tmp_path.chmod(0o770)
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder to another group")
    check_own(tmp_path, top=tmp_path)  # root's own group, in which nobody else is
    os.chown(tmp_path, -1, 65_533)
    with pytest.raises(SigningKeyError, match="others can change"):
        check_own(tmp_path, top=tmp_path)


def test_what_belongs_to_somebody_else_is_refused(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(tmp_path, 65_533, -1)
    with pytest.raises(SigningKeyError, match="belongs to another user"):
        check_own(tmp_path, top=tmp_path)


def test_folders_are_made_for_their_owner_whatever_the_mask_says(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        make_own(tmp_path / "config" / "ledgers" / "log", top=tmp_path / "config")
    finally:
        os.umask(before)
    check_own(tmp_path / "config" / "ledgers" / "log", top=tmp_path / "config")


def test_what_is_not_there_yet_is_nobodys(tmp_path: Path) -> None:
    check_own(tmp_path / "a" / "b", top=tmp_path)
