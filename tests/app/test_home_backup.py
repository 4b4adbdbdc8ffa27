"""A home is backed up while it is used, and restored whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from mentis.app.home_backup import backup_home, list_backups
from mentis.app.home_restore import restore_home
from mentis.codec.forms import to_json
from mentis.errors import (
    BackupError,
    HomeCopy,
    HomeExists,
    RolledBack,
    StoreFull,
    UsageError,
)
from mentis.home.create import create_home
from mentis.record import rotation
from mentis.record.record import open_record
from mentis.record.verify_home import verify_home
from mentis.stores.sqlite import backup_file
from mentis.stores.sqlite.backup_file import PIECE, HomeSnapshot, StoredFile, write_backups
from mentis.surfaces.cli.main import run
from mentis.values.entry import Draft


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = create_home(tmp_path / "home")
    add(path, 3)
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "disk" / "home.backup" if (tmp_path / "disk").mkdir() is None else tmp_path


def add(home: Path, number: int, text: str = "") -> None:
    drafts = [Draft("note", "test", {"n": n, "text": text}) for n in range(number)]
    with open_record(home) as record:
        record.ledger.append(record.agent, drafts, record.stamp())


def entries(home: Path) -> int:
    with open_record(home, readonly=True) as record:
        return record.store.count(record.agent)


def findings(home: Path) -> list[str]:
    return [finding.message for one in verify_home(home) for finding in one.findings]


def contents(home: Path) -> dict[str, bytes]:
    return {
        path.relative_to(home).as_posix(): path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file() and not path.name.startswith("mentis.db")
    }


def test_what_was_backed_up_is_restored_as_it_was(home: Path, file: Path, tmp_path: Path) -> None:
    (home / "personas" / "ada" / "notes.md").write_text("Grüße", encoding="utf-8")
    (home / "tool.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    (home / "tool.sh").chmod(0o700)
    done = backup_home(home, file)
    assert (done.backup.record, done.backup.agents) == ("ok", {"home/ada": 3})
    restored = restore_home(file, tmp_path / "restored")
    assert contents(tmp_path / "restored") == contents(home)
    assert os.access(tmp_path / "restored" / "tool.sh", os.X_OK)
    assert not os.access(tmp_path / "restored" / "profile.toml", os.X_OK)
    assert restored.original == str(home.resolve())
    assert entries(tmp_path / "restored") == 3
    assert findings(tmp_path / "restored") == []


def test_what_is_restored_beside_its_home_is_a_copy_of_it(
    home: Path, file: Path, tmp_path: Path
) -> None:
    backup_home(home, file)
    restore_home(file, tmp_path / "restored")
    with pytest.raises(HomeCopy):
        add(tmp_path / "restored", 1)
    add(home, 1)
    assert findings(home) == []


def test_what_is_restored_in_its_place_is_the_home_and_says_what_is_lost(
    home: Path, file: Path
) -> None:
    backup_home(home, file)
    add(home, 2)
    with open_record(home) as record:
        record.checkpoint()
    with pytest.raises(HomeExists):
        restore_home(file, home)
    done = restore_home(file, home, replace=True)
    assert (done.original, done.lost) == ("", {"home/ada": 2})
    assert entries(Path(done.aside)) == 5
    with pytest.raises(RolledBack):
        add(home, 1)
    with pytest.raises(HomeCopy):
        add(Path(done.aside), 1)


def test_a_backup_of_all_that_there_is_is_restored_in_its_place_and_goes_on(
    home: Path, file: Path
) -> None:
    backup_home(home, file)
    shutil.rmtree(home)
    assert restore_home(file, home).lost == {}
    add(home, 1)
    assert entries(home) == 4
    assert findings(home) == []


def test_what_does_not_change_is_kept_once(home: Path, file: Path) -> None:
    (home / "large.bin").write_bytes(os.urandom(40 * PIECE))
    first = backup_home(home, file)
    assert first.fresh >= 40 * PIECE
    size = file.stat().st_size
    assert backup_home(home, file).fresh == 0
    add(home, 1)
    third = backup_home(home, file)
    assert 0 < third.fresh < first.fresh / 2
    assert file.stat().st_size < size * 1.5
    assert [one.number for one in list_backups(file)] == [1, 2, 3]


def test_any_backup_in_the_file_can_be_restored(home: Path, file: Path, tmp_path: Path) -> None:
    for _ in range(3):
        backup_home(home, file)
        add(home, 1)
    for number, size in ((1, 3), (2, 4), (3, 5)):
        restore_home(file, tmp_path / f"r{number}", at=number)
        assert entries(tmp_path / f"r{number}") == size
    with pytest.raises(BackupError, match="no backup 4"):
        restore_home(file, tmp_path / "r4", at=4)


def test_backups_that_are_let_go_leave_nothing_of_what_only_they_had(
    home: Path, file: Path
) -> None:
    secret = home / "personas" / "ada" / "secret.txt"
    secret.write_text("the word is swordfish", encoding="utf-8")
    backup_home(home, file)
    secret.unlink()
    packed = zlib.compress(b"the word is swordfish", 6)
    assert packed in file.read_bytes()
    backup_home(home, file, keep=1)
    assert packed not in file.read_bytes()
    assert [one.number for one in list_backups(file)] == [2]


def test_links_and_pipes_are_left_out_and_said_and_no_lock_is_taken_along(
    home: Path, file: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").write_text("not of the home", encoding="utf-8")
    (home / "link").symlink_to(tmp_path / "outside")
    (home / "folder").symlink_to(tmp_path)
    (home / ".lock").touch()
    done = backup_home(home, file)
    assert [one.rpartition(" ")[2] for one in done.backup.remarks] == ["folder", "link"]
    restore_home(file, tmp_path / "restored")
    there = {path.name for path in (tmp_path / "restored").rglob("*")}
    assert not there & {"link", "folder", ".lock", "outside", "owners"}


def test_no_key_is_in_a_backup(home: Path, file: Path, tmp_path: Path) -> None:
    backup_home(home, file)
    restore_home(file, tmp_path / "restored")
    assert not list((tmp_path / "restored").rglob("*.pem"))


def test_a_record_that_does_not_verify_is_backed_up_and_that_is_said(
    home: Path, file: Path
) -> None:
    with closing(sqlite3.connect(home / "mentis.db")) as connection, connection:
        connection.execute("UPDATE ledger SET time = '2020-01-01T00:00:00.000000Z' WHERE idx = 1")
    assert "home/ada: " in backup_home(home, file).backup.record
    assert run(["--home", str(home), "backup", str(file)]) == 1


def test_a_file_in_the_home_or_of_another_program_takes_no_backup(
    home: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="inside the home"):
        backup_home(home, home / "x.backup")
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE mine (x)")
    before = other.read_bytes()
    with pytest.raises(BackupError, match="tables"):
        backup_home(home, other)
    assert other.read_bytes() == before
    (tmp_path / "text").write_text("no database at all, " * 50, encoding="utf-8")
    with pytest.raises(BackupError):
        backup_home(home, tmp_path / "text")
    (tmp_path / "link").symlink_to(other)
    with pytest.raises(BackupError, match="no plain file"):
        backup_home(home, tmp_path / "link")


def test_segments_and_what_was_erased_are_in_it(home: Path, file: Path, tmp_path: Path) -> None:
    with open_record(home) as record:
        record.erase(0, ["text"], reason="asked")
        rotation.rotate(record, 2)
    assert backup_home(home, file).backup.record == "ok"
    restore_home(file, tmp_path / "restored")
    assert findings(tmp_path / "restored") == []


def test_what_changes_while_it_is_read_is_read_again(
    home: Path, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that somebody writes just when the database is copied."""
    from mentis.app import home_backup

    real, rest = home_backup.copy_database, iter(range(2))

    def copy(path: Path, target: Path) -> None:
        real(path, target)
        if (number := next(rest, None)) is not None:
            (home / "profile.toml").write_text(f'name = "{number}"\n', encoding="utf-8")

    monkeypatch.setattr(home_backup, "copy_database", copy)
    assert backup_home(home, file).backup.remarks == ()
    restore_home(file, tmp_path / "restored")
    assert (tmp_path / "restored" / "profile.toml").read_text("utf-8") == 'name = "1"\n'


_WRITER = """
import sys
from mentis.record.record import open_record
from mentis.values.entry import Draft
with open_record(sys.argv[1]) as record:
    while True:
        draft = Draft("note", "test", {"n": "x" * 500})
        record.ledger.append(record.agent, [draft], record.stamp())
        print(record.store.count(record.agent), flush=True)
"""


@pytest.mark.slow
def test_a_backup_while_somebody_writes_has_all_that_was_acknowledged_before(
    home: Path, file: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", _WRITER, home]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for number in range(1, 6):
            known = int(writer.stdout.readline())
            done = backup_home(home, file)
            assert done.backup.record == "ok"
            assert done.backup.agents["home/ada"] >= known
            restore_home(file, tmp_path / f"r{number}")
            assert findings(tmp_path / f"r{number}") == []
        writer.kill()
    add(home, 1)
    assert findings(home) == []


# Cut short and full


def _killed(code: str, *args: str | Path) -> None:
    done = subprocess.run([sys.executable, "-c", code, *map(str, args)], check=False)
    assert done.returncode == -signal.SIGKILL


_KILL = """
import os, signal, sys
from pathlib import Path
from mentis.app import home_backup, home_restore
from mentis.stores.sqlite import backup_file
def kill(*args, **given):
    os.kill(os.getpid(), signal.SIGKILL)
def after(real):
    def call(*args, **given):
        found = real(*args, **given)
        kill()
        return found
    return call
"""
_BACKUP_STEPS = {
    "before the database is copied": "home_backup.copy_database = kill",
    "after the database was copied": "home_backup.copy_database = after(home_backup.copy_database)",
    "in the middle of what is put in": "backup_file.BackupFile.add = kill",
    "before it is all there": "backup_file.BackupFile.prune = kill",
    "before it is read again": "home_backup.read_backups = kill",
}


@pytest.mark.slow
@pytest.mark.parametrize("step", _BACKUP_STEPS)
def test_a_backup_that_is_killed_leaves_the_backups_before_it_and_can_be_made_again(
    home: Path, file: Path, tmp_path: Path, step: str
) -> None:
    backup_home(home, file)
    add(home, 1, "x" * 3000)
    code = (
        f"{_KILL}\n{_BACKUP_STEPS[step]}\nhome_backup.backup_home(sys.argv[1], sys.argv[2], keep=9)"
    )
    _killed(code, home, file)
    restore_home(file, tmp_path / "first", at=1)
    assert entries(tmp_path / "first") == 3
    backup_home(home, file)
    restore_home(file, tmp_path / "last")
    assert entries(tmp_path / "last") == 4
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.slow
def test_a_first_backup_that_is_killed_is_begun_anew(home: Path, file: Path) -> None:
    _killed(
        f"{_KILL}\nbackup_file.BackupFile.add = kill\n"
        "home_backup.backup_home(sys.argv[1], sys.argv[2])",
        home,
        file,
    )
    assert backup_home(home, file).backup.number == 1


_RESTORE_STEPS = {
    "before anything is written": "home_restore._write = kill",
    "after everything was written": "home_restore._write = after(home_restore._write)",
    "in the middle": "home_restore.os.fsync = kill",
    "between the two names": "home_restore.Path.rename = after(home_restore.Path.rename)",
    "at the end": "home_restore._told = kill",
}


@pytest.mark.slow
@pytest.mark.parametrize("step", _RESTORE_STEPS)
def test_a_restore_that_is_killed_leaves_a_whole_home_or_none_and_can_be_done_again(
    home: Path, file: Path, step: str
) -> None:
    backup_home(home, file)
    add(home, 2)
    code = (
        f"{_KILL}\n{_RESTORE_STEPS[step]}\n"
        "home_restore.restore_home(sys.argv[1], sys.argv[2], replace=True)"
    )
    _killed(code, file, home)
    aside = home.with_name("home.before-restore-1")
    if home.exists():
        assert entries(home) == (3 if aside.exists() else 5)
    assert not aside.exists() or entries(aside) == 5
    restore_home(file, home, replace=True)
    assert entries(home) == 3
    assert not home.with_name(".home.restoring").exists()


def test_a_backup_that_finds_no_room_changes_nothing(
    home: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup_home(home, file)
    before = list_backups(file)
    (home / "large.bin").write_bytes(os.urandom(30 * PIECE))
    prepared: Callable[[sqlite3.Connection], sqlite3.Connection]
    prepared = backup_file._prepared  # pyright: ignore[reportPrivateUsage]  # where a limit is set

    def full(connection: sqlite3.Connection) -> sqlite3.Connection:
        connection.execute("PRAGMA max_page_count = 100")
        return prepared(connection)

    with monkeypatch.context() as patch:
        patch.setattr(backup_file, "_prepared", full)
        with pytest.raises(StoreFull):
            backup_home(home, file)
        fresh = file.with_name("fresh.backup")
        with pytest.raises(StoreFull):
            backup_home(home, fresh)
        assert not fresh.exists()
    assert list_backups(file) == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_restore_that_finds_no_room_leaves_nothing(
    home: Path, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup_home(home, file)

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("mentis.app.home_restore.os.fsync", full)
        with pytest.raises(StoreFull):
            restore_home(file, tmp_path / "restored")
    usage = shutil.disk_usage(tmp_path)

    def narrow(_folder: Path) -> object:
        return usage._replace(free=10)

    with monkeypatch.context() as patch:
        patch.setattr("mentis.app.home_restore.shutil.disk_usage", narrow)
        with pytest.raises(StoreFull, match="10 are free"):
            restore_home(file, tmp_path / "restored")
    assert {path.name for path in tmp_path.iterdir()} == {"home", "disk"}


# Files that somebody broke or made up


def test_a_file_with_a_changed_byte_is_refused_or_restores_what_was_backed_up(
    home: Path, file: Path, tmp_path: Path
) -> None:
    (home / "large.bin").write_bytes(os.urandom(10 * PIECE))
    backup_home(home, file)
    whole, expected = file.read_bytes(), contents(home)
    step = len(whole) // 40
    refused = 0
    for place in range(0, len(whole), step):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        target = tmp_path / f"r{place}"
        try:
            restore_home(file, target)
        except BackupError:
            refused += 1
            assert not target.exists()
        else:
            assert contents(target) == expected
            assert entries(target) == 3
    assert refused > 20


@pytest.mark.parametrize("part", [0, 1, 50, 99, 4096])
def test_a_file_that_is_cut_off_is_refused(
    home: Path, file: Path, tmp_path: Path, part: int
) -> None:
    backup_home(home, file)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) * part // 100 if part < 100 else part])
    with pytest.raises(BackupError):
        restore_home(file, tmp_path / "restored")
    assert not (tmp_path / "restored").exists()


def made_up(file: Path, change: Callable[[HomeSnapshot], HomeSnapshot]) -> None:
    """The newest backup of a file, as somebody would have it."""
    with write_backups(file) as backups:
        backups.add(change(backups.snapshots()[-1]))


NAMES = (
    "../evil",
    "a/../../evil",
    "/etc/evil",
    "a//b",
    "./a",
    "a/",
    "",
    ".",
    "..",
    "a\\..\\evil",
    "C:evil",
    "nul\0l",
    "mentis.toml",
    "MENTIS.toml",
    "mentis.toml/evil",
    "personas",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_leads_out_or_is_no_name_is_refused(
    home: Path, file: Path, tmp_path: Path, name: str
) -> None:
    backup_home(home, file)

    def evil(known: HomeSnapshot) -> HomeSnapshot:
        return replace(known, files=(*known.files, replace(known.files[0], path=name)))

    made_up(file, evil)
    with pytest.raises(BackupError):
        restore_home(file, tmp_path / "deep" / "restored")
    assert {path.name for path in tmp_path.iterdir()} == {"home", "disk"}


def test_what_unpacks_to_more_than_it_may_is_refused(
    home: Path, file: Path, tmp_path: Path
) -> None:
    backup_home(home, file)
    bomb = zlib.compress(b"\0" * (50 * PIECE), 9)
    digest = sha256(b"\0" * (50 * PIECE)).hexdigest()
    zeros = sha256(b"\0" * PIECE).hexdigest()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("INSERT INTO pieces VALUES (?, ?)", (digest, bomb))
        connection.execute(
            "INSERT INTO pieces VALUES (?, ?)", (zeros, zlib.compress(b"\0" * PIECE))
        )
    large = StoredFile("large", 50 * PIECE, digest, (digest,))
    many = 2**31 // PIECE
    endless = StoredFile("endless", 2**31, zeros, (zeros,) * many)
    for number, file_of in enumerate((large, replace(large, size=PIECE), endless)):
        made_up(file, lambda known, one=file_of: replace(known, files=(*known.files[:8], one)))
        with pytest.raises(BackupError):
            restore_home(file, tmp_path / f"r{number}")
        assert not (tmp_path / f"r{number}").exists()
    told = zlib.compress(b"[" * (65 * 1024 * 1024), 9)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("INSERT INTO snapshots (told) VALUES (?)", (told,))
    with pytest.raises(BackupError, match="larger than it may be"):
        restore_home(file, tmp_path / "told")


def test_a_file_with_other_tables_or_a_trigger_is_refused(
    home: Path, file: Path, tmp_path: Path
) -> None:
    backup_home(home, file)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE VIEW mine AS SELECT 1")
    with pytest.raises(BackupError, match="tables"):
        restore_home(file, tmp_path / "restored")


def test_a_file_of_a_newer_version_is_left_alone(home: Path, file: Path) -> None:
    backup_home(home, file)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 9")
    with pytest.raises(BackupError, match="newer"):
        list_backups(file)


def test_a_backup_that_is_of_no_home_or_missing_is_said(
    home: Path, file: Path, tmp_path: Path
) -> None:
    with pytest.raises(BackupError, match="no file of backups"):
        list_backups(tmp_path / "nowhere")
    backup_home(home, file)
    made_up(file, lambda known: replace(known, files=()))
    with pytest.raises(BackupError, match="of no home"):
        restore_home(file, tmp_path / "restored")
    assert to_json(list_backups(file)[0])


def test_a_folder_with_something_else_is_not_touched(
    home: Path, file: Path, tmp_path: Path
) -> None:
    backup_home(home, file)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").touch()
    with pytest.raises(HomeExists, match="something else"):
        restore_home(file, tmp_path / "other", replace=True)
    with pytest.raises(HomeExists, match="this is a file"):
        restore_home(file, tmp_path / "other" / "thesis.txt", replace=True)
    (tmp_path / "empty").mkdir()
    restore_home(file, tmp_path / "empty")
    assert entries(tmp_path / "empty") == 3


def test_the_commands_back_up_list_restore_and_adopt(
    home: Path, file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["--home", str(home), "backup", str(file)]) == 0
    assert run(["backup", str(file), "--list", "--json"]) == 0
    assert run(["restore", str(file), str(tmp_path / "restored")]) == 0
    assert run(["--home", str(tmp_path / "restored"), "adopt", "--yes"]) == 0
    assert run(["--home", str(tmp_path / "restored"), "verify"]) == 0
    told = capfd.readouterr()
    assert "is a home of its own now" in told.out
    assert "it is a copy of" in told.err
    assert run(["--home", str(home), "restore", str(file)]) == 1
    assert run(["--home", str(home), "restore", str(file), "--yes"]) == 0
