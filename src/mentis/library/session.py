"""One edit under the lock: the files as they are, what they become, and the revisions of it."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

from mentis.disk.atomic import unwritable
from mentis.disk.former import kept_former
from mentis.disk.inside import inside
from mentis.disk.lock import write_lock
from mentis.disk.together import change_together, finish_change, sweep
from mentis.errors import MentisError, StoreConflict
from mentis.values.block import Block
from mentis.values.json import JsonObject
from mentis.values.placeholder import Placeholder

from .assemble import LoadedLibrary
from .block_layer import BlockLayer, normalise_layer
from .constitution import needs_force, require_force
from .documents import Documents
from .faults import as_error
from .history import RevisionHistory, same
from .layer import Layer, make_layer
from .overlay import merge_block, merge_placeholder
from .owner_files import LOCK, PENDING
from .search import block_keys
from .shelf import Shelf
from .states import BLOCK, PLACEHOLDER, Edit, State, changed_paths, content, state_in
from .validate import fleeting, make_block, make_placeholder


@dataclass(frozen=True, slots=True)
class EditStep:
    """What one thing becomes, and in what words. `checked` is off for going back to a state that
    was there before: it is restored even if something was wrong with it."""

    state: State
    words: str
    checked: bool = True


class EditSession:
    """Made by `open_session`; whoever has one holds the lock."""

    def __init__(self, shelf: Shelf, history: RevisionHistory) -> None:
        self.root = shelf.root
        self.history = history
        self._limit = shelf.max_file_bytes
        self.loaded: LoadedLibrary = shelf.current()

    @property
    def shipped(self) -> Layer:
        return self.loaded.shipped

    @property
    def owner(self) -> Layer:
        return self.loaded.owner

    def state(self, key: str) -> State:
        return state_in(key, self.shipped, self.owner)

    def commit(
        self,
        steps: Mapping[str, EditStep],
        *,
        force: bool = False,
        expected: int | None = None,
        files: Mapping[str, bytes | None] | None = None,
    ) -> tuple[Edit, ...]:
        """Write the files, then one revision for each thing that changed.

        `files` takes the place of what the steps would write: a reset puts back whole files.
        """
        newest = {key: self._adopted(key) for key in steps}
        if expected is not None:
            _require_newest(newest, expected)
        planned = {key: self._forced(key, step, force=force) for key, step in steps.items()}
        changed = {key: step for key, step in planned.items() if self._differs(key, step)}
        changes = self._changes(changed) if files is None else files
        self._write(changes, changed)
        edits: list[Edit] = []
        for key, step in planned.items():
            number = newest[key] + (key in changed)
            paths = changed_paths(self.state(key), step.state) if key in changed else ()
            edits.append(Edit(key.removeprefix(BLOCK), number, paths, step.words))
        return tuple(edits)

    def _adopted(self, key: str) -> int:
        return len(self.history.adopt(key, content(self.state(key))))

    def _forced(self, key: str, step: EditStep, *, force: bool) -> EditStep:
        """The step as it is stored, with a note if it needed force."""
        if not key.startswith(BLOCK):
            return step
        block_id, old = key.removeprefix(BLOCK), cast("BlockLayer | None", self.state(key))
        new = cast("BlockLayer | None", step.state)
        if new is not None and step.checked:
            new = normalise_layer(block_id, new, self.shipped)
        if not needs_force(block_id, old, new, self.shipped):
            return EditStep(new, step.words, step.checked)
        require_force(block_id, force=force)
        return EditStep(new, f"{step.words} (forced)", step.checked)

    def _differs(self, key: str, step: EditStep) -> bool:
        return not same(content(self.state(key)), content(step.state))

    def _changes(self, steps: Mapping[str, EditStep]) -> dict[str, bytes | None]:
        documents = Documents(self.shipped, self.owner)
        for key, step in steps.items():
            if key.startswith(BLOCK):
                old, new = (cast("BlockLayer | None", s) for s in (self.state(key), step.state))
                documents.put_block(key.removeprefix(BLOCK), old, new)
            else:
                entry = cast("JsonObject | None", step.state)
                documents.put_placeholder(key.removeprefix(PLACEHOLDER), entry)
        known = self.shipped.placeholders
        after = make_layer("owner", documents.documents, {}, {}, known_keys=known)
        for key, step in steps.items():
            if step.checked and step.state is not None:
                _require_good(key, self.shipped, after)
        return documents.changes(self._limit)

    def _write(self, changes: Mapping[str, bytes | None], steps: Mapping[str, EditStep]) -> None:
        with kept_former([inside(self.root, name) for name in changes]) as former:
            change_together(self.root, changes, journal=PENDING)
            try:
                for key, step in steps.items():
                    self.history.append(key, content(step.state), step.words)
            except MentisError:
                # Without its revision an edit did not happen.
                former.restore()
                raise


@contextmanager
def open_session(
    shelf: Shelf, history: RevisionHistory, *, seconds: float
) -> Generator[EditSession]:
    inside(shelf.root.parent, shelf.root.name)
    meta = shelf.root / "_meta"
    for folder in (shelf.root, meta):
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise unwritable(folder, error) from error
    with write_lock(shelf.root / LOCK, seconds=seconds):
        finish_change(shelf.root, journal=PENDING)
        sweep((shelf.root, meta))
        yield EditSession(shelf, history)


def _require_newest(newest: Mapping[str, int], expected: int) -> None:
    for key, number in newest.items():
        if number != expected:
            raise StoreConflict(
                f"{key.removeprefix(BLOCK)!r} is at revision {number}, not {expected} any more",
                hint="look at the newest revision and repeat the change",
                key=key,
                newest=number,
                expected=expected,
            )


def _require_good(key: str, shipped: Layer, owner: Layer) -> None:
    if key.startswith(BLOCK):
        made = make_block(merge_block(key.removeprefix(BLOCK), shipped, owner), owner.domains)
        if isinstance(made, Block):
            made = fleeting(made, _placeholders(block_keys(made), shipped, owner)) or made
    else:
        name = key.removeprefix(PLACEHOLDER)
        made: object = make_placeholder(name, merge_placeholder(name, shipped, owner))
    if isinstance(made, list):
        raise as_error(made)


def _placeholders(keys: Iterable[str], shipped: Layer, owner: Layer) -> dict[str, Placeholder]:
    made = {key: make_placeholder(key, merge_placeholder(key, shipped, owner)) for key in keys}
    return {key: one for key, one in made.items() if isinstance(one, Placeholder)}
