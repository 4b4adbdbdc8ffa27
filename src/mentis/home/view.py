"""The folder of a home that lies in a database: a view of its files, and where they are edited.

`view.json` beside them says which revision they are of, and what each was then. What changed there
since comes here before anything is read, what was changed here goes there after it, and neither
overwrites the other. What only this machine needs is in no database: its locks and indexes, what
waits for it as files, what was typed here, and the secret, which whoever holds the database must
not have.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from mentis.codec.forms import parse
from mentis.disk.atomic import sync_folder, unwritable, write_atomic
from mentis.disk.inside import inside
from mentis.disk.lock import folder_lock
from mentis.errors import BadInput, HomeMissing, StoreConflict, StoreDamaged
from mentis.settings.settings import Settings
from mentis.settings.sources import load_settings
from mentis.stores.files.home import Home
from mentis.stores.postgres.files import GONE, FileRow, PostgresFiles
from mentis.values.digest import Digest
from mentis.values.value import Value

from .learned_facts import FILE as LEARNED
from .server import OWN_FILE, is_served, open_postgres

MANIFEST = "view.json"
ASIDE = "moved"  # what was in the home before it was moved
_MACHINE = frozenset({"owners", "index", "blobs", "status", "spool", "senses", ASIDE, "recordings"})
_OWN = frozenset({MANIFEST, "secret.key", "chat-history", LEARNED})
_DATABASES = ("mentis.db", OWN_FILE)
_MOST_BYTES = 16 * 1024 * 1024
_BUSY_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ViewStatus(Value):
    """Which revision the folder shows, the newest one, and the files that were changed here."""

    shown: int
    newest: int
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Shown:
    revision: int
    files: Mapping[str, Digest]


def is_view(path: Path) -> bool:
    """Whether this folder is one: asked for every command, so nothing is read."""
    return (path / MANIFEST).is_file()


class HomeView:
    def __init__(self, home: Home, files: PostgresFiles) -> None:
        self._home = home
        self._files = files

    def status(self) -> ViewStatus:
        shown = _read_shown(self._home)
        changed = (file.path for file in _changed(self._home, shown))
        return ViewStatus(shown.revision, self._files.newest, tuple(changed))

    def pull(self) -> tuple[str, ...]:
        """Take what changed there; which files these were. StoreConflict, and nothing is taken,
        where one was changed here as well.
        """
        shown = _read_shown(self._home)
        if self._files.newest == shown.revision:
            return ()
        with self._alone():
            rows, newest = self._since(shown.revision)
            mine = {file.path: file.digest for file in _changed(self._home, shown)}
            both = [row.path for row in rows if mine.get(row.path, row.digest) != row.digest]
            if both:
                raise StoreConflict(
                    f"{', '.join(both)} changed both here and in the database",
                    hint="`mentis view discard` takes what is there, and keeps yours beside it",
                    path=both[0],
                )
            return self._take(rows, newest, shown)

    def push(self) -> tuple[str, ...]:
        """Keep there what was changed here; StoreConflict where somebody else was first."""
        with self._alone():
            shown = _read_shown(self._home)
            changed = _changed(self._home, shown)
            if not changed:
                return ()
            revision = self._files.save(changed, shown.files)
            # What others changed meanwhile is between the two numbers: it is not skipped.
            behind = revision - len(changed) != shown.revision
            files = {**shown.files, **{file.path: file.digest for file in changed}}
            _write_shown(self._home, _Shown(shown.revision if behind else revision, files))
            return tuple(file.path for file in changed)

    def discard(self) -> tuple[str, ...]:
        """Take what is there, also where it was changed here: that stays beside as `FILE.mine`."""
        with self._alone():
            shown = _read_shown(self._home)
            changed = {file.path for file in _changed(self._home, shown)}
            for name in sorted(changed):
                path = inside(self._home.path, name)
                if path.is_file():
                    path.replace(path.with_name(f"{path.name}.mine"))
            rows, newest = self._since(0)
            wanted = [row for row in rows if row.path in changed or _news(row, shown)]
            self._take(wanted, newest, shown)
            return tuple(sorted(changed))

    def lay_out(self) -> None:
        """All files, into a folder that has none of them yet."""
        with self._alone():
            self._take(*self._since(0), _Shown(0, {}))

    def _since(self, revision: int) -> tuple[tuple[FileRow, ...], int]:
        rows, newest = self._files.since(revision)
        if not self._files.newest or newest < revision:
            raise HomeMissing(
                f"the home that {self._home.path} shows is not in its database any more",
                hint="it was moved away: use it where it is now; this folder can go",
                path=str(self._home.path),
            )
        return rows, newest

    def _take(self, rows: Sequence[FileRow], newest: int, shown: _Shown) -> tuple[str, ...]:
        for row in rows:
            _lay(self._home, row)
        files = {**shown.files, **{row.path: row.digest for row in rows}}
        _write_shown(self._home, _Shown(newest, files))
        return tuple(row.path for row in rows)

    @contextmanager
    def _alone(self) -> Generator[None]:
        self._home.owners.mkdir(mode=0o700, exist_ok=True)
        with folder_lock(self._home.owners, seconds=_BUSY_SECONDS):
            yield


@contextmanager
def open_view(home: Home, environ: Mapping[str, str]) -> Generator[HomeView]:
    """HomeMissing for a folder that shows no home of a database."""
    if not is_view(home.path):
        raise HomeMissing(
            f"{home.path} is a home of its own: nothing of it lies in a database",
            hint="`mentis move URL` moves it there",
            path=str(home.path),
        )
    with open_postgres(load_settings(home.path, environ), environ) as server:
        yield HomeView(home, PostgresFiles(server))


def refresh(path: Path, environ: Mapping[str, str]) -> None:
    """Whoever opens a home opens the newest; a home of its own is that."""
    if is_view(path):
        with open_view(Home(path), environ) as view:
            view.pull()


def own_files(home: Home) -> tuple[FileRow, ...]:
    """The files of a home as they are, but for what only this machine needs. StoreDamaged for one
    that is too large to be a file of a home.
    """
    return tuple(_file(home, name) for name in sorted(_names(home)))


def check_served(settings: Settings, home: Home) -> None:
    """HomeMissing where the settings name a database and nothing of it was ever laid out here."""
    if is_served(settings) and not is_view(home.path):
        raise HomeMissing(
            f"{home.path} names a database, and shows nothing of it",
            hint=f"mentis init {home.path} --database URL --secret FILE lays it out",
            path=str(home.path),
        )


def begin_view(home: Home, revision: int, files: tuple[FileRow, ...]) -> None:
    """The folder shows these from now on."""
    _write_shown(home, _Shown(revision, {file.path: file.digest for file in files}))


def _changed(home: Home, shown: _Shown) -> list[FileRow]:
    here = {file.path: file for file in own_files(home)}
    changed = [file for file in here.values() if shown.files.get(file.path, GONE) != file.digest]
    gone = (name for name, digest in shown.files.items() if digest and name not in here)
    return sorted([*changed, *(FileRow(name, None) for name in gone)], key=lambda file: file.path)


def _news(row: FileRow, shown: _Shown) -> bool:
    return shown.files.get(row.path, GONE) != row.digest


def _names(home: Home) -> Generator[str]:
    for folder, folders, names in os.walk(home.path):
        inner = Path(folder).relative_to(home.path)
        folders[:] = sorted(one for one in folders if not _is_machines(inner / one))
        for name in names:
            path = inner / name
            if not _is_own(path) and (home.path / path).is_file():
                yield path.as_posix()


def _is_machines(folder: Path) -> bool:
    """Folders that stay here. The memory of a persona is revisions, and no files."""
    parts = folder.parts
    return (
        parts[0] in _MACHINE
        or parts[0] == ".git"
        or parts[-1] == "__pycache__"
        or (len(parts) == 3 and (parts[0], parts[2]) == ("personas", "memory"))
    )


def _is_own(file: Path) -> bool:
    if len(file.parts) == 1 and (file.name in _OWN or file.name.startswith(_DATABASES)):
        return True
    if file.name.endswith((".mine", ".lock")) or file.name == ".lock":
        return True
    return file.name.startswith(".") and file.name.endswith(".tmp")


def _file(home: Home, name: str) -> FileRow:
    path = inside(home.path, name)
    try:
        status = path.stat()
        if status.st_size > _MOST_BYTES:
            raise StoreDamaged(
                f"{path} has {status.st_size} bytes, and {_MOST_BYTES} are the most that a file of"
                " a home may have in a database",
                hint="put it outside of the home, such as a model, and name it by its whole path",
                file=str(path),
            )
        return FileRow(name, path.read_bytes(), runs=bool(status.st_mode & 0o100))
    except OSError as error:
        raise unwritable(path, error) from error


def _lay(home: Home, row: FileRow) -> None:
    path = inside(home.path, row.path)
    try:
        if row.data is None:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomic(path, row.data)
        if row.runs:
            path.chmod(path.stat().st_mode | 0o100)
        sync_folder(path.parent)
    except OSError as error:
        raise unwritable(path, error) from error


def _read_shown(home: Home) -> _Shown:
    path = home.path / MANIFEST
    try:
        told = cast("dict[str, object]", parse(path.read_text(), what=str(path)))
        files = cast("dict[str, str]", told["files"])
        return _Shown(int(cast("int", told["revision"])), dict(files))
    except (OSError, BadInput, KeyError, TypeError, ValueError) as error:
        raise StoreDamaged(
            f"{path} cannot be read: {error}",
            hint="without it nobody can say what was changed here: lay the home out in an empty"
            " folder with `mentis init FOLDER --database URL`, and compare",
            file=str(path),
        ) from error


def _write_shown(home: Home, shown: _Shown) -> None:
    told = {"revision": shown.revision, "files": dict(sorted(shown.files.items()))}
    write_atomic(home.path / MANIFEST, f"{json.dumps(told, indent=1)}\n")


def view_status(home: str | Path, environ: Mapping[str, str] | None = None) -> ViewStatus:
    """What a folder shows of the home in a database, and what was changed in it."""
    with open_view(Home(Path(home)), _variables(environ)) as view:
        return view.status()


def pull_view(home: str | Path, environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Take the files that others changed; StoreConflict where they were changed here, too."""
    with open_view(Home(Path(home)), _variables(environ)) as view:
        return view.pull()


def push_view(home: str | Path, environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Keep the files that were changed here for all; StoreConflict where others were first."""
    with open_view(Home(Path(home)), _variables(environ)) as view:
        return view.push()


def discard_view(home: str | Path, environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Take what is there; a file that was changed here stays beside it, as `FILE.mine`."""
    with open_view(Home(Path(home)), _variables(environ)) as view:
        return view.discard()


def _variables(environ: Mapping[str, str] | None) -> Mapping[str, str]:
    return os.environ if environ is None else environ
