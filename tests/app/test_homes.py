"""Verifying a whole home: no agent vanishes unseen, and no log is exchanged unseen."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mentis.errors import BadCheckpoint, RolledBack
from mentis.home.create import create_home
from mentis.home.log_identity import init_log
from mentis.ledger.checkpoint import sign_checkpoint
from mentis.ports.signer import SeededSigner
from mentis.record.record import open_record
from mentis.record.verify_home import verify_home
from mentis.settings.edit import change_settings
from mentis.status.statuses import open_statuses
from mentis.stores.files.home import Home
from mentis.stores.files.key_folder import config_folder
from mentis.stores.files.known_homes import KnownHomes
from mentis.stores.sqlite.database import Database
from mentis.values.checkpoint import Checkpoint
from mentis.values.entry import Draft, Verdict


def add(home: Path, persona: str, count: int = 3) -> str:
    with open_record(home, persona) as record:
        for n in range(count):
            draft = Draft("note", "test", {"text": f"note {n}"})
            record.ledger.append(record.agent, [draft], record.stamp())
        return record.checkpoint().note


def attack(home: Path, *statements: str) -> None:
    with closing(sqlite3.connect(home / "mentis.db")) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def vanish(home: Path, persona: str) -> None:
    """Everything of an agent that is in the home goes."""
    of_it = f"WHERE agent = 'home/{persona}'"
    attack(home, f"DELETE FROM ledger {of_it}", f"DELETE FROM checkpoints {of_it}")  # noqa: S608
    shutil.rmtree(home / "personas" / persona)


def forget_keys(home: Path) -> None:
    """What lies beside the key goes too, so that only what is given can tell."""
    with open_record(home, "ada", readonly=True) as record:
        folder = record.require_sealing().folder.path
    for file in folder.glob("*.json"):
        file.unlink()


def attacks(verdicts: tuple[Verdict, ...]) -> dict[str, list[str]]:
    return {one.agent: [found.attack for found in one.findings] for one in verdicts}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = create_home(tmp_path / "home")
    shutil.copytree(home / "personas" / "ada", home / "personas" / "bob")
    return home


@pytest.fixture
def both(home: Path, tmp_path: Path) -> Path:
    file = tmp_path / "both.txt"
    file.write_text(add(home, "ada") + add(home, "bob"))
    return file


def test_an_agent_that_vanished_is_named_by_a_checkpoint_from_outside(
    home: Path, both: Path
) -> None:
    vanish(home, "bob")
    forget_keys(home)
    assert attacks(verify_home(home)) == {"home/ada": []}
    found = verify_home(home, checkpoints=[both])
    assert attacks(found) == {"home/ada": [], "home/bob": ["emptied"]}


@pytest.mark.usefixtures("both")
def test_an_agent_that_vanished_is_named_by_what_is_beside_the_key(home: Path) -> None:
    vanish(home, "bob")
    assert attacks(verify_home(home)) == {"home/ada": [], "home/bob": ["emptied"]}


def test_an_agent_that_is_not_in_a_copy_is_named(home: Path, both: Path, tmp_path: Path) -> None:
    vanish(home, "bob")
    copy = tmp_path / "copy.db"
    shutil.copy(home / "mentis.db", copy)
    found = verify_home(home, ledger=copy, checkpoints=[both])
    assert attacks(found) == {"home/ada": [], "home/bob": ["emptied"]}


@pytest.mark.usefixtures("both")
def test_an_index_that_lost_a_delivery_is_named_before_the_delivery_is_taken_again(
    home: Path, tmp_path: Path
) -> None:
    with open_record(home, "ada") as record:
        draft = Draft("note", "test", {"text": "once"}, delivery="mail-7")
        record.ledger.append(record.agent, [draft], record.stamp())
    with Database(home / "mentis.db") as database:
        statement = "SELECT rootpage FROM sqlite_master WHERE name = 'ledger_delivery'"
        page = database.read(statement)[0][0]
        size = database.read("PRAGMA page_size")[0][0]
        database.fold()
    file = home / "mentis.db"
    content = bytearray(file.read_bytes())
    content[content.index(b"mail-7", (page - 1) * size, page * size)] ^= 0x20
    file.write_bytes(content)
    for found in (verify_home(home), verify_home(home, ledger=file)):
        assert {(one.findings[0].column, one.findings[0].attack) for one in found} == {
            ("database", "unreadable")
        }


def test_with_everything_gone_every_agent_is_named(home: Path, both: Path, tmp_path: Path) -> None:
    forget_keys(home)
    vanish(home, "bob")
    vanish(home, "ada")
    told = {"home/ada": ["emptied"], "home/bob": ["emptied"]}
    assert attacks(verify_home(home, checkpoints=[both])) == told
    copy = tmp_path / "copy.db"
    shutil.copy(home / "mentis.db", copy)
    assert attacks(verify_home(home, ledger=copy, checkpoints=[both])) == told
    with pytest.raises(BadCheckpoint, match="2 checkpoints say"):
        verify_home(tmp_path, ledger=copy, checkpoints=[both])


def test_checkpoints_of_an_agent_that_is_not_looked_at_are_named(home: Path, both: Path) -> None:
    (verdict,) = verify_home(home, persona="ada", checkpoints=[both])
    assert any("home/bob, which was not looked at" in note for note in verdict.notes)
    with open_statuses(home, "ada") as statuses:
        notes = statuses.verify([both]).notes
    assert any("home/bob, which was not looked at" in note for note in notes)


def test_an_agent_that_a_stranger_makes_up_is_a_forgery(
    home: Path, both: Path, tmp_path: Path
) -> None:
    with open_record(home, "ada") as record:
        origin = record.require_sealing().pin.origin
    for name in ("home/zed", "home/../../zed"):
        made_up = Checkpoint(f"{origin}/{name}", 1, "00" * 32)
        file = tmp_path / "made-up.txt"
        file.write_text(sign_checkpoint(made_up, SeededSigner(bytes([9] * 32))))
        found = verify_home(home, checkpoints=[both, file])
        assert not all(verdict.intact for verdict in found)


# The log


def swap(home: Path) -> None:
    """Another log in the settings, with a key of the thief, and no trace of the first."""
    key = SeededSigner(bytes([9] * 32))
    from mentis.ledger.signature import encode_key

    change = {"origin": "mentis.local/another", "public_key": encode_key(key.public)}
    change_settings(home, "ledger", change)
    attack(home, "DELETE FROM checkpoints", "DELETE FROM ledger WHERE idx > 0")


@pytest.mark.usefixtures("both")
def test_a_log_that_was_exchanged_in_the_settings_is_named_and_refuses_to_start(home: Path) -> None:
    swap(home)
    found = verify_home(home)
    assert attacks(found) == {"home/ada": ["identity"], "home/bob": ["identity"]}
    assert all("swapped identity" in verdict.findings[0].message for verdict in found)
    with pytest.raises(RolledBack, match="swapped identity"):
        add(home, "ada")
    with open_statuses(home, "ada") as statuses:
        health = statuses.health()
    assert (health.status, "swapped identity" in health.reason) == ("RED", True)


@pytest.mark.usefixtures("both")
def test_a_log_that_was_taken_out_of_the_settings_is_named_and_not_made_anew(home: Path) -> None:
    marker = home / "mentis.toml"
    lines = marker.read_text().splitlines(keepends=True)
    marker.write_text("".join(li for li in lines if not li.startswith(("origin", "public_key"))))
    assert attacks(verify_home(home))["home/ada"] == ["identity"]
    with pytest.raises(RolledBack, match="name no log"):
        init_log(Home(home), os.environ)


@pytest.mark.usefixtures("both")
def test_a_home_that_was_moved_is_remembered_where_it_is_now(home: Path) -> None:
    moved = home.rename(home.with_name("moved"))
    assert all(verdict.intact for verdict in verify_home(moved))
    add(moved, "ada")
    assert KnownHomes(config_folder(os.environ)).find(moved) is not None
    swap(moved)
    assert attacks(verify_home(moved))["home/ada"] == ["identity"]


def test_a_home_made_anew_at_the_same_place_has_its_own_log(home: Path) -> None:
    shutil.rmtree(home)
    create_home(home)
    add(home, "ada")
    assert attacks(verify_home(home)) == {"home/ada": []}
