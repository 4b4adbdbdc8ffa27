"""Backups of a home, made while everything runs.

The database is copied by SQLite as it is at one moment; the files are read before it, those that
entries name by their content (results, segments) after it. If others changed meanwhile, all of it
is read again. Keys are in no backup: they lie outside of the home.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from mentis.disk.atomic import unwritable
from mentis.errors import MentisError, UsageError
from mentis.home.identity import home_name, persona_of
from mentis.home.older_turns import OlderTurns
from mentis.home.parts import Parts
from mentis.home.system import SystemClock
from mentis.ledger.chain import format_time
from mentis.record.evidence import gather_home_evidence
from mentis.record.segments import open_segments
from mentis.record.source import lock_changes
from mentis.record.verify import VerifyEvidence, verify_agent
from mentis.settings.settings import Settings
from mentis.settings.sources import load_settings
from mentis.stores.files.home import Home, find_home
from mentis.stores.sqlite.backup_file import (
    BackupFile,
    HomeSnapshot,
    StoredFile,
    read_backups,
    write_backups,
)
from mentis.stores.sqlite.database import Database, copy_database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.system.files import READ, open_file
from mentis.values.value import Value

_TRIES = 5
# What comes and goes by itself: seen before the database was copied is enough, since what is taken
# twice counts once.
_QUEUES = ("status", "spool", "senses")
_BY_CONTENT = ("blobs", "ledger")
_NEVER = ("owners", "index")  # who is doing acts just now; what is made of the store
_ENDS = ("-wal", "-shm", "-journal")


@dataclass(frozen=True, slots=True)
class BackupInfo(Value):
    """One backup in a file of backups."""

    number: int
    time: str
    home: str
    files: int
    size: int
    agents: dict[str, int]  # how many entries each had
    record: str  # "ok", or what verification found first
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BackupResult(Value):
    """What was backed up, and how many bytes of it the file did not have yet."""

    file: str
    backup: BackupInfo
    fresh: int


def backup_home(
    home: str | Path, file: str | Path, parts: Parts | None = None, *, keep: int | None = None
) -> BackupResult:
    """Add a backup of the home to a file, and read it again. It blocks; others go on meanwhile, but
    for who erases or rotates.

    With `keep` only the newest so many stay in the file. A record that does not verify is backed up
    all the same, and that is said.
    """
    place, path, parts = find_home(Path(home)), Path(file), parts or Parts()
    if keep is not None and keep < 1:
        raise UsageError("at least one backup is kept", hint="name how many, as --keep 7")
    if path.absolute().resolve().is_relative_to(place.path.resolve()):
        raise UsageError(
            f"{path} is inside the home, so whoever loses the home loses it, too",
            hint="name a file on another disk",
        )
    settings = load_settings(place.path, parts.variables)
    known = gather_home_evidence(place, settings, parts.variables)
    with write_backups(path) as backups:
        with _work_folder(path) as folder, lock_changes(place, settings):
            files, remarks = _taken(place, backups, folder)
            agents, record = _verified(place, settings, folder / place.database.name, known)
        clock = parts.clock or SystemClock()
        snapshot = HomeSnapshot(
            format_time(clock.now()),
            str(place.path.resolve()),
            settings.model.ledger.origin,
            agents,
            record,
            tuple(files.values()),
            (*remarks, *_elsewhere(settings)),
        )
        number, fresh = backups.add(snapshot), backups.taken.fresh
        if keep is not None:
            backups.prune(keep)
    with read_backups(path) as backups:
        backups.check(backups.snapshot(number))
    return BackupResult(str(path), _info(replace(snapshot, number=number)), fresh)


def list_backups(file: str | Path) -> tuple[BackupInfo, ...]:
    """Oldest first."""
    with read_backups(Path(file)) as backups:
        return tuple(map(_info, backups.snapshots()))


def _info(snapshot: HomeSnapshot) -> BackupInfo:
    return BackupInfo(
        snapshot.number,
        snapshot.time,
        snapshot.home,
        len(snapshot.files),
        snapshot.size,
        snapshot.agents,
        snapshot.record,
        snapshot.remarks,
    )


@contextmanager
def _work_folder(file: Path) -> Generator[Path]:
    """Beside the file. Nobody else makes a backup into it now, so others are of who was killed."""
    prefix = f".{file.name}.copy-"
    try:
        for left in file.absolute().parent.glob(f"{prefix}*"):
            shutil.rmtree(left, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=file.absolute().parent))
    except OSError as error:
        raise unwritable(file, error) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _taken(
    home: Home, backups: BackupFile, folder: Path
) -> tuple[Mapping[str, StoredFile], tuple[str, ...]]:
    """All files as they were at one moment, and what is to be said of them."""
    files: dict[str, StoredFile] = {}
    odd: tuple[str, ...] = ()
    changed: list[str] = []
    for _ in range(_TRIES):
        files, before = {}, _Look(home)
        for name in before.names(without=_BY_CONTENT):
            _put(home, name, backups, files)
        _put_database(home, backups, folder, files)
        after = _Look(home)
        for name in after.names(only=_BY_CONTENT):
            _put(home, name, backups, files)
        odd, changed = after.odd, before.changed(after)
        if not changed:
            break
    told = [f"changed while it was read: {name}" for name in changed]
    return files, (*(f"left out, since it is no plain file: {name}" for name in odd), *told)


class _Look:
    """Which files a home has just now, and what a change of one would change."""

    def __init__(self, home: Home) -> None:
        self._found: dict[str, tuple[int, ...]] = {}
        odd: list[str] = []
        for folder, folders, names in os.walk(home.path):
            inner = Path(folder).relative_to(home.path)
            folders[:] = sorted(one for one in folders if (inner / one).parts[0] not in _NEVER)
            for name in sorted(
                [*names, *(one for one in folders if Path(folder, one).is_symlink())]
            ):
                path = (inner / name).as_posix()
                if _is_ours(home, path):
                    self._look(home, path, odd)
        self.odd = tuple(odd)

    def _look(self, home: Home, path: str, odd: list[str]) -> None:
        try:
            status = (home.path / path).lstat()
        except OSError:
            return  # gone meanwhile
        if stat.S_ISREG(status.st_mode):
            self._found[path] = (status.st_ino, status.st_size, status.st_mtime_ns)
        else:
            odd.append(path)

    def names(self, *, only: tuple[str, ...] = (), without: tuple[str, ...] = ()) -> Iterator[str]:
        for path in self._found:
            top = path.split("/", 1)[0]
            if top not in without and (not only or top in only):
                yield path

    def changed(self, later: _Look) -> list[str]:
        apart = {*self.names(without=(*_QUEUES, *_BY_CONTENT))}
        apart |= {*later.names(without=(*_QUEUES, *_BY_CONTENT))}
        return sorted(one for one in apart if self._found.get(one) != later._found.get(one))


def _is_ours(home: Home, path: str) -> bool:
    """Not the database, nor what is there only while something is being written."""
    name = path.rpartition("/")[2]
    database = home.database.name
    if path == database or path in {f"{database}{end}" for end in _ENDS}:
        return False
    return name != ".lock" and not (name.startswith(".") and name.endswith(".tmp"))


def _put(home: Home, name: str, backups: BackupFile, files: dict[str, StoredFile]) -> None:
    """One that is gone meanwhile is not there; links are not followed."""
    try:
        with os.fdopen(open_file(home.path / name, READ), "rb") as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode):
                files[name] = backups.put(name, file, runs=bool(status.st_mode & 0o100))
    except FileNotFoundError:
        return
    except OSError as error:
        raise unwritable(home.path / name, error) from error


def _put_database(
    home: Home, backups: BackupFile, folder: Path, files: dict[str, StoredFile]
) -> None:
    copy = folder / home.database.name
    copy.unlink(missing_ok=True)
    if not home.database.exists():
        return
    try:
        with Database(home.database, readonly=True) as database, database.translate_errors():
            copy_database(home.database, copy)
        with copy.open("rb") as file:
            files[copy.name] = backups.put(copy.name, file)
    except OSError as error:
        raise unwritable(copy, error) from error


def _verified(
    home: Home, settings: Settings, copy: Path, known: VerifyEvidence
) -> tuple[dict[str, int], str]:
    """How many entries each agent has in the copy, and whether its record holds."""
    if not copy.exists() or settings.model.ledger.store != "sqlite":
        return {}, "not looked at"
    try:
        with (
            Database(copy, readonly=True) as database,
            closing(SqliteLedger(database)) as store,
        ):
            agents = {agent: store.count(agent) for agent in store.agents()}
            talk = OlderTurns(store, database)
            for agent in agents:
                persona = persona_of(agent, home_name(home, settings))
                segments = open_segments(home, settings, persona, agent)
                asked = replace(known, segments=segments, alone=None, beside=frozenset(agents))
                if findings := verify_agent(agent, store, talk, asked).findings:
                    return agents, f"{agent}: {findings[0].message}"
    except MentisError as error:
        return {}, error.message
    return agents, "ok"


def _elsewhere(settings: Settings) -> Iterator[str]:
    """What a home keeps outside of it, and nobody finds in a backup of it."""
    chosen = settings.model
    if chosen.ledger.store != "sqlite" or chosen.memories.store != "sqlite":
        yield "what is in PostgreSQL is not in it: pg_dump, or the backups of the server"
    segments = chosen.ledger.segments
    if segments and Path(segments).is_absolute():
        yield f"the segments in {segments} are not in it"
