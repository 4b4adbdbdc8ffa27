"""The revisions of what is edited here: which state each held, and which edits still stand.

The words of a revision begin with what was done (`save`, `undo 3`); the person's own follow after
a colon. So an undo can be told from an edit whose author happened to write about one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from mentis.errors import LibraryError
from mentis.ports.clock import Clock
from mentis.ports.revisions import Revisions
from mentis.values.cognition import Revision, utc_text
from mentis.values.digest import digest

OUTSIDE = "changed outside"
NOTHING = "null"  # the content of a revision that says: the owner's layer has no such thing
# A person has looked at the state that stands, and vouches for it: nothing changes, and nothing of
# it is undone.
ACCEPTED = re.compile(r"accept \d+(?:: .*)?", re.DOTALL)
_BACK = re.compile(r"(undo|redo) (\d+)(?: \(forced\))?")


@dataclass(frozen=True, slots=True)
class Target:
    """Going back: to the state before revision `number`, made by the edit `of`."""

    number: int
    of: Revision
    content: str


class RevisionHistory:
    def __init__(self, revisions: Revisions, clock: Clock, author: str = "") -> None:
        self._revisions = revisions
        self._clock = clock
        self._author = author

    def of(self, key: str) -> tuple[Revision, ...]:
        return self._revisions.history(key)

    def append(self, key: str, content: str, words: str) -> Revision:
        revision = Revision(
            key=key,
            number=len(self.of(key)) + 1,
            content=content,
            digest=digest(content.encode()),
            time=utc_text(self._clock.now()),
            words=words,
            author="" if words == OUTSIDE else self._author,
        )
        self._revisions.save(revision)
        return revision

    def adopt(self, key: str, content: str) -> tuple[Revision, ...]:
        """All revisions; what the files say and the newest does not becomes one of its own."""
        known = self.of(key)
        newest = known[-1].content if known else NOTHING
        if same(newest, content):
            return known
        return (*known, self.append(key, content, OUTSIDE))


def revision_words(verb: str, words: str = "") -> str:
    return f"{verb}: {words}" if words else verb


def same(left: str, right: str) -> bool:
    """Whether two contents mean the same, whatever the order of their keys."""
    return left == right or _canonical(left) == _canonical(right)


def undo_target(revisions: Sequence[Revision]) -> Target | None:
    """The newest edit that still stands."""
    standing: list[int] = []
    for revision in revisions:
        match _back(revision):
            case _ if ACCEPTED.fullmatch(revision.words):
                continue
            case ("undo", number) if number in standing:
                standing.remove(number)
            case ("redo", number):
                standing.append(_undone(revisions, number))
            case _:
                standing.append(revision.number)
    return _before(revisions, standing[-1]) if standing else None


def undone_by(revision: Revision) -> int:
    """The number of the edit that this one took back; 0 if it took none back."""
    back = _back(revision)
    return back[1] if back and back[0] == "undo" else 0


def redo_target(revisions: Sequence[Revision]) -> Target | None:
    """The newest undo that no edit came after and no redo took back."""
    undone: list[int] = []
    for revision in revisions:
        match _back(revision):
            case ("undo", _):
                undone.append(revision.number)
            case ("redo", number) if number in undone:
                undone.remove(number)
            case _:
                undone.clear()
    return _before(revisions, undone[-1]) if undone else None


def content_of(revisions: Sequence[Revision], number: int, what: str) -> str:
    """What revision `number` held; 0 is what is shipped, before any edit."""
    if number == 0:
        return NOTHING
    if not 0 < number <= len(revisions):
        hint = f"there are {len(revisions)}; 0 is the state before the first"
        raise LibraryError(f"{what} has no revision {number}", hint=hint, number=number)
    return revisions[number - 1].content


def original_edit(revisions: Sequence[Revision], revision: Revision) -> Revision:
    """The edit that an undo or a redo is about, in the end; an edit itself."""
    while (back := _back(revision)) and 0 < back[1] < revision.number:
        revision = revisions[back[1] - 1]
    return revision


def _before(revisions: Sequence[Revision], number: int) -> Target:
    content = revisions[number - 2].content if number > 1 else NOTHING
    return Target(number, original_edit(revisions, revisions[number - 1]), content)


def _undone(revisions: Sequence[Revision], undo: int) -> int:
    """Which edit an undo took back."""
    back = _back(revisions[undo - 1]) if 0 < undo <= len(revisions) else None
    return back[1] if back else undo


def _back(revision: Revision) -> tuple[str, int] | None:
    found = _BACK.fullmatch(revision.words)
    return (found[1], int(found[2])) if found else None


def _canonical(content: str) -> str:
    return json.dumps(json.loads(content), sort_keys=True)
