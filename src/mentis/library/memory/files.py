"""The memory files of a persona about itself: `memory.md`, `soul.md` and `relationship.md`.

Files are read fresh each time, so that a change made outside counts from the next turn on. Every
change is a revision; what was there before is one too, before anything is written over it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from threading import RLock

from mentis.errors import (
    BadInput,
    HomeCopy,
    HomeUnwritable,
    MentisError,
    PersonaError,
    StoreConflict,
    StoreFull,
    StoreLocked,
)
from mentis.library.history import OUTSIDE, RevisionHistory, revision_words, undo_target
from mentis.ports.clock import Clock
from mentis.ports.revisions import Revisions
from mentis.values.cognition import Revision, trust_of
from mentis.values.given import GivenText
from mentis.values.location import Location, Problem
from mentis.values.stability import Stability
from mentis.values.trust import Trust
from mentis.values.value import Value

from .folder import MemoryFolder, MemoryPlace, revision_key
from .review import MemoryChange, from_outside, pending_revisions, review_state
from .text import NAMES, as_prompt_value, checked_name, drops_most, heading, is_empty, template

_FOUND = "as it was found"
_SEALED = (HomeUnwritable, HomeCopy, StoreFull)  # it can be read, and nothing can be written


@dataclass(frozen=True, slots=True)
class MemoryFile(Value):
    """One file as it is now; `empty` when it holds only its template, `number` its revision."""

    name: str
    path: str
    text: str
    empty: bool
    chars: int
    limit: int
    number: int


@dataclass(frozen=True, slots=True)
class MemoryFileView(Value):
    """What a model that asks for a file is shown; `held` changes of it wait for their owner."""

    text: str
    empty: bool
    limit: int
    trust: Trust
    held: int = 0


@dataclass(frozen=True, slots=True)
class MemoryFileWrite(Value):
    """What a write came to. `cut` is what was left out for going over the limit."""

    name: str
    number: int
    changed: bool
    chars: int
    cut: str = ""


@dataclass(frozen=True, slots=True)
class MemoryValues(Value):
    """The values for a prompt, and what went wrong on the way; that never stops a turn."""

    values: Mapping[str, GivenText]
    problems: tuple[Problem, ...] = ()


class PersonaMemory:
    """The files of one persona, in `personas/<id>/memory`, or wherever `root` keeps them. While
    `manual` says so, no model is told what the agent changed and its owner has not looked through.
    """

    def __init__(
        self,
        root: Path | MemoryPlace,
        revisions: Revisions,
        clock: Clock,
        *,
        persona_id: str,
        language: str = "english",
        limit: int = 8000,
        busy_seconds: float = 5.0,
        manual: Callable[[], bool] = lambda: False,
    ) -> None:
        self.limit = limit
        self._folder = MemoryFolder(root) if isinstance(root, Path) else root
        self._history = RevisionHistory(revisions, clock)
        self._persona = persona_id
        self._language = language
        self._busy_seconds = busy_seconds
        self._manual = manual
        self._seen: dict[str, str] = {}
        self._trust: dict[str, Trust] = {}  # of what was seen
        self._guard = RLock()  # turns side by side: a text and its trust are seen as one

    def read(self, name: str) -> MemoryFile:
        """A file as it is now, made from its template if it is not there yet."""
        name = checked_name(name)
        text, known = self._looked_at(name, self._busy_seconds)
        return MemoryFile(
            name=name,
            path=str(self._folder.path(name)),
            text=text,
            empty=is_empty(name, text),
            chars=len(text),
            limit=self.limit,
            number=len(known),
        )

    def files(self) -> tuple[MemoryFile, ...]:
        return tuple(self.read(name) for name in NAMES)

    def remember(self) -> MemoryValues:
        """What the files say, for a prompt. A file that cannot be read counts as empty."""
        values: dict[str, GivenText] = {}
        problems: list[Problem] = []
        told = self._looked_through if self._manual() else self._told
        for name in NAMES:
            with self._guard:
                text = self._as_value(name, told(name, problems), problems)
                trust = self._trust.get(name, Trust.UNTRUSTED)
            values[f"cortex_{name}"] = GivenText(
                text,
                f"{name}.md",
                trust,
                Stability.SESSION,
                head=heading(name, self._language) if text else "",
            )
        return MemoryValues(values, tuple(problems))

    def values(self) -> dict[str, str]:
        """The three values of a prompt: `cortex_memory`, `cortex_soul`, `cortex_relationship`.

        As they are, each below its heading. A prompt is made of `remember()`, which says who
        vouches for each.
        """
        told = self.remember().values.items()
        return {key: f"{one.head}\n\n{one.text}" if one.text else "" for key, one in told}

    def view(self, name: str) -> MemoryFileView:
        """What a model may read of a file."""
        name = checked_name(name)
        with self._guard:
            known = self.history(name)
            text = self._seen[name]
        last = review_state(known)
        if not self._manual() or not last.waiting:
            return MemoryFileView(text, is_empty(name, text), self.limit, trust_of(known))
        trust = trust_of(known[: last.number])
        held = len(last.waiting)
        return MemoryFileView(last.text, is_empty(name, last.text), self.limit, trust, held)

    def write(
        self,
        name: str,
        text: str,
        *,
        words: str = "",
        force: bool = False,
        truncate: bool = False,
        expected: int | None = None,
    ) -> MemoryFileWrite:
        """Put `text` in place of a file. `expected` is the revision the writer has seen."""
        name = checked_name(name)
        kept, cut = self._within_limit(name, text, truncate=truncate)
        with self._alone(self._busy_seconds):
            old = self._present(name)
            require_newest(name, expected, newest=len(self._adopt(name, old)))
            if not force and drops_most("" if is_empty(name, old) else old, kept):
                raise _too_much_goes(name, old, kept)
            return self._replace(name, old, kept, revision_words("write", words), cut=cut)

    def reset(self, name: str, *, expected: int | None = None) -> MemoryFileWrite:
        """Back to the template; `undo` brings the text back."""
        name = checked_name(name)
        with self._alone(self._busy_seconds):
            old = self._present(name)
            require_newest(name, expected, newest=len(self._adopt(name, old)))
            return self._replace(name, old, template(name, self._language), "reset")

    def undo(self, name: str, *, expected: int | None = None) -> MemoryFileWrite:
        """Take back the newest change that still stands."""
        name = checked_name(name)
        with self._alone(self._busy_seconds):
            old = self._present(name)
            known = self._adopt(name, old)
            require_newest(name, expected, newest=len(known))
            target = undo_target(known)
            if target is None or target.number == 1:
                hint = "`mentis persona history` shows every revision"
                raise PersonaError(f"{name}.md: there is nothing to undo", hint=hint, name=name)
            return self._replace(name, old, target.content, f"undo {target.number}")

    def accept(self, name: str, number: int, *, words: str = "") -> MemoryFileWrite:
        """Vouch for the file as it stands at revision `number`; its text stays as it is."""
        name = checked_name(name)
        with self._alone(self._busy_seconds):
            text = self._present(name)
            require_newest(name, number, newest=len(self._adopt(name, text)))
            made = self._history.append(
                self._key(name), text, revision_words(f"accept {number}", words)
            )
            self._adopt(name, text)
        return MemoryFileWrite(name, made.number, changed=False, chars=len(text))

    def pending_changes(self, name: str) -> tuple[MemoryChange, ...]:
        """What the agent changed and its owner has not accepted or undone, oldest first."""
        name = checked_name(name)
        return tuple(
            MemoryChange(
                name,
                revision.number,
                revision.time,
                revision.words,
                self.diff(name, revision.number - 1, revision.number),
                review=from_outside(revision),
            )
            for revision in pending_revisions(self.history(name))
        )

    def history(self, name: str) -> tuple[Revision, ...]:
        """Every revision, oldest first; a change made outside is among them."""
        name = checked_name(name)
        _, known = self._looked_at(name, self._busy_seconds)
        return known

    def diff(self, name: str, older: int | None = None, newer: int | None = None) -> str:
        """What changed between two revisions; by default what the newest one changed."""
        known, name = self.history(name), checked_name(name)
        last = len(known) if newer is None else newer
        first = max(last - 1, 0) if older is None else older
        old, new = (_content(name, known, number) for number in (first, last))
        labels = (f"{name}.md@{first}", f"{name}.md@{last}")
        return "\n".join(unified_diff(old.splitlines(), new.splitlines(), *labels, lineterm=""))

    @contextmanager
    def _alone(self, seconds: float) -> Generator[None]:
        """Nobody here looks or writes meanwhile, and no other process writes."""
        with self._guard, self._folder.lock(seconds=seconds):
            yield

    def _looked_at(self, name: str, seconds: float) -> tuple[str, tuple[Revision, ...]]:
        """A file and its revisions; where nothing can be written, as they are found."""
        try:
            with self._alone(seconds):
                text = self._present(name)
                return text, self._adopt(name, text)
        except _SEALED:
            with self._guard:
                return self._as_found(name)

    def _as_found(self, name: str) -> tuple[str, tuple[Revision, ...]]:
        """What was changed outside is no revision yet, and nobody can say what it was made from."""
        known, text = self._history.of(self._key(name)), self._folder.read(name)
        blank = template(name, self._language)
        text, told = text or blank, known[-1].content if known else blank
        self._seen[name] = text
        self._trust[name] = trust_of(known) if text == told else Trust.UNTRUSTED
        return text, known

    def _present(self, name: str) -> str:
        """What the file holds, made from its template if need be. Callers hold the lock."""
        text = self._folder.read(name)
        if text is None:
            text = template(name, self._language)
            self._folder.write(name, text)
        return text

    def _adopt(self, name: str, text: str) -> tuple[Revision, ...]:
        """All revisions; what the file says and the newest does not becomes one of its own."""
        known = self._history.of(self._key(name))
        told = known[-1].content if known else template(name, self._language)
        if text != told and not (not known and is_empty(name, text)):
            known = (*known, self._history.append(self._key(name), text, OUTSIDE))
        self._seen[name], self._trust[name] = text, trust_of(known)
        return known

    def _replace(
        self, name: str, old: str, new: str, words: str, *, cut: str = ""
    ) -> MemoryFileWrite:
        """Write the file, then the revision; without the revision the file is as before."""
        known = self._adopt(name, old)
        if new == old:
            return MemoryFileWrite(name, len(known), changed=False, chars=len(new), cut=cut)
        key = self._key(name)
        if not known:
            self._history.append(key, old, _FOUND)
        self._folder.write(name, new)
        try:
            revision = self._history.append(key, new, words)
        except MentisError:
            self._folder.write(name, old)
            raise
        self._seen[name], self._trust[name] = new, trust_of(self._history.of(key))
        return MemoryFileWrite(name, revision.number, changed=True, chars=len(new), cut=cut)

    def _told(self, name: str, problems: list[Problem]) -> str:
        try:
            text = self._folder.read(name)
        except MentisError as fault:
            problems.append(self._warning(name, f"{fault.message}; it counts as empty", fault.hint))
            return ""
        if text is None or self._seen.get(name) != text:
            text = self._noticed(name, text, problems)
        return text

    def _looked_through(self, name: str, problems: list[Problem]) -> str:
        """The file as its owner last vouched for it. Read anew each time: an acceptance changes
        nothing in the file. What cannot be held against its history is not told.
        """
        self._trust.pop(name, None)
        try:
            known = self._known(name)
        except MentisError as fault:
            problems.append(self._warning(name, f"{fault.message}; it counts as empty", fault.hint))
            return ""
        last = review_state(known)
        self._trust[name] = trust_of(known[: last.number])
        self._seen.pop(name, None)  # that trust is of another text than the file's
        if last.waiting:
            numbers = ", ".join(str(one.number) for one in last.waiting)
            message = f"revision {numbers} waits for your review; revision {last.number} is told"
            hint = "mentis persona review shows it; memory.review is why it waits"
            problems.append(self._warning(name, message, hint))
        return last.text

    def _known(self, name: str) -> tuple[Revision, ...]:
        try:
            return self._looked_at(name, 0)[1]
        except StoreLocked:  # what is written just now, nobody has looked through
            return self._history.of(self._key(name))

    def _as_value(self, name: str, text: str, problems: list[Problem]) -> str:
        if len(text) > self.limit and not is_empty(name, text):
            message = (
                f"{name}.md has {len(text)} characters and {self.limit} are allowed: "
                f"the last {len(text) - self.limit} are not told"
            )
            hint = "shorten it, or raise limits.memory_chars"
            problems.append(self._warning(name, message, hint))
            text = text[: self.limit]
        return as_prompt_value(name, text)

    def _noticed(self, name: str, text: str | None, problems: list[Problem]) -> str:
        """Keep what changed outside as a revision; while another one writes, next time will do.

        Until then nobody can say what the text was made from.
        """
        self._seen.pop(name, None)
        self._trust.pop(name, None)
        try:
            with self._alone(0):
                text = self._present(name)
                self._adopt(name, text)
        except StoreLocked:
            pass
        except MentisError as fault:
            if isinstance(fault, _SEALED):
                text, known = self._as_found(name)
                if text == (known[-1].content if known else template(name, self._language)):
                    return text
            message = f"{fault.message}; {name}.md is told, but not kept as a revision"
            problems.append(self._warning(name, message, fault.hint))
        return text or ""

    def _warning(self, name: str, message: str, hint: str) -> Problem:
        place = Location(f"personas/{self._persona}/memory/{name}.md")
        return Problem("persona-memory", message, place, hint, "warning")

    def _within_limit(self, name: str, text: str, *, truncate: bool) -> tuple[str, str]:
        if any("\ud800" <= character <= "\udfff" for character in text):
            hint = "check the encoding of where it came from"
            raise BadInput(f"{name}.md: the text is not valid Unicode", hint=hint)
        if len(text) <= self.limit or truncate:
            return text[: self.limit], text[self.limit :]
        raise BadInput(
            f"{name}.md: the text has {len(text)} characters, and {self.limit} are allowed",
            hint="shorten it, have it cut with truncate, or raise limits.memory_chars",
            length=len(text),
            limit=self.limit,
        )

    def _key(self, name: str) -> str:
        return revision_key(self._persona, name)


def _content(name: str, known: tuple[Revision, ...], number: int) -> str:
    """What a revision held; before the first there was nothing."""
    if not 0 <= number <= len(known):
        hint = f"there are {len(known)}; 0 is the state before the first"
        raise PersonaError(f"{name}.md has no revision {number}", hint=hint, number=number)
    return known[number - 1].content if number else ""


def require_newest(name: str, expected: int | None, *, newest: int) -> None:
    """StoreConflict where somebody knows an older revision than the newest."""
    if expected not in (None, newest):
        raise StoreConflict(
            f"{name}.md is at revision {newest}, not {expected} any more",
            hint="read the file again and repeat the change",
            newest=newest,
            expected=expected,
        )


def _too_much_goes(name: str, old: str, new: str) -> PersonaError:
    return PersonaError(
        f"{name}.md: more than half of it would go ({len(old)} characters now, {len(new)} then)",
        hint="write it with force if that is meant; `mentis persona undo` brings it back",
        old=len(old),
        new=len(new),
    )
