"""Changes several files as one: a reader sees all of the change or nothing of it.

The new files are written beside the old ones first. Then a journal names them, and from the
moment it stands the change has happened: whoever reads takes the new file where it still waits
under its temporary name. The files are given their names, and the journal goes. A process that
dies before the journal stands leaves the old state, one that dies after it the new one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from mentis.errors import StoreDamaged, StoreError
from mentis.values.digest import digest

from .atomic import sync_folder, unwritable, write_atomic, write_beside
from .inside import inside

_TEMPORARY = re.compile(r"\..+\.[a-z0-9_]{8}\.tmp")


@dataclass(frozen=True, slots=True)
class PendingFile:
    """A file that is to be replaced by `temporary`, or to go. `old` is the digest it has now."""

    temporary: str | None
    old: str | None


def change_together(root: Path, changes: Mapping[str, bytes | None], *, journal: str) -> None:
    """Write or, where the content is None, remove these files of `root`. Callers hold a lock."""
    paths = {name: inside(root, name) for name in changes}
    real = {
        name: new for name, new in changes.items() if _digest(new) != digest_of_file(paths[name])
    }
    if len(real) == 1:
        ((name, content),) = real.items()
        _change_one(paths[name], content)
    elif real:
        _commit(root, paths, real, inside(root, journal))


def finish_change(root: Path, *, journal: str) -> bool:
    """Do the rest of a change that was cut short. Callers hold the lock."""
    path = inside(root, journal)
    if not path.is_file():
        return False
    waiting = read_journal(root, path.read_bytes(), str(path))
    for name, file in waiting.items():
        current = inside(root, name)
        # Somebody who changed the file in the meantime is not overruled.
        if digest_of_file(current) == file.old:
            _take_name(current, inside(root, file.temporary) if file.temporary else None)
    _end(root, path, waiting)
    return True


def read_journal(root: Path, content: bytes, name: str) -> dict[str, PendingFile]:
    """What a journal says; one that leads out of `root` or says nothing readable is damaged."""
    try:
        files = cast("dict[str, dict[str, str | None]]", json.loads(content)["files"])
        waiting = {
            file: PendingFile(told["temporary"], told["old"]) for file, told in files.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreDamaged(
            f"{name}: this is not the journal of a change",
            hint="look at the .tmp files beside it, keep what you need and remove it",
            file=name,
        ) from error
    for path in (*waiting, *(file.temporary for file in waiting.values() if file.temporary)):
        inside(root, path)
    return waiting


def sweep(folders: Iterable[Path]) -> None:
    """Remove new files that never got their name. Callers hold the lock and have no journal."""
    for folder in folders:
        for path in folder.glob(".*.tmp"):
            if _TEMPORARY.fullmatch(path.name):
                with suppress(OSError):  # it does no harm where it is
                    path.unlink()


def digest_of_file(path: Path) -> str | None:
    """None when there is no such file."""
    try:
        return digest(path.read_bytes())
    except FileNotFoundError:
        return None


def _digest(content: bytes | None) -> str | None:
    return None if content is None else digest(content)


def _change_one(path: Path, content: bytes | None) -> None:
    if content is not None:
        write_atomic(path, content)
        return
    try:
        path.unlink(missing_ok=True)
        sync_folder(path.parent)
    except OSError as error:
        raise unwritable(path, error) from error


def _commit(
    root: Path, paths: Mapping[str, Path], changes: Mapping[str, bytes | None], journal: Path
) -> None:
    waiting: dict[str, PendingFile] = {}
    try:
        for name, content in changes.items():
            temporary = None if content is None else write_beside(paths[name], content)
            told = str(temporary.relative_to(root)) if temporary else None
            waiting[name] = PendingFile(told, digest_of_file(paths[name]))
        write_atomic(journal, _journal(waiting))
    except BaseException:
        journal.unlink(missing_ok=True)
        for file in waiting.values():
            if file.temporary:
                (root / file.temporary).unlink(missing_ok=True)
        raise
    for name, file in waiting.items():
        _take_name(paths[name], root / file.temporary if file.temporary else None)
    _end(root, journal, waiting)


def _journal(waiting: Mapping[str, PendingFile]) -> str:
    files = {name: {"temporary": file.temporary, "old": file.old} for name, file in waiting.items()}
    return json.dumps({"version": "1.0", "files": files}, ensure_ascii=False, indent=2) + "\n"


def _take_name(path: Path, temporary: Path | None) -> None:
    try:
        if temporary is None:
            path.unlink(missing_ok=True)
        else:
            with suppress(FileNotFoundError):  # it has its name already
                temporary.replace(path)
    except OSError as error:
        raise _unfinished(path, error) from error


def _end(root: Path, journal: Path, waiting: Iterable[str]) -> None:
    try:
        for folder in {(root / name).parent for name in waiting}:
            sync_folder(folder)
        journal.unlink(missing_ok=True)
        sync_folder(journal.parent)
    except OSError as error:
        raise _unfinished(journal, error) from error


def _unfinished(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"{path}: cannot be written: {error.strerror}",
        hint="the change is kept, and the next one finishes it once the folder can be written",
        file=str(path),
    )
