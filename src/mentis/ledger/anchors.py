"""Anchors: where checkpoints are kept that the machine alone cannot take back.

A file on another disk or a share, or a git repository that is pushed elsewhere. Both are witnesses
(`ports.witness`): they are told a checkpoint and say which ones they know.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from mentis.disk.atomic import sync_folder, unwritable
from mentis.errors import BadCheckpoint, StoreError
from mentis.ports.witness import Growth, no_growth
from mentis.values.checkpoint import KeptNote

from .checkpoint import read_note, split_notes

MAX_FILE = 64 * 1024 * 1024
_SECONDS = 60
# What git says while somebody else commits, and how long that is waited for.
_BUSY = (".lock'", "cannot lock ref")
_TRIES, _MOMENT = 100, 0.1
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
    """One file, only ever appended to. The same checkpoint twice is one.

    Only a `new` one may know nothing yet: one that was told a checkpoint and has none is away.
    """

    def __init__(self, path: Path, *, new: bool = False) -> None:
        self._path = path
        self._new = new

    def tell(self, checkpoint: str, growth: Growth = no_growth) -> str:  # noqa: ARG002  # it keeps all
        read_note(checkpoint)  # nothing else gets in
        if checkpoint == self._last_alone():
            return checkpoint
        try:
            with self._path.open("ab") as file:
                file.write(checkpoint.encode())
                file.flush()
                os.fsync(file.fileno())
            sync_folder(self._path.parent)
        except OSError as error:
            raise unwritable(self._path, error) from error
        return checkpoint

    def last(self) -> str | None:
        notes = self.notes()
        return notes[-1].note if notes else None

    def notes(self) -> tuple[KeptNote, ...]:
        there = self._path.exists()
        known = read_kept(self._path) if there else ()
        if not known and not self._new:
            raise _away(str(self._path), there=there)
        return known

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
    """A file in a git repository; each checkpoint is a commit. Pushing it is up to its owner.

    Only a `new` one may know nothing yet.
    """

    def __init__(
        self, repository: Path, name: str = "checkpoints.txt", *, new: bool = False
    ) -> None:
        self._repository = repository
        self._name = name
        self._new = new

    def tell(self, checkpoint: str, growth: Growth = no_growth) -> str:  # noqa: ARG002  # it keeps all
        last = self.last()
        if checkpoint == last:
            return checkpoint
        FileAnchor(self._repository / self._name, new=last is None).tell(checkpoint)
        for _ in range(_TRIES):
            if self._committed(checkpoint):
                return checkpoint
            time.sleep(_MOMENT)
        self._commit(checkpoint)
        return checkpoint

    def _committed(self, checkpoint: str) -> bool:
        """False while somebody else commits; he may have taken this one along."""
        try:
            self._commit(checkpoint)
        except StoreError as error:
            if any(kept.note == checkpoint for kept in self.notes()):
                return True
            if not any(words in error.message for words in _BUSY):
                raise
            return False
        return True

    def _commit(self, checkpoint: str) -> None:
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
        place = f"{self._repository}, {self._name}"
        there = bool(listed.strip())
        text = self._git("cat-file", "blob", f"HEAD:{self._name}") if there else ""
        known = tuple(KeptNote(note, place, outside=True) for note in split_notes(text))
        if not known and not self._new:
            raise _away(place, there=there)
        return known

    def _git(self, *arguments: str, check: bool = True) -> str:
        try:
            done = subprocess.run(  # noqa: S603 - fixed words and our own names
                ["git", "-C", str(self._repository), *_SET, *arguments],  # noqa: S607 - as installed
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
                env={**os.environ, "LC_ALL": "C"},  # what it says is looked at
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise StoreError(f"git could not be run in {self._repository}: {error}") from error
        if check and done.returncode:
            raise StoreError(
                f"{self._repository}: git {arguments[0]} failed: {done.stderr.strip()}",
                hint="the anchor must be a git repository in which you can commit",
            )
        return done.stdout


def _away(place: str, *, there: bool) -> BadCheckpoint:
    return BadCheckpoint(
        f"{place}: it holds no checkpoint any more" if there else f"{place}: it is not there",
        hint="bring it back; if it is lost, `mentis ledger anchor remove` it and add another one",
        place=place,
    )


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
        with path.open("rb") as file:  # a device says no size, and has no end
            data = file.read(MAX_FILE + 1)
        if len(data) > MAX_FILE:
            raise BadCheckpoint(f"{path}: this is too large for a file of checkpoints")
        text = data.decode().replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadCheckpoint(
            f"{path}: the checkpoints cannot be read: {error}",
            hint="give a file that `mentis ledger checkpoint` or an anchor wrote",
            file=str(path),
        ) from error
    return tuple(KeptNote(note, str(path), outside=outside) for note in split_notes(text))
