"""A home that was copied knows it: it is read until it is adopted, and the original goes on."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.errors import HomeCopy, MentisError, RolledBack, StoreDamaged, UsageError
from mentis.home.copies import original_of
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ledger.auditor import audit
from mentis.record import rotation
from mentis.record.adoption import adopt_home
from mentis.record.export import write_export
from mentis.record.record import open_record
from mentis.record.verify_home import verify_home
from mentis.settings.sources import load_settings
from mentis.stores.files.home import Home
from mentis.stores.files.instances import (
    HomeInstance,
    KnownInstances,
    instance_at,
    is_copy,
)
from mentis.stores.files.key_folder import config_folder
from mentis.surfaces.cli.main import run
from mentis.values.entry import Draft


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = create_home(tmp_path / "home")
    add(path, 3)
    return path


@pytest.fixture
def copy(home: Path, tmp_path: Path) -> Path:
    path = Path(shutil.copytree(home, tmp_path / "copy"))
    add(home, 2)
    return path


def add(home: Path, number: int) -> None:
    drafts = [Draft("note", "test", {"n": n}) for n in range(number)]
    with open_record(home) as record:
        record.ledger.append(record.agent, drafts, record.stamp())


def entries(home: Path) -> int:
    with open_record(home, readonly=True) as record:
        return record.store.count(record.agent)


def findings(home: Path) -> list[str]:
    return [finding.message for one in verify_home(home) for finding in one.findings]


def instances(home: Path) -> KnownInstances:
    origin = load_settings(home, os.environ).model.ledger.origin
    return KnownInstances(config_folder(os.environ), origin)


def original(home: Path) -> Path | None:
    return original_of(Home(home), load_settings(home, os.environ), os.environ)


@pytest.mark.anyio
async def test_a_chat_in_a_copy_is_refused_before_a_model_is_asked_and_the_original_goes_on(
    home: Path, tmp_path: Path
) -> None:
    asked = ScriptedProvider(["In the copy."])
    copy = Path(shutil.copytree(home, tmp_path / "copy"))
    async with Agent.open(copy, parts=Parts(provider=asked)) as agent:
        with pytest.raises(HomeCopy, match="is a copy of"):
            await agent.chat("Hello?")
    assert not asked.sent
    async with Agent.open(home, parts=Parts(provider=ScriptedProvider(["Here."]))) as agent:
        assert (await agent.chat("Hello?")).reply.text == "Here."
    assert findings(home) == []


@pytest.mark.parametrize(
    "command",
    [
        "verify",
        "compose",
        "memory list",
        "state show",
        "prompts list",
        "persona show",
        "sessions list",
        "status latest",
        "acts pending",
        "cost",
        "ledger checkpoint --list",
    ],
)
def test_a_copy_can_be_read_by_what_only_reads(
    copy: Path, command: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["--home", str(copy), *command.split()]) == 0, capfd.readouterr().err
    assert entries(copy) == 3


@pytest.mark.parametrize(
    "command",
    [
        "memory add A_fact.",
        "ledger checkpoint",
        "ledger erase 0 --reason r --yes",
        "sense add It_rains.",
        "state goals add user-root A_goal",
    ],
)
def test_nothing_is_written_into_the_record_of_a_copy(copy: Path, command: str) -> None:
    before = (copy / "mentis.db").read_bytes()
    run(["--home", str(copy), *command.split()])
    assert (copy / "mentis.db").read_bytes() == before


def test_a_copy_is_held_against_its_own_checkpoints_and_that_is_said(copy: Path) -> None:
    (verdict,) = verify_home(copy)
    assert (verdict.intact, verdict.entries) == (True, 3)
    assert any("this home is a copy of" in note for note in verdict.notes)


def test_a_home_that_was_moved_is_no_copy(home: Path, tmp_path: Path) -> None:
    add(home.rename(tmp_path / "moved"), 1)
    assert original(tmp_path / "moved") is None
    assert entries(tmp_path / "moved") == 4


def test_a_home_that_was_moved_to_another_disk_is_no_copy(home: Path, tmp_path: Path) -> None:
    shutil.copytree(home, tmp_path / "moved")  # as `mv` does it there
    shutil.rmtree(home)
    add(tmp_path / "moved", 1)
    assert entries(tmp_path / "moved") == 4


@pytest.mark.parametrize("number", [(7, 0), (0, 7), (7, 7)])
def test_a_home_that_was_mounted_anew_or_in_a_restarted_container_is_no_copy(
    home: Path, number: tuple[int, int]
) -> None:
    """The same path with other numbers of device and file."""
    known, name = instances(home), home.name
    found = known.find(name)
    assert found is not None
    known.remember(
        name, HomeInstance(found.path, found.device + number[0], found.inode + number[1])
    )
    add(home, 1)
    assert known.find(name) == found


def test_a_home_that_is_mounted_elsewhere_is_no_copy(home: Path, tmp_path: Path) -> None:
    """The same file at another path, as in a container; links lead to one path anyway."""
    known, found = instances(home), instance_at(home, home / "mentis.db")
    known.remember(home.name, HomeInstance(str(tmp_path), found.device, found.inode))
    (tmp_path / "mentis.toml").write_bytes((home / "mentis.toml").read_bytes())
    (tmp_path / "mentis.db").write_bytes(b"another")
    add(home, 1)
    (tmp_path / "link").symlink_to(home)
    add(tmp_path / "link", 1)
    assert entries(home) == 5


def test_what_is_restored_in_its_place_is_no_copy_and_an_older_state_is_a_rollback(
    home: Path, tmp_path: Path
) -> None:
    shutil.copytree(home, tmp_path / "aside")
    shutil.rmtree(home)
    shutil.copytree(tmp_path / "aside", home)
    add(home, 1)
    shutil.rmtree(home)
    shutil.copytree(tmp_path / "aside", home)
    assert original(home) is None
    with pytest.raises(RolledBack):
        add(home, 1)


def test_a_copy_whose_original_is_gone_takes_its_place(home: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(home, tmp_path / "copy"))
    assert original(copy) == home.resolve()
    home.rename(tmp_path / "broken")
    (tmp_path / "broken" / "mentis.db").unlink()
    add(copy, 1)
    assert entries(copy) == 4


def test_a_home_of_an_older_mentis_is_taken_as_it_is_found(home: Path, tmp_path: Path) -> None:
    instances(home).file(home.name).unlink()
    add(home, 1)
    copy = Path(shutil.copytree(home, tmp_path / "copy"))
    assert original(home) is None
    assert original(copy) == home.resolve()


def test_a_home_that_cannot_be_looked_at_counts_as_still_there(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(home, tmp_path / "copy"))

    def look(place: Path, database: Path) -> HomeInstance:
        if place == home.resolve():
            raise PermissionError
        return instance_at(place, database)

    monkeypatch.setattr("mentis.home.copies.instance_at", look)
    assert original(copy) == home.resolve()


def test_of_a_record_on_a_server_there_are_no_copies(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENTIS_LEDGER__STORE", "postgres")
    assert original(copy) is None


def at(path: str, file: int) -> HomeInstance:
    return HomeInstance(path, 1, file)


@pytest.mark.parametrize(
    ("here", "known", "there", "expected"),
    [
        (at("/a", 1), None, None, False),  # never seen
        (at("/a", 1), at("/a", 1), at("/a", 1), False),  # nothing has changed
        (at("/a", 2), at("/a", 1), at("/a", 2), False),  # restored or mounted anew
        (at("/b", 1), at("/a", 1), None, False),  # moved
        (at("/b", 2), at("/a", 1), None, False),  # moved to another disk
        (at("/b", 1), at("/a", 1), at("/a", 2), False),  # moved, and copied back
        (at("/b", 2), at("/a", 1), at("/a", 1), True),  # copied
        (at("/b", 0), at("/a", 0), at("/a", 1), True),  # without a database
    ],
)
def test_what_is_a_copy_follows_from_places_and_files_alone(
    here: HomeInstance, known: HomeInstance | None, there: HomeInstance | None, expected: bool
) -> None:
    assert is_copy(here, known, there) is expected


def test_a_copy_that_is_adopted_goes_on_under_a_log_of_its_own(home: Path, copy: Path) -> None:
    before = load_settings(home, os.environ).model.ledger
    done = adopt_home(copy)
    add(copy, 1)
    add(home, 1)
    now = load_settings(copy, os.environ).model.ledger
    assert (done.before, done.origin) == (before.origin, now.origin)
    assert now.origin != before.origin
    assert now.public_key != before.public_key
    with open_record(copy, readonly=True) as record:
        linked = record.entry(3)
        told = linked.body["signed"]
    assert linked.kind == "key"
    assert f"{before.origin}/" in str(told)
    assert f"{now.origin}/" in str(told)
    assert (entries(home), entries(copy)) == (6, 5)
    assert findings(home) == findings(copy) == []


def test_the_record_of_an_adopted_copy_convinces_an_auditor(copy: Path, tmp_path: Path) -> None:
    done = adopt_home(copy)
    add(copy, 1)
    bundle = tmp_path / "copy.zip"
    with open_record(copy) as record:
        write_export(record, bundle)
    found = audit(str(bundle), key=done.public_key, origin=done.origin, checkpoints=())
    assert found["verdict"] == "ok", found


def test_segments_erasures_and_changes_of_the_key_are_adopted_along(
    home: Path, tmp_path: Path
) -> None:
    with open_record(home) as record:
        record.erase(0, ["n"], reason="asked")
        rotation.rotate(record, 2)
    copy = Path(shutil.copytree(home, tmp_path / "copy"))
    adopt_home(copy)
    with open_record(copy) as record:
        record.erase(1, ["n"], reason="asked")
    assert findings(home) == findings(copy) == []


def test_a_copy_of_a_copy_is_one_too(copy: Path, tmp_path: Path) -> None:
    adopt_home(copy)
    second = Path(shutil.copytree(copy, tmp_path / "second"))
    with pytest.raises(HomeCopy):
        add(second, 1)
    adopt_home(second)
    add(second, 1)
    assert findings(copy) == findings(second) == []


STEPS = (
    "mentis.record.adoption.keeping.adopt",
    "mentis.record.adoption._Work._keep_checkpoints",
    "mentis.record.adoption._Work._seal_segments",
    "mentis.record.adoption.KeyFolder.keep",
    "mentis.record.adoption.remember_log",
    "mentis.record.adoption.change_settings",
    "mentis.record.adoption.remember_instance",
)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("after", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_an_adoption_that_is_cut_short_is_finished_by_doing_it_again(
    home: Path, monkeypatch: pytest.MonkeyPatch, step: str, *, after: bool
) -> None:
    with open_record(home) as record:
        rotation.rotate(record, 2)
    copy = Path(shutil.copytree(home, home.parent / "copy"))
    module, _, name = step.rpartition(".")
    owner: Any = _resolved(module)
    real: Callable[..., Any] = getattr(owner, name)

    def cut(*args: object, **given: object) -> None:
        if after:
            real(*args, **given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, cut)
        with pytest.raises(KeyboardInterrupt):
            adopt_home(copy)
    if original(copy) is not None:
        adopt_home(copy)
    add(copy, 1)
    add(home, 1)
    assert findings(home) == findings(copy) == []
    with open_record(copy, readonly=True) as record:
        assert sum(entry.kind == "key" for entry in record.store.entries(record.agent)) == 1


def _resolved(path: str) -> object:
    parts = path.split(".")
    for number in range(len(parts), 0, -1):
        try:
            found: Any = import_module(".".join(parts[:number]))
        except ImportError:
            continue
        for name in parts[number:]:
            found = getattr(found, name)
        return found
    raise AssertionError(path)


def test_a_copy_that_does_not_verify_is_not_adopted(copy: Path) -> None:
    with closing(sqlite3.connect(copy / "mentis.db")) as connection, connection:
        connection.execute("UPDATE ledger SET time = '2020-01-01T00:00:00.000000Z' WHERE idx = 1")
    before = load_settings(copy, os.environ).model.ledger
    with pytest.raises(StoreDamaged, match="does not verify"):
        adopt_home(copy)
    assert load_settings(copy, os.environ).model.ledger == before


def test_a_home_that_is_no_copy_is_not_adopted(home: Path) -> None:
    with pytest.raises(UsageError, match="is no copy"):
        adopt_home(home)


_WRITER = """
import sys
from mentis.record.record import open_record
from mentis.values.entry import Draft
with open_record(sys.argv[1]) as record:
    print("ready", flush=True)
    while True:
        draft = Draft("note", "test", {"n": "x" * 500})
        record.ledger.append(record.agent, [draft], record.stamp())
"""


@pytest.mark.slow
def test_a_copy_that_is_made_while_somebody_writes_opens_as_one_or_says_why_not(
    home: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", _WRITER, home]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        copies = [shutil.copytree(home, tmp_path / f"copy-{n}") for n in range(20)]
        writer.kill()
    adopted, refused = 0, list[str]()
    for number, copy in zip(count(), map(Path, copies), strict=False):
        try:
            assert original(copy) == home.resolve()
            sound = not findings(copy)
            adopt_home(copy)
            add(copy, 1)
        except MentisError as error:
            refused.append(error.hint)
        else:
            assert sound, number
            adopted += 1
            assert findings(copy) == []
    assert adopted
    assert all(refused)
    add(home, 1)
    assert findings(home) == []
