"""The anchors that settings name: where else each checkpoint is kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from mentis.errors import MentisError, RolledBack, SettingsError, UsageError
from mentis.ledger.anchors import FileAnchor, GitAnchor
from mentis.ports.witness import Growth, Witness
from mentis.stores.files.home import Home
from mentis.values.checkpoint import KeptNote, WitnessKey

from .witness_anchor import WitnessAnchor

WITNESS = "witness"
_KINDS = ("file", "git")


class _Place(Witness, Protocol):
    def notes(self) -> tuple[KeptNote, ...]: ...


@dataclass(frozen=True, slots=True)
class Anchor:
    """One of them, by its name in settings: `file:PATH`, `git:FOLDER` or `witness:URL#KEY`."""

    name: str
    place: _Place

    @property
    def witness(self) -> WitnessKey | None:
        """Whose cosignature it gives; files and repositories only keep."""
        return self.place.key if isinstance(self.place, WitnessAnchor) else None


def witnesses(anchors: Iterable[Anchor]) -> tuple[WitnessAnchor, ...]:
    """Those of them that sign."""
    places = (anchor.place for anchor in anchors)
    return tuple(place for place in places if isinstance(place, WitnessAnchor))


def open_anchors(
    home: Home, names: Iterable[str], *, origin: str, new: bool = False
) -> tuple[Anchor, ...]:
    return tuple(open_anchor(home, name, origin=origin, new=new) for name in names)


def open_anchor(home: Home, name: str, *, origin: str, new: bool = False) -> Anchor:
    """Only a `new` one may know nothing yet; adding it tells it a checkpoint. `origin` is what the
    logs of this home begin with.
    """
    kind, _, given = name.partition(":")
    if kind not in (*_KINDS, WITNESS) or not given:
        raise SettingsError(
            f"`ledger.anchors`: {name!r} is no anchor",
            hint="use file:PATH, git:FOLDER or witness:URL#KEY",
        )
    if kind == WITNESS:
        return Anchor(name, WitnessAnchor(given, origin))
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
    if kind not in _KINDS:
        return name
    return f"{kind}:{(home.path / path).resolve()}"


@dataclass(frozen=True, slots=True)
class ToldAnchors:
    """The checkpoint with what was signed below it, who knows it now, and what went wrong with the
    others.
    """

    note: str
    names: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    refused: bool = False  # by one that has seen more or other


def tell_anchors(anchors: Iterable[Anchor], note: str, growth: Growth) -> ToldAnchors:
    """Those that cosign come first, so that the others keep what they have signed."""
    names: list[str] = []
    faults: list[str] = []
    signatures, refused = "", False
    for anchor in sorted(anchors, key=lambda one: one.witness is None):
        try:
            if anchor.witness is None:
                anchor.place.tell(note + signatures, growth)
            else:
                signatures += anchor.place.tell(note, growth).removeprefix(note)
            names.append(anchor.name)
        except MentisError as error:
            refused |= isinstance(error, RolledBack)
            faults.append(f"anchor {anchor.name} could not be told: {error.message}")
    return ToldAnchors(note + signatures, tuple(names), tuple(faults), refused=refused)


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
