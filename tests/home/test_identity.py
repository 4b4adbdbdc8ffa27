"""Which log, key and anchors a home has is known beside the keys, not only in its own settings."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from mentis.errors import RolledBack, UsageError
from mentis.home.create import create_home
from mentis.ledger.signature import encode_key
from mentis.record import keys as record_keys
from mentis.record.evidence import verified_file
from mentis.record.record import open_record
from mentis.record.verify_home import verify_home
from mentis.settings.edit import change_settings
from mentis.settings.sources import load_settings
from mentis.status.statuses import open_statuses
from mentis.stores.files.home import Home
from mentis.stores.files.key_folder import config_folder
from mentis.stores.files.known_homes import KnownHomes
from mentis.stores.keys import KeySigner, create_key
from mentis.surfaces.cli.main import run
from mentis.values.entry import Draft


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = create_home(tmp_path / "home")
    add(path, 4)
    return path


@pytest.fixture
def kept(home: Path, tmp_path: Path) -> Path:
    """A checkpoint that somebody took away."""
    file = tmp_path / "kept.txt"
    with open_record(home) as record:
        file.write_text(record.checkpoint().note)
    return file


def add(home: Path, count: int) -> None:
    drafts = [Draft("note", "test", {"n": n}) for n in range(count)]
    with open_record(home) as record:
        record.ledger.append(record.agent, drafts, record.stamp())


def set_key(home: Path, line: str) -> None:
    marker = home / "mentis.toml"
    marker.write_text(re.sub(r"public_key = .*\n", line, marker.read_text()))


def thief(tmp_path: Path) -> KeySigner:
    return create_key(tmp_path / "thief.pem")


def findings(home: Path, *checkpoints: Path) -> list[str]:
    (verdict,) = verify_home(home, checkpoints=checkpoints)
    return [finding.message for finding in verdict.findings]


def test_a_home_whose_key_was_taken_out_of_the_settings_neither_starts_nor_verifies(
    home: Path, kept: Path
) -> None:
    set_key(home, "")
    assert "name no public key, and this home had one" in findings(home)[0]
    with pytest.raises(RolledBack, match="name no public key"):
        add(home, 1)
    told = findings(home, kept)
    assert any("nothing is pinned that this checkpoint can be checked with" in one for one in told)
    assert run(["--home", str(home), "status", "verify", "--checkpoint", str(kept)]) == 1
    with open_statuses(home) as statuses:
        assert statuses.health().status == "RED"


def test_a_home_with_another_key_in_the_settings_neither_starts_nor_verifies(
    home: Path, tmp_path: Path
) -> None:
    set_key(home, f'public_key = "{encode_key(thief(tmp_path).public)}"\n')
    assert "swapped identity" in findings(home)[0]
    with pytest.raises(RolledBack, match="swapped identity"):
        add(home, 1)


def test_a_copy_of_the_database_is_not_believed_by_settings_that_were_exchanged(
    home: Path, kept: Path
) -> None:
    set_key(home, "")
    (verdict,) = verify_home(home, ledger=home / "mentis.db", checkpoints=[kept])
    assert {finding.attack for finding in verdict.findings} == {"identity"}


def test_a_checkpoint_that_nothing_is_pinned_to_check_with_is_a_finding(
    home: Path, kept: Path, tmp_path: Path
) -> None:
    (verdict,) = verify_home(tmp_path / "nowhere", ledger=home / "mentis.db", checkpoints=[kept])
    assert [finding.attack for finding in verdict.findings] == ["identity"]
    (verdict,) = verify_home(tmp_path / "nowhere", ledger=home / "mentis.db")
    assert verdict.intact


def test_a_change_of_the_key_is_remembered(home: Path) -> None:
    with open_record(home) as record:
        pin, _ = record_keys.change_key(record)
    known = KnownHomes(config_folder(os.environ)).find(home)
    assert known is not None
    assert (known.origin, known.public_key) == (pin.origin, pin.public_key)
    add(home, 1)
    assert findings(home) == []


def test_a_change_of_the_key_that_was_cut_short_is_no_other_identity(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch, open_record(home) as record:
        patch.setattr("mentis.home.log_identity._remember", _cut_short)
        with pytest.raises(KeyboardInterrupt):
            record_keys.change_key(record)
    assert findings(home) == []
    with open_record(home) as record:
        record_keys.change_key(record)
    add(home, 1)
    assert findings(home) == []


def _cut_short(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_home_known_by_its_log_alone_gets_its_key_remembered_if_it_is_here(
    home: Path, tmp_path: Path
) -> None:
    homes = KnownHomes(config_folder(os.environ))
    known = homes.find(home)
    assert known is not None
    homes.file(home).write_text(f"{known.origin}\n")
    marker = (home / "mentis.toml").read_text()
    set_key(home, f'public_key = "{encode_key(thief(tmp_path).public)}"\n')
    open_record(home).close()
    assert homes.file(home).read_text() == f"{known.origin}\n"
    (home / "mentis.toml").write_text(marker)
    open_record(home).close()
    assert homes.find(home) == known


def test_how_far_a_record_without_a_key_was_verified_is_not_kept_in_the_home(home: Path) -> None:
    set_key(home, "")
    settings = load_settings(home, os.environ)
    file = verified_file(Home(home), settings, os.environ, agent="home/ada")
    assert not file.is_relative_to(home)
    assert file.is_relative_to(config_folder(os.environ))


# Anchors


def test_an_anchor_that_only_the_settings_name_is_neither_told_nor_asked_and_named(
    home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "elsewhere.txt"
    change_settings(home, "ledger", {"anchors": [f"file:{file}"]})
    with open_record(home) as record:
        made = record.checkpoint()
        (state,) = record_keys.list_anchors(record)
    assert (made.told, file.exists()) == ((), False)
    assert "was not added on this machine" in made.faults[0]
    assert "was not added on this machine" in state.fault
    file.write_text(made.note)
    (verdict,) = verify_home(home)
    assert (verdict.intact, verdict.vouched) == (True, 0)
    assert any("was not added on this machine" in note for note in verdict.notes)


@pytest.mark.parametrize("written", ["../elsewhere.txt", "{tmp_path}/elsewhere.txt"])
def test_an_anchor_of_the_settings_is_used_once_its_owner_adds_it(
    home: Path, tmp_path: Path, written: str
) -> None:
    named = f"file:{written.format(tmp_path=tmp_path)}"
    change_settings(home, "ledger", {"anchors": [named]})
    with open_record(home) as record:
        record_keys.add_anchor(record, f"file:{tmp_path / 'elsewhere.txt'}")
    with open_record(home) as record:
        assert record.checkpoint().told == (named,)
    (verdict,) = verify_home(home)
    assert verdict.vouched == 4


def test_an_anchor_stays_added_when_the_home_is_moved(home: Path, tmp_path: Path) -> None:
    with open_record(home) as record:
        record_keys.add_anchor(record, f"file:{tmp_path / 'elsewhere.txt'}")
    moved = home.rename(tmp_path / "moved")
    (verdict,) = verify_home(moved)
    assert verdict.vouched == 4


def test_an_anchor_that_the_settings_leave_out_is_used_and_named_until_its_owner_removes_it(
    home: Path, tmp_path: Path
) -> None:
    name = f"file:{tmp_path / 'elsewhere.txt'}"
    with open_record(home) as record:
        record_keys.add_anchor(record, name)
    change_settings(home, "ledger", {"anchors": []})
    with open_record(home) as record:
        made = record.checkpoint()
        (state,) = record_keys.list_anchors(record)
    (verdict,) = verify_home(home)
    assert (made.told, state.size, verdict.vouched) == ((name,), 4, 4)
    for told in (made.faults, (state.fault,), verdict.notes):
        assert any("the settings leave it out" in one for one in told)
    with open_record(home) as record:
        record_keys.remove_anchor(record, name)
    (verdict,) = verify_home(home)
    assert (verdict.vouched, verdict.notes) == (0, ())


@pytest.mark.parametrize("written", ["../elsewhere.txt", "{tmp_path}/elsewhere.txt"])
def test_an_anchor_that_is_removed_is_in_the_settings_no_more_and_may_be_added_again(
    home: Path, tmp_path: Path, written: str
) -> None:
    named = f"file:{written.format(tmp_path=tmp_path)}"
    file = tmp_path / "elsewhere.txt"
    with open_record(home) as record:
        record_keys.add_anchor(record, named)
        with pytest.raises(UsageError, match="is no anchor here"):
            record_keys.remove_anchor(record, f"file:{tmp_path / 'other.txt'}")
    with open_record(home) as record:
        with pytest.raises(UsageError, match="is an anchor already"):
            record_keys.add_anchor(record, f"file:{file}")
        record_keys.remove_anchor(record, f"file:{file}")
    assert "anchors = []" in (home / "mentis.toml").read_text()
    file.unlink()  # lost: it begins anew
    with open_record(home) as record:
        assert record_keys.list_anchors(record) == ()
        record_keys.add_anchor(record, f"file:{file}")
    assert verify_home(home)[0].vouched == 4


def test_an_anchor_of_the_environment_is_its_owners(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENTIS_LEDGER__ANCHORS", f'["file:{tmp_path}/elsewhere.txt"]')
    with open_record(home) as record:
        assert record.checkpoint().told == (f"file:{tmp_path}/elsewhere.txt",)
        with pytest.raises(UsageError, match="of the environment"):
            record_keys.remove_anchor(record, f"file:{tmp_path}/elsewhere.txt")
