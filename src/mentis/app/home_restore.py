"""A backup becomes a home again: whole, or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from mentis.disk.atomic import sync_folder, unwritable
from mentis.disk.inside import inside
from mentis.disk.lock import folder_lock
from mentis.errors import BackupError, HomeExists, MentisError, StoreFull
from mentis.home.copies import original_of, remember_instance
from mentis.home.parts import Parts
from mentis.home.signing import open_sealing
from mentis.settings.sources import load_settings
from mentis.stores.files.home import MARKER, Home
from mentis.stores.sqlite.backup_file import BackupFile, HomeSnapshot, read_backups
from mentis.stores.sqlite.database import Database
from mentis.system.files import MAKE_NEW, open_file
from mentis.values.value import Value

_BUSY_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class RestoreResult(Value):
    """Where a backup is a home again.

    `original` is the home that it is a copy of, if that is still there. `lost` says of which agents
    a checkpoint beside the key has seen more entries, and how many. `aside` is where the home is
    that stood there before.
    """

    home: str
    number: int
    time: str
    files: int
    record: str
    original: str = ""
    lost: dict[str, int] | None = None
    aside: str = ""


def restore_home(
    file: str | Path,
    folder: str | Path,
    parts: Parts | None = None,
    *,
    at: int | None = None,
    replace: bool = False,
) -> RestoreResult:
    """The newest backup of a file, or number `at`, as a home in this folder. It blocks.

    What is written is compared with its digests, and only then takes its place. A home that stands
    there is moved aside if it shall be replaced, and else HomeExists.
    """
    target, parts = Path(folder).absolute(), parts or Parts()
    with read_backups(Path(file)) as backups:
        snapshot = backups.snapshot(at)
        if MARKER not in {one.path for one in snapshot.files}:
            raise BackupError(f"backup {snapshot.number} is of no home", hint="choose another")
        _check_target(target, replace=replace)
        work = target.with_name(f".{target.name}.restoring")
        try:
            work.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(work, error) from error
        with folder_lock(work, seconds=_BUSY_SECONDS):
            try:
                _clear(work)
                _check_room(work, snapshot)
                _write(backups, snapshot, work)
                _check_database(Home(work))
                aside = _take_place(work, target)
            except BaseException:
                shutil.rmtree(work, ignore_errors=True)
                raise
    return _told(target, snapshot, parts, aside)


def _check_target(target: Path, *, replace: bool) -> None:
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise HomeExists(f"{target}: this is a file", hint="name a folder", path=str(target))
    if not target.exists() or not any(target.iterdir()):
        return
    if not (target / MARKER).is_file():
        raise HomeExists(
            f"{target} holds something else than a home", hint="name another", path=str(target)
        )
    if not replace:
        raise HomeExists(
            f"{target}: there is a home already",
            hint="name another folder, or let it be moved aside with --yes; end whoever uses it",
            path=str(target),
        )


def _clear(work: Path) -> None:
    """What somebody left there who was killed."""
    for left in work.iterdir():
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left)
        else:
            left.unlink()


def _check_room(work: Path, snapshot: HomeSnapshot) -> None:
    free = shutil.disk_usage(work).free
    if free < snapshot.size:
        raise StoreFull(
            f"{work.parent}: the backup needs {snapshot.size} bytes, and {free} are free",
            hint="free some space, or name another folder",
            file=str(work.parent),
        )


def _write(backups: BackupFile, snapshot: HomeSnapshot, work: Path) -> None:
    folders = {work}
    for file in snapshot.files:
        path = inside(work, file.path)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            folders.update(_between(work, path.parent))
            with os.fdopen(open_file(path, MAKE_NEW), "wb") as written:
                for piece in backups.contents(file):
                    written.write(piece)
                written.flush()
                os.fsync(written.fileno())
            if file.runs:
                path.chmod(0o700)
        except OSError as error:
            raise unwritable(path, error) from error
    for folder in folders:
        sync_folder(folder)


def _between(top: Path, folder: Path) -> Iterator[Path]:
    while folder != top:
        yield folder
        folder = folder.parent


def _check_database(home: Home) -> None:
    """StoreTooNew and the like before anything takes its place."""
    if home.database.exists():
        Database(home.database, readonly=True).close()
        for end in ("-wal", "-shm"):
            home.database.with_name(f"{home.database.name}{end}").unlink(missing_ok=True)


def _take_place(work: Path, target: Path) -> str:
    """Cut short between the two, what stood there is aside, and doing it again brings the other."""
    aside = ""
    try:
        if target.exists() and any(target.iterdir()):
            names = (target.with_name(f"{target.name}.before-restore-{n}") for n in count(1))
            place = next(path for path in names if not path.exists())
            target.rename(place)
            aside = str(place)
        elif target.exists():
            target.rmdir()
        work.rename(target)
        sync_folder(target.parent)
    except OSError as error:
        raise unwritable(target, error) from error
    return aside


def _told(target: Path, snapshot: HomeSnapshot, parts: Parts, aside: str) -> RestoreResult:
    original, lost = "", dict[str, int]()
    home = Home(target)
    try:
        settings = load_settings(target, parts.variables)
        copied = original_of(home, settings, parts.variables)
        if copied is None:  # before what was moved aside is taken for it
            remember_instance(home, settings, parts.variables)
        original = "" if copied is None else str(copied)
        sealing = open_sealing(home, settings, parts.variables)
        for agent, size in snapshot.agents.items() if sealing is not None else ():
            seen = sealing.last_standing(agent) if sealing is not None else None
            if seen is not None and seen.size > size:
                lost[agent] = seen.size - size
    except MentisError:
        pass  # what is wrong with its settings is for whoever opens it
    return RestoreResult(
        str(target),
        snapshot.number,
        snapshot.time,
        len(snapshot.files),
        snapshot.record,
        original,
        lost,
        aside,
    )
