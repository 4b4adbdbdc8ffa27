"""Paths that stay inside their folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from mentis.errors import OutsideHome

from .atomic import unwritable


def inside(root: Path, name: str) -> Path:
    """`root / name` if that is inside `root`, also once every link is followed."""
    relative = Path(name)
    path, parts = root / relative, relative.parts
    try:
        stays = _is_plain(root, parts) or real_path(path).is_relative_to(real_path(root))
    except PermissionError as error:
        raise unwritable(path, error) from error
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a null byte
        raise _outside(name, root) from error
    if not stays or relative.is_absolute() or ".." in parts:
        raise _outside(name, root)
    return path


def _is_plain(root: Path, parts: Sequence[str]) -> bool:
    """Whether no link stands on the way from `root`: then nothing can lead out of it."""
    here = os.fspath(root)
    for part in parts:
        here = os.path.join(here, part)  # noqa: PTH118  # a turn asks for this several times
        try:
            mode = os.lstat(here).st_mode
        except FileNotFoundError:
            return True  # nothing is there, nor below it
        if stat.S_ISLNK(mode):
            return False
    return True


def real_path(path: Path) -> Path:
    """`path` with every link followed, also where it leads to what is not there yet.

    `Path.resolve` alone is not enough: unless it is strict, it passes over a link that it cannot
    follow (from Python 3.13 on a loop, in every version a path that grew too long), as if that
    were a plain name. Strict, it takes nothing that is missing.
    """
    try:
        return path.resolve(strict=True)
    except (FileNotFoundError, NotADirectoryError):
        parent = real_path(path.parent)
    if path.name == "..":
        return parent.parent
    here = parent / path.name
    try:
        is_link = stat.S_ISLNK(here.lstat().st_mode)  # `is_symlink` takes any error for a no
    except (FileNotFoundError, NotADirectoryError):
        return here
    return real_path(parent / here.readlink()) if is_link else here


def seen_from(root: Path, text: str) -> str:
    """A text in which files inside `root` are named as they are seen from there."""
    for folder in (root.absolute(), root.resolve()):
        text = text.replace(f"{folder}{os.sep}", "")
    return text


def _outside(name: str, root: Path) -> OutsideHome:
    return OutsideHome(
        f"{name!r} leads out of {root}",
        hint="use a plain name without folders, and remove links that lead elsewhere",
        name=name,
    )
