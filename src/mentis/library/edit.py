"""Changes the owner's prompts: every edit goes through one lock and leaves a revision.

Files are the truth. What somebody changed in them by other means is adopted as a revision of its
own before the next edit, so no state is ever missing from the history.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal

from mentis.errors import LibraryError
from mentis.ports.clock import Clock
from mentis.ports.revisions import Revisions
from mentis.values.cognition import Revision
from mentis.values.json import JsonObject

from .back import steps_back
from .block_layer import BlockLayer, effective, layer_of
from .changes import (
    Wording,
    create_layer,
    drop_field,
    duplicate_layer,
    keep_field,
    rename_layer,
    require_id,
    require_key,
    save_fields,
)
from .history import (
    NOTHING,
    RevisionHistory,
    Target,
    content_of,
    redo_target,
    revision_words,
    same,
    undo_target,
)
from .overlay import Conflict, find_conflicts
from .problems import did_you_mean
from .readable import readable_block, readable_entry, unified_diff
from .reset import Scope, factory_reset, undo_reset, undo_write, write_many
from .session import EditSession, EditStep, open_session
from .shelf import Shelf
from .states import PLACEHOLDER, Edit, content, key_of, parse_state, state_in

__all__ = ["BlockLayer", "Edit", "Editor"]

_OWN_SOURCES = ("static", "custom", "user")


class Editor:
    """`words` say why; they are kept with the revision, beside the `author`. `force` is for the
    constitution. `check`, where there is one, is asked before each change and with the lock held:
    where it raises, nothing is written.
    """

    def __init__(
        self,
        shelf: Shelf,
        revisions: Revisions,
        clock: Clock,
        *,
        busy_seconds: float = 5.0,
        author: str = "",
    ) -> None:
        self._shelf = shelf
        self._history = RevisionHistory(revisions, clock, author)
        self._busy_seconds = busy_seconds
        self.check: Callable[[], None] | None = None

    def save(
        self,
        block_id: str,
        *,
        meta: JsonObject | None = None,
        variants: Mapping[str, Wording] | None = None,
        content: JsonObject | None = None,
        words: str = "",
        force: bool = False,
        expected: int | None = None,
    ) -> Edit:
        """Change fields of a block; what is not given stays. None takes a field away.

        `expected` is the revision the change was made from: if it is not the newest any more,
        StoreConflict is raised and nothing is written.
        """
        with self._open() as session:
            old = _layer(session, block_id)
            new = save_fields(
                block_id,
                old,
                session.shipped,
                meta=meta or {},
                variants=variants or {},
                content=content or {},
            )
            step = EditStep(new, revision_words("save", words))
            return _one(session.commit({key_of(block_id): step}, force=force, expected=expected))

    def create(
        self,
        block_id: str,
        *,
        meta: JsonObject,
        variants: Mapping[str, Wording],
        words: str = "",
        force: bool = False,
    ) -> Edit:
        """A new block of the owner's, by default in a file of its own."""
        with self._open() as session:
            _require_free(session, block_id)
            step = EditStep(create_layer(block_id, meta, variants), revision_words("create", words))
            return _one(session.commit({key_of(block_id): step}, force=force))

    def duplicate(
        self, block_id: str, new_id: str, *, name: str | None = None, force: bool = False
    ) -> Edit:
        with self._open() as session:
            meta, content = effective(block_id, _layer(session, block_id), session.shipped)
            _require_free(session, new_id)
            copy = duplicate_layer(new_id, meta, content, name=name)
            step = EditStep(copy, f"copy of {block_id}")
            return _one(session.commit({key_of(new_id): step}, force=force))

    def delete(self, block_id: str, *, force: bool = False) -> Edit:
        """Remove a block of the owner's. Its history stays, and undo brings it back."""
        with self._open() as session:
            _require_own(session, block_id, "deleted", "switch it off instead (toggle)")
            return _one(session.commit({key_of(block_id): EditStep(None, "delete")}, force=force))

    def toggle(self, block_id: str, enabled: bool | None = None, *, force: bool = False) -> Edit:
        """Switch a block on or off; without `enabled`, to the other of the two."""
        with self._open() as session:
            old = _layer(session, block_id)
            is_on = effective(block_id, old, session.shipped)[0].get("enabled") is True
            wanted = not is_on if enabled is None else enabled
            new = _with_meta(session, block_id, {"enabled": wanted})
            return _one(session.commit({key_of(block_id): EditStep(new, "toggle")}, force=force))

    def reorder(self, orders: Mapping[str, float], *, force: bool = False) -> tuple[Edit, ...]:
        """Give several blocks another place at once; an unknown id and nothing is written."""
        with self._open() as session:
            unknown = [block_id for block_id in orders if not _known(session, block_id)]
            if unknown:
                message = f"there is no block {', '.join(map(repr, unknown))}"
                raise LibraryError(message, hint="nothing was changed", blocks=unknown)
            steps = {
                key_of(block_id): EditStep(
                    _with_meta(session, block_id, {"order": order}), "reorder"
                )
                for block_id, order in orders.items()
            }
            return session.commit(steps, force=force)

    def move(self, block_id: str, domain_file: str, *, force: bool = False) -> Edit:
        """Keep a block in another domain file."""
        with self._open() as session:
            new = _with_meta(session, block_id, {"domain_file": domain_file})
            return _one(session.commit({key_of(block_id): EditStep(new, "move")}, force=force))

    def rename(self, block_id: str, new_id: str, *, force: bool = False) -> Edit:
        """Give a block of the owner's another id. Undo, under either id, takes it back."""
        with self._open() as session:
            hint = "its id is fixed; save another name for it, or duplicate it"
            layer = _require_own(session, block_id, "renamed", hint)
            _require_free(session, new_id)
            steps = {
                key_of(block_id): EditStep(None, f"rename to {new_id}"),
                key_of(new_id): EditStep(
                    rename_layer(block_id, new_id, layer), f"rename from {block_id}"
                ),
            }
            return session.commit(steps, force=force)[1]

    def create_placeholder(
        self,
        key: str,
        *,
        default: str = "",
        name: str = "",
        description: str = "",
        category: str = "custom",
    ) -> Edit:
        """A placeholder of the owner's: a fixed text."""
        require_key(key)
        entry: JsonObject = {
            "name": name or key,
            "description": description,
            "source": "static",
            "type": "string",
            "default": default,
            "category": category,
            "resolve_phase": "static",
        }
        with self._open() as session:
            if key in session.shipped.placeholders or key in session.owner.placeholders:
                hint = "choose another key"
                raise LibraryError(f"there is a placeholder {key!r} already", hint=hint)
            return _one(session.commit({f"{PLACEHOLDER}{key}": EditStep(entry, "create")}))

    def delete_placeholder(self, key: str) -> Edit:
        with self._open() as session:
            entry = session.owner.placeholders.get(key)
            if entry is None or key in session.shipped.placeholders:
                known = session.owner.placeholders.keys() - session.shipped.placeholders.keys()
                hint = did_you_mean(key, known) or "only placeholders of your own can be deleted"
                raise LibraryError(f"you have no placeholder {key!r}", hint=hint)
            if entry.get("source", "static") not in _OWN_SOURCES:
                message = f"{key!r} takes its value from {entry['source']}"
                raise LibraryError(message, hint="only fixed texts can be deleted")
            return _one(session.commit({f"{PLACEHOLDER}{key}": EditStep(None, "delete")}))

    def reset(self, block_id: str) -> Edit:
        """Bring back a shipped block as it is shipped."""
        with self._open() as session:
            _layer(session, block_id)
            if block_id not in session.shipped.prompts:
                message = f"{block_id!r} is your own block, and has no shipped form"
                raise LibraryError(message, hint="delete it if you want it gone", block=block_id)
            return _one(session.commit({key_of(block_id): EditStep(None, "reset")}))

    def factory_reset(self, scope: Scope = "system") -> tuple[Edit, ...]:
        """Drop every change of shipped things; `full` drops what the owner made as well."""
        with self._open() as session:
            return factory_reset(session, scope)

    def undo_reset(self) -> tuple[Edit, ...]:
        """Put the files back, byte for byte, as they were before the last factory reset."""
        with self._open() as session:
            return undo_reset(session)

    def history(self, block_id: str) -> tuple[Revision, ...]:
        """Every revision, oldest first, of a block or of `placeholder:<key>`."""
        key, loaded = key_of(block_id), self._shelf.current()
        known, state = self._history.of(key), state_in(key, loaded.shipped, loaded.owner)
        if state is None and not known and not block_id.startswith(PLACEHOLDER):
            _require_known(block_id, (*loaded.shipped.prompts, *loaded.owner.prompts))
        if same(known[-1].content if known else NOTHING, content(state)):
            return known
        with self._open() as session:
            return self._history.adopt(key, content(session.state(key)))

    def diff(self, block_id: str, older: int | None = None, newer: int | None = None) -> str:
        """A unified diff of what a person edits; by default from what is shipped to the newest."""
        revisions = self.history(block_id)
        first = 0 if older is None else older
        last = len(revisions) if newer is None else newer
        before = self._readable(block_id, content_of(revisions, first, block_id))
        after = self._readable(block_id, content_of(revisions, last, block_id))
        return unified_diff(before, after, (f"{block_id} {first}", f"{block_id} {last}"))

    def undo(self, block_id: str, *, force: bool = False) -> Edit:
        """Take back the newest edit that still stands. As many undos as edits lead to the start."""
        return self._go_back(block_id, "undo", undo_target, force=force)

    def redo(self, block_id: str, *, force: bool = False) -> Edit:
        """Take back the last undo."""
        return self._go_back(block_id, "redo", redo_target, force=force)

    def restore(self, block_id: str, number: int, *, force: bool = False) -> Edit:
        """Bring back the state of a revision; 0 is the state before the first."""
        key = key_of(block_id)
        with self._open() as session:
            revisions = self._history.adopt(key, content(session.state(key)))
            state = parse_state(key, content_of(revisions, number, block_id))
            step = EditStep(state, f"restore {number}", checked=False)
            return _one(session.commit({key: step}, force=force))

    def conflicts(self) -> tuple[Conflict, ...]:
        """Fields that both the owner and a newer Mentis changed; the owner's are in force."""
        loaded = self._shelf.current()
        return find_conflicts(loaded.shipped, loaded.owner)

    def settle(self, block_id: str, field: str, side: Literal["ours", "theirs"]) -> Edit:
        with self._open() as session:
            if block_id in session.owner.bases and block_id not in session.shipped.prompts:
                raise LibraryError(
                    f"{block_id!r} is not shipped any more, so there is nothing to settle with",
                    hint="to keep your text, make a block of your own from it under another id; "
                    "then take it out of its file",
                    block=block_id,
                )
            layer = _layer(session, block_id)
            found = find_conflicts(session.shipped, session.owner)
            fields = [conflict.field for conflict in found if conflict.block == block_id]
            if layer is None or field not in fields:
                hint = f"in conflict are: {', '.join(fields)}" if fields else "nothing is"
                raise LibraryError(f"{field!r} of {block_id!r} is not in conflict", hint=hint)
            if side == "ours":
                new = keep_field(block_id, field, layer, session.shipped)
            else:
                new = drop_field(field, layer)
            step = EditStep(new, f"settle {field} as {side}")
            return _one(session.commit({key_of(block_id): step}))

    def write(
        self,
        blocks: Mapping[str, BlockLayer | None],
        *,
        placeholders: Mapping[str, JsonObject | None] | None = None,
        words: str,
        force: bool = False,
    ) -> tuple[Edit, ...]:
        """Set the owner's layer of many blocks and placeholders at once; None takes it away.

        `undo_write` takes all of it back.
        """
        for name in blocks:
            if not name or ":" in name:
                hint = "name it without a colon"
                raise LibraryError(f"{name!r} cannot be the id of a block", hint=hint, block=name)
        steps = {
            key_of(name): EditStep(layer, revision_words("write", words))
            for name, layer in blocks.items()
        }
        for key, entry in (placeholders or {}).items():
            steps[f"{PLACEHOLDER}{key}"] = EditStep(entry, revision_words("write", words))
        with self._open() as session:
            return write_many(session, steps, words=revision_words("write", words), force=force)

    def undo_write(self) -> tuple[Edit, ...]:
        """Take back the last `write` that still stands, such as an import, in one step."""
        with self._open() as session:
            return undo_write(session)

    @contextmanager
    def _open(self) -> Generator[EditSession]:
        with open_session(self._shelf, self._history, seconds=self._busy_seconds) as session:
            if self.check is not None:
                self.check()
            yield session

    def _go_back(
        self,
        name: str,
        verb: str,
        target_in: Callable[[Sequence[Revision]], Target | None],
        *,
        force: bool,
    ) -> Edit:
        with self._open() as session:
            steps = steps_back(session, name, verb, target_in)
            if not steps:
                hint = f"`history` lists {name!r}, and any revision can be restored"
                raise LibraryError(f"{name!r} has nothing to {verb}", hint=hint, block=name)
            return session.commit(steps, force=force)[0]

    def _readable(self, name: str, text: str) -> list[str]:
        state = parse_state(key_of(name), text)
        if isinstance(state, BlockLayer) or not name.startswith(PLACEHOLDER):
            layer = state if isinstance(state, BlockLayer) else None
            return readable_block(*effective(name, layer, self._shelf.current().shipped))
        return readable_entry(state or {})


def _known(session: EditSession, block_id: str) -> bool:
    return block_id in session.shipped.prompts or block_id in session.owner.prompts


def _layer(session: EditSession, block_id: str) -> BlockLayer | None:
    """The owner's layer of a block there is."""
    _require_known(block_id, (*session.shipped.prompts, *session.owner.prompts))
    return layer_of(block_id, session.shipped, session.owner)


def _with_meta(session: EditSession, block_id: str, meta: JsonObject) -> BlockLayer:
    old = _layer(session, block_id)
    return save_fields(block_id, old, session.shipped, meta=meta, variants={}, content={})


def _require_known(block_id: str, known: Sequence[str]) -> None:
    if block_id not in known:
        hint = did_you_mean(block_id, known) or "`mentis prompts list` shows them all"
        raise LibraryError(f"there is no block {block_id!r}", hint=hint, block=block_id)


def _require_own(session: EditSession, block_id: str, verb: str, hint: str) -> BlockLayer:
    layer = _layer(session, block_id)
    if layer is None or block_id in session.shipped.prompts:
        message = f"{block_id!r} is shipped and cannot be {verb}"
        raise LibraryError(message, hint=hint, block=block_id)
    return layer


def _require_free(session: EditSession, block_id: str) -> None:
    require_id(block_id)
    if _known(session, block_id):
        hint = "choose another id, or save the block that is there"
        raise LibraryError(f"there is a block {block_id!r} already", hint=hint, block=block_id)


def _one(edits: tuple[Edit, ...]) -> Edit:
    (edit,) = edits
    return edit
