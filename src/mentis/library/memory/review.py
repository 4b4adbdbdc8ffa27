"""Which changes of a memory file its owner has not looked through yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mentis.library.history import ACCEPTED, undone_by
from mentis.values.cognition import REVIEW, Revision
from mentis.values.value import Value

# How the words of a revision begin that the agent made: an update of its files, or an act.
_OWN = ("write: update ", "write: act ")


@dataclass(frozen=True, slots=True)
class MemoryChange(Value):
    """A revision that the agent made. `review`: of text that nobody vouches for."""

    name: str
    number: int
    time: str
    words: str
    diff: str
    review: bool = False


def unseen(history: Sequence[Revision]) -> tuple[Revision, ...]:
    """The agent's own changes that still stand, since its owner last accepted the file."""
    waiting: dict[int, Revision] = {}
    for revision in history:
        if ACCEPTED.fullmatch(revision.words) or revision.words == "reset":
            waiting.clear()
        elif number := undone_by(revision):
            waiting.pop(number, None)
        elif revision.words.startswith(_OWN):
            waiting[revision.number] = revision
    return tuple(waiting.values())


def from_outside(revision: Revision) -> bool:
    return revision.words.endswith(REVIEW)
