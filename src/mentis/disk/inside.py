"""Paths that stay inside their folder."""

from __future__ import annotations

import os
from pathlib import Path

from mentis.errors import OutsideHome


def inside(root: Path, name: str) -> Path:
    """`root / name` if that is inside `root`, also once every link is followed."""
    path = root / name
    try:
        stays = path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a null byte
        raise _outside(name, root) from error
    if not stays or Path(name).is_absolute() or ".." in Path(name).parts:
        raise _outside(name, root)
    return path


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
