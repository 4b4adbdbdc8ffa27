"""Which changes of a memory file its owner has not looked through yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mentis.library.history import ACCEPTED, undone_by
from mentis.values.cognition import REVIEW, Revision
from mentis.values.value import Value

# How the words of a revision begin that the agent made: an update of its files, or an act. What was
# made from outside text is not its owner's either, whatever its words.
_OWN = ("write: update ", "write: act ")


@dataclass(frozen=True, slots=True)
class MemoryChange(Value):
    """A revision that the agent or an import made. `review`: of text that nobody vouches for."""

    name: str
    number: int
    time: str
    words: str
    diff: str
    review: bool = False


@dataclass(frozen=True, slots=True)
class ReviewState(Value):
    """The newest state of a file in which nothing waits for its owner: revision `number`, 0 if
    there is none. `waiting` are the agent's own changes since.
    """

    number: int = 0
    text: str = ""
    waiting: tuple[Revision, ...] = ()


def pending_revisions(history: Sequence[Revision]) -> tuple[Revision, ...]:
    """The agent's own changes that still stand, since its owner last accepted the file."""
    return review_state(history).waiting


def review_state(history: Sequence[Revision]) -> ReviewState:
    """An owner's edit on top of what waits does not vouch for that: only `accept` does."""
    last, waiting = ReviewState(), dict[int, Revision]()
    cleared: dict[int, dict[int, Revision]] = {}  # what waited when the file was reset
    for revision in history:
        if ACCEPTED.fullmatch(revision.words):
            waiting = {}
        elif revision.words == "reset":
            cleared[revision.number], waiting = waiting, {}
        elif number := undone_by(revision):
            waiting = cleared.get(number, waiting)  # an undone reset brings the text back
            waiting = {one: waiting[one] for one in waiting if one != number}
        elif revision.words.startswith(_OWN) or from_outside(revision):
            waiting = {**waiting, revision.number: revision}
        if not waiting:
            last = ReviewState(revision.number, revision.content)
    return replace(last, waiting=tuple(waiting.values()))


def from_outside(revision: Revision) -> bool:
    return revision.words.endswith(REVIEW)
