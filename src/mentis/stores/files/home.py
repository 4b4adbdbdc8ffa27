"""The layout of a home on disk. Every path inside it comes from here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from mentis.disk.atomic import unwritable, write_atomic
from mentis.disk.inside import inside
from mentis.errors import HomeError, HomeExists, HomeMissing, OutsideHome, PersonaError

MARKER = "mentis.toml"
_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Home:
    path: Path

    @property
    def name(self) -> str:
        """The first half of every agent id."""
        return self.path.resolve().name

    @property
    def database(self) -> Path:
        return self.path / "mentis.db"

    @property
    def secret(self) -> Path:
        return self.path / "secret.key"

    @property
    def blobs(self) -> Path:
        """What is too large for the ledger."""
        return self.path / "blobs"

    @property
    def owners(self) -> Path:
        """The locks of the processes that do acts."""
        return self.path / "owners"

    @property
    def chat_history(self) -> Path:
        """What was typed in `mentis chat`, for its arrow keys."""
        return self.path / "chat-history"

    @property
    def profile(self) -> Path:
        return self.path / "profile.toml"

    @property
    def prompts(self) -> Path:
        """The owner's layer of the prompt library."""
        return self.path / "prompts"

    def persona(self, persona_id: str) -> Path:
        return self._persona_folder(persona_id) / "persona.toml"

    def memory(self, persona_id: str) -> Path:
        """The folder of the persona's own memory files."""
        return self._persona_folder(persona_id) / "memory"

    def status(self, persona_id: str) -> Path:
        """The folder where drafts for the ledger are put as files."""
        return inside(self.path, f"status/{checked_id(persona_id, 'persona')}")

    def senses(self, persona_id: str) -> Path:
        """The folder where senses for the loop are put as files."""
        return inside(self.path, f"senses/{checked_id(persona_id, 'persona')}")

    def _persona_folder(self, persona_id: str) -> Path:
        return inside(self.path, f"personas/{checked_id(persona_id, 'persona')}")

    def personas(self) -> tuple[str, ...]:
        found = (self.path / "personas").glob("*/persona.toml")
        return tuple(sorted(file.parent.name for file in found))

    def pick_persona(self, wanted: str | None, default: str = "") -> str:
        """The persona that was asked for, else the `default` of the settings, else the only one."""
        known = self.personas()
        if wanted is not None:
            if checked_id(wanted, "persona") in known:
                return wanted
            raise PersonaError(
                f"{self.path}: there is no persona {wanted!r}",
                hint=f"known: {', '.join(known) or 'none'}",
            )
        if default in known:
            return default
        if default:
            raise PersonaError(
                f"{self.path}: the default persona {default!r} is not in this home",
                hint=f"choose another with `mentis persona use ID`: {', '.join(known) or 'none'}",
            )
        if len(known) == 1:
            return known[0]
        if not known:
            raise PersonaError(
                f"{self.path}: there is no persona in this home",
                hint="write personas/NAME/persona.toml, or start over with `mentis init`",
            )
        raise PersonaError(
            f"{self.path}: there are {len(known)} personas",
            hint=f"choose one with --persona: {', '.join(known)}; `mentis persona use ID` makes one"
            " the default",
        )


def is_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def checked_id(text: str, what: str) -> str:
    """`text` if it is a safe id, else OutsideHome: ids become file names."""
    if is_id(text):
        return text
    raise OutsideHome(
        f"{text!r} is not a {what} id",
        hint="use 1 to 64 small letters, digits, dashes and underscores",
        value=text,
    )


def find_home(path: Path) -> Home:
    """The home at this path, or an error that says what is there instead."""
    try:
        there = path.exists()
    except (OSError, RuntimeError) as error:  # too long a name, a loop of links
        raise HomeError(
            f"{path}: cannot be a home: {error}", hint="choose another folder"
        ) from error
    if not there:
        raise HomeMissing(
            f"{path}: there is no home here",
            hint=f"make one with: mentis init {quote(str(path))}",
            path=str(path),
        )
    if not path.is_dir():
        raise HomeError(
            f"{path}: this is a file, and a home is a folder",
            hint="name a folder with --home",
            path=str(path),
        )
    if not (path / MARKER).is_file():
        raise HomeMissing(
            f"{path}: this folder has no {MARKER}, so it is not a home",
            hint=f"make one with: mentis init {quote(str(path))}",
            path=str(path),
        )
    return Home(path)


def check_free(path: Path, files: Iterable[str]) -> None:
    """HomeExists if one of these files, or a file in place of the folder, is there already."""
    try:
        blocked = (path.exists() or path.is_symlink()) and not path.is_dir()
    except (OSError, RuntimeError) as error:
        raise HomeError(
            f"{path}: cannot be a home: {error}", hint="choose another folder"
        ) from error
    if blocked:
        raise HomeExists(f"{path}: this is a file", hint="choose a folder", path=str(path))
    taken = [name for name in files if (path / name).exists()]
    if taken:
        raise HomeExists(
            f"{path}: {taken[0]} is already there",
            hint="choose another folder"
            if MARKER not in taken
            else "choose another folder, or go on with the home that is there",
            path=str(path),
        )


def write_home(path: Path, files: Mapping[str, str]) -> Home:
    """Make a home of these files. Nothing that exists is overwritten."""
    check_free(path, files)
    # The marker comes last: a home that was cut short half-way is not mistaken for a whole one.
    for name in sorted(files, key=lambda name: name == MARKER):
        target = path / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise unwritable(target.parent, error) from error
        write_atomic(target, files[name])
    return Home(path)
