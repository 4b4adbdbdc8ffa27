"""The anchors that settings name: where else each checkpoint is kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from mentis.errors import MentisError, SettingsError, UsageError
from mentis.ledger.anchors import FileAnchor, GitAnchor
from mentis.stores.files.home import Home
from mentis.values.checkpoint import KeptNote


class _Place(Protocol):
    def tell(self, checkpoint: str) -> None: ...

    def notes(self) -> tuple[KeptNote, ...]: ...


@dataclass(frozen=True, slots=True)
class Anchor:
    """One of them, by the name it has in settings: `file:PATH` or `git:FOLDER`."""

    name: str
    place: _Place


def open_anchors(home: Home, names: Iterable[str], *, new: bool = False) -> tuple[Anchor, ...]:
    return tuple(open_anchor(home, name, new=new) for name in names)


def open_anchor(home: Home, name: str, *, new: bool = False) -> Anchor:
    """Only a `new` one may know nothing yet; adding it tells it a checkpoint."""
    kind, _, given = name.partition(":")
    if kind not in ("file", "git") or not given:
        raise SettingsError(
            f"`ledger.anchors`: {name!r} is no anchor", hint="use file:PATH or git:FOLDER"
        )
    path = home.path / given  # an absolute one stays as it is
    if path.resolve().is_relative_to(home.path.resolve()):
        raise UsageError(
            f"{path} is inside the home, so whoever takes the home takes it, too",
            hint="choose another disk, a share, or a repository that is pushed elsewhere",
        )
    place = FileAnchor(path, new=new) if kind == "file" else GitAnchor(path, new=new)
    return Anchor(name, place)


def whole_name(home: Home, name: str) -> str:
    """The same for every way to write its path."""
    kind, _, path = name.partition(":")
    return f"{kind}:{(home.path / path).resolve()}"


def tell_anchors(anchors: Iterable[Anchor], note: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Which of them know the checkpoint now, and what went wrong with the others."""
    told: list[str] = []
    faults: list[str] = []
    for anchor in anchors:
        try:
            anchor.place.tell(note)
            told.append(anchor.name)
        except MentisError as error:
            faults.append(f"anchor {anchor.name} could not be told: {error.message}")
    return tuple(told), tuple(faults)


@dataclass(frozen=True, slots=True)
class AnchorNotes:
    """The checkpoints that anchors know, and what is to be said of those that told none."""

    notes: tuple[KeptNote, ...] = ()
    unread: tuple[str, ...] = ()


def read_anchors(anchors: Iterable[Anchor]) -> AnchorNotes:
    notes: list[KeptNote] = []
    unread: list[str] = []
    for anchor in anchors:
        try:
            known = anchor.place.notes()
            notes.extend(known)
            if not known:
                unread.append(f"anchor {anchor.name} knows no checkpoint")
        except MentisError as error:
            unread.append(f"anchor {anchor.name} could not be read: {error.message}")
    return AnchorNotes(tuple(notes), tuple(unread))
