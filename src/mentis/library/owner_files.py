"""The owner's prompt files on disk: found, read, and told from what they were before.

Whatever is wrong with a file is its problem, never an exception: the other files still count.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from mentis.disk.inside import inside
from mentis.errors import LibraryError, OutsideHome, UserError
from mentis.values.json import JsonObject
from mentis.values.location import Location, Problem

from .files import parse_members
from .layer import MANIFESTS, OVERRIDES, REGISTRIES, Layer, as_problem, domain_name, make_layer
from .problems import SourceFile

PENDING = "_meta/pending.json"  # the journal of a change to several files
LOCK = ".lock"
_META = (*MANIFESTS.values(), *REGISTRIES.values(), OVERRIDES, PENDING)
# File systems count time in steps: a file written this shortly before it was read may be written
# again and look the same from outside.
_STEP = 50_000_000

Key: TypeAlias = tuple[int, int, int, int]
_NOWHERE: Key = (0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class OwnerFile:
    """One file as it was read: what it holds, or why it cannot be used."""

    key: Key
    source: SourceFile | None = None
    members: JsonObject | None = None
    problem: Problem | None = None
    settled: bool = True


def scan(root: Path) -> dict[str, Key]:
    """What tells a changed file from an unchanged one, for every file of the owner's layer."""
    found, top = dict(_scan_domains(root)), f"{root}{os.sep}"
    for name in _META:
        if key := key_of(top + name):
            found[name] = key
    return found


def key_of(path: str | Path) -> Key | None:
    try:
        return _key(os.stat(path))  # noqa: PTH116  # every turn asks for each of them
    except OSError:
        return _NOWHERE if os.path.islink(path) else None  # noqa: PTH114


def read_file(root: Path, name: str, *, limit: int, at: Path | None = None) -> OwnerFile:
    """The file of this name. `at` is where it stands as long as a change is not finished."""
    path = root / name
    where = at or path
    try:
        status = where.lstat()
        if "/" in name or stat.S_ISLNK(status.st_mode):  # else there is nothing to follow
            inside(root, name)
            status = where.stat()
        _require_plain(status, limit)
        content, key = _read(where)
    except OutsideHome as error:
        message = "this is a link that leads out of the folder, and is not followed"
        return _unusable(path, message, hint=error.hint)
    except LibraryError as error:
        return _unusable(path, error.message, hint=error.hint, key=_key(where.stat()))
    except OSError as error:
        hint = "check what the link points to, and the permissions"
        return _unusable(path, f"cannot be read: {error.strerror}", hint=hint, key=key_of(where))
    return _parsed(content, path, key)


def reread(root: Path, name: str, known: OwnerFile, *, limit: int) -> OwnerFile:
    """The file again, if it looks the same but was read too soon after it was written."""
    if known.settled:
        return known
    now = read_file(root, name, limit=limit)
    if (now.source, now.problem) != (known.source, known.problem):
        return now
    return replace(known, key=now.key, settled=now.settled)


def layer_of_files(files: Mapping[str, OwnerFile], known_keys: Collection[str]) -> Layer:
    """The owner's layer, with a problem for each file that cannot be used."""
    ordered = sorted(files.items())
    return make_layer(
        "owner",
        {name: file.members for name, file in ordered if file.members is not None},
        {name: file.source for name, file in ordered if file.source is not None},
        {name: file.problem for name, file in ordered if file.problem is not None},
        known_keys=known_keys,
    )


def _scan_domains(root: Path) -> Iterator[tuple[str, Key]]:
    try:
        with os.scandir(root) as entries:
            for entry in entries:
                if domain_name(entry.name):
                    yield entry.name, _entry_key(entry)
    except (FileNotFoundError, NotADirectoryError):
        return


def _entry_key(entry: os.DirEntry[str]) -> Key:
    try:
        return _key(entry.stat())
    except OSError:  # a link to nothing, or gone meanwhile
        return _NOWHERE


def _key(status: os.stat_result) -> Key:
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _require_plain(status: os.stat_result, limit: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "no plain file"
        raise LibraryError(f"this is {kind}", hint="put a JSON file in its place, or rename it")
    if status.st_size > limit:
        raise LibraryError(
            f"the file has {status.st_size} bytes, and {limit} is the limit",
            hint="spread its blocks over several files, or raise `limits.prompt_file_bytes`",
        )


def _read(path: Path) -> tuple[bytes, Key]:
    with path.open("rb") as file:
        key = _key(os.fstat(file.fileno()))
        return file.read(), key


def _parsed(content: bytes, path: Path, key: Key) -> OwnerFile:
    settled = time.time_ns() - key[0] > _STEP
    try:
        source, members = parse_members(content, str(path))
    except UserError as fault:
        return OwnerFile(key, problem=as_problem(fault), settled=settled)
    return OwnerFile(key, source, members, settled=settled)


def _unusable(path: Path, message: str, *, hint: str, key: Key | None = None) -> OwnerFile:
    problem = Problem(LibraryError.code, message, Location(str(path)), hint)
    return OwnerFile(key or key_of(path) or _NOWHERE, problem=problem)
