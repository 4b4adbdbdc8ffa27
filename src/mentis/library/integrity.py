"""Looks at every prompt file when a home is opened. What is broken is kept aside, never removed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from mentis.disk.atomic import unwritable, write_atomic
from mentis.disk.inside import inside
from mentis.errors import MentisError
from mentis.values.digest import digest
from mentis.values.location import Location, Problem
from mentis.values.value import Value

from .layer import Layer
from .owner_files import PENDING
from .shelf import Shelf

ASIDE = "_meta/aside"


@dataclass(frozen=True, slots=True)
class Integrity(Value):
    """Which files were looked at, what is wrong, and where copies of broken files are kept."""

    checked: tuple[str, ...]
    problems: tuple[Problem, ...] = ()
    kept_aside: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        return not any(problem.severity == "error" for problem in self.problems)


def validate_integrity(shelf: Shelf) -> Integrity:
    """Runs at open. A broken file disables only its own blocks; a copy of it is kept once, so
    that mending it can not lose anything."""
    loaded = shelf.current()
    owner = loaded.owner
    copies: dict[str, str] = {}
    warnings: list[Problem] = []
    for name in broken_files(owner, shelf.root):
        try:
            copies[str(shelf.root / name)] = keep_aside(shelf.root, name)
        except MentisError as error:
            place = Location(str(shelf.root / name))
            message = f"no copy of this broken file could be kept: {error.message}"
            warnings.append(Problem(error.code, message, place, error.hint, "warning"))
    checked = {*owner.files, *(name.partition("#")[0] for name in owner.broken)}
    problems = tuple(_with_copy(problem, copies) for problem in loaded.problems)
    kept = tuple(sorted(copies.values()))
    return Integrity(tuple(sorted(checked)), (*problems, *warnings), kept)


def broken_files(owner: Layer, root: Path) -> list[str]:
    """Files that hold something that cannot be used; not folders, and not links that lead out."""
    names = [name for name in owner.broken if "#" not in name and name not in (".", PENDING)]
    return [name for name in names if (root / name).is_file() and _stays(root, name)]


def keep_aside(root: Path, name: str) -> str:
    """Copy a file to where nothing ever removes it; the name tells its content."""
    try:
        data = (root / name).read_bytes()
    except OSError as error:
        raise unwritable(root / name, error) from error
    short = digest(data).removeprefix("sha256:")[:8]
    kept = f"{ASIDE}/{Path(name).name}.{short}"
    target = inside(root, kept)
    if not target.is_file():
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(target.parent, error) from error
        write_atomic(target, data)
    return kept


def _stays(root: Path, name: str) -> bool:
    try:
        inside(root, name)
    except MentisError:
        return False
    return True


def _with_copy(problem: Problem, copies: dict[str, str]) -> Problem:
    kept = copies.get(problem.location.file) if problem.location else None
    if kept is None:
        return problem
    said = f"{problem.hint}; " if problem.hint else ""
    return replace(problem, hint=f"{said}a copy is kept in {kept}")
