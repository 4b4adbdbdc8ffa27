"""Anchors: where checkpoints are kept that the machine alone cannot take back.

A file on another disk or a share, or a git repository that is pushed elsewhere. Both are witnesses
(`ports.witness`): they are told a checkpoint and say which ones they know.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from mentis.disk.atomic import sync_folder, unwritable
from mentis.errors import BadCheckpoint, StoreError
from mentis.values.checkpoint import KeptNote

from .checkpoint import read_note, split_notes

MAX_FILE = 64 * 1024 * 1024
_SECONDS = 60
# Nothing that the repository's own configuration names is run: no hook, no watcher, no filter.
_HARMLESS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "commit.gpgSign=false",
    "core.autocrlf=false",
    "core.attributesFile=/dev/null",
    "gc.auto=0",
    "maintenance.auto=false",
)
_SET = tuple(word for setting in _HARMLESS for word in ("-c", setting))


class FileAnchor:
    """One file, only ever appended to. The same checkpoint twice is one."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def tell(self, checkpoint: str) -> None:
        read_note(checkpoint)  # nothing else gets in
        if checkpoint == self._last_alone():
            return
        try:
            with self._path.open("ab") as file:
                file.write(checkpoint.encode())
                file.flush()
                os.fsync(file.fileno())
            sync_folder(self._path.parent)
        except OSError as error:
            raise unwritable(self._path, error) from error

    def last(self) -> str | None:
        notes = self.notes()
        return notes[-1].note if notes else None

    def notes(self) -> tuple[KeptNote, ...]:
        return read_kept(self._path) if self._path.exists() else ()

    def _last_alone(self) -> str | None:
        """The last one of a file that holds nothing else: no other file is written to."""
        if self._path.is_symlink() or (self._path.exists() and not self._path.is_file()):
            raise BadCheckpoint(
                f"{self._path}: this is not a plain file", hint="name the file itself"
            )
        notes = self.notes()
        try:
            for kept in notes:
                read_note(kept.note)
        except BadCheckpoint as error:
            raise BadCheckpoint(
                f"{self._path}: it holds something else than checkpoints, and is left as it is",
                hint="choose a new file for the anchor, or remove the end that was torn off",
                file=str(self._path),
            ) from error
        return notes[-1].note if notes else None


class GitAnchor:
    """A file in a git repository; each checkpoint is a commit. Pushing it is up to its owner."""

    def __init__(self, repository: Path, name: str = "checkpoints.txt") -> None:
        self._repository = repository
        self._name = name

    def tell(self, checkpoint: str) -> None:
        if checkpoint == self.last():
            return
        FileAnchor(self._repository / self._name).tell(checkpoint)
        says = read_note(checkpoint).checkpoint
        self._git("add", "--", self._name)
        message = f"checkpoint {says.origin} {says.size}"
        self._git("commit", "--quiet", "--no-verify", "--only", "-m", message, "--", self._name)

    def last(self) -> str | None:
        notes = self.notes()
        return notes[-1].note if notes else None

    def notes(self) -> tuple[KeptNote, ...]:
        """What the last commit holds, not what lies in the folder."""
        listed = self._git("ls-tree", "--name-only", "HEAD", "--", self._name, check=False)
        if not listed.strip():
            return ()
        text = self._git("cat-file", "blob", f"HEAD:{self._name}")
        place = f"{self._repository}, {self._name}"
        return tuple(KeptNote(note, place, outside=True) for note in split_notes(text))

    def _git(self, *arguments: str, check: bool = True) -> str:
        try:
            done = subprocess.run(  # noqa: S603 - fixed words and our own names
                ["git", "-C", str(self._repository), *_SET, *arguments],  # noqa: S607 - as installed
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise StoreError(f"git could not be run in {self._repository}: {error}") from error
        if check and done.returncode:
            raise StoreError(
                f"{self._repository}: git {arguments[0]} failed: {done.stderr.strip()}",
                hint="the anchor must be a git repository in which you can commit",
            )
        return done.stdout


def read_given(path: Path) -> tuple[KeptNote, ...]:
    """The checkpoints of a file that was named to check with; there must be one."""
    notes = read_kept(path)
    if not notes:
        raise BadCheckpoint(
            f"{path}: it holds no checkpoint",
            hint="give a file that `mentis ledger checkpoint` or an anchor wrote",
            file=str(path),
        )
    return notes


def read_kept(path: Path, *, outside: bool = True) -> tuple[KeptNote, ...]:
    """The checkpoints of a file, which may be empty."""
    try:
        if path.stat().st_size > MAX_FILE:
            raise BadCheckpoint(f"{path}: this is too large for a file of checkpoints")
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadCheckpoint(
            f"{path}: the checkpoints cannot be read: {error}",
            hint="give a file that `mentis ledger checkpoint` or an anchor wrote",
            file=str(path),
        ) from error
    return tuple(KeptNote(note, str(path), outside=outside) for note in split_notes(text))
