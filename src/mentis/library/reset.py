"""Back to what is shipped, all at once, and back again; and back from a change of many blocks.

A reset keeps the owner's files, byte for byte, in a revision under `prompts:reset`. A file that
cannot be read as text is copied aside, and the revision names the copy. A change of many blocks
keeps their former states under `prompts:write`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, TypeAlias, cast

from mentis.disk.inside import inside
from mentis.errors import LibraryError, MentisError, UserError
from mentis.values.json import JsonObject

from .files import parse_members
from .history import same, undo_target
from .integrity import broken_files, keep_aside
from .layer import Layer, make_layer
from .session import EditSession, EditStep
from .states import BLOCK, PLACEHOLDER, Edit, content, parse_state, state_in

Scope: TypeAlias = Literal["system", "full"]
KEY = "prompts:reset"
WRITES = "prompts:write"
_Kept: TypeAlias = Mapping[str, Mapping[Literal["text", "aside"], str]]


def factory_reset(session: EditSession, scope: Scope) -> tuple[Edit, ...]:
    """`system` drops changes of shipped things, `full` everything the owner's layer holds."""
    kept = _keep(session)
    keys = [key for key in _keys(session.owner) if scope == "full" or _shipped(key, session)]
    if not keys and (scope == "system" or not kept):
        return ()
    number = session.history.append(KEY, json.dumps(kept, ensure_ascii=False), f"reset {scope}")
    steps = {key: EditStep(None, f"reset {scope}") for key in keys}
    files = dict.fromkeys(kept) if scope == "full" else None
    try:
        return session.commit(steps, force=True, files=files)
    except MentisError:
        session.history.append(KEY, number.content, f"undo {number.number}")  # it did not happen
        raise


def undo_reset(session: EditSession) -> tuple[Edit, ...]:
    """The owner's files as they were before the last reset that still stands."""
    revisions = session.history.of(KEY)
    target = undo_target(revisions)
    if target is None:
        raise LibraryError("there is no factory reset to undo", hint="nothing was changed")
    now = _keep(session)
    former = cast("_Kept", json.loads(revisions[target.number - 1].content))
    data = {name: _content(session.root, entry) for name, entry in former.items()}
    restored = _layer(data, session.shipped)
    keys = dict.fromkeys((*_keys(session.owner), *_keys(restored)))
    states = {key: state_in(key, session.shipped, restored) for key in keys}
    steps = {
        key: EditStep(state, "undo reset", checked=False)
        for key, state in states.items()
        if content(state) != content(session.state(key))
    }
    files: dict[str, bytes | None] = {**dict.fromkeys(now), **data}
    edits = session.commit(steps, force=True, files=files)
    session.history.append(KEY, json.dumps(now, ensure_ascii=False), f"undo {target.number}")
    return edits


def write_many(
    session: EditSession, steps: Mapping[str, EditStep], *, words: str, force: bool
) -> tuple[Edit, ...]:
    """One change of many blocks, that `undo_write` takes back as one."""
    former = {key: content(session.state(key)) for key in steps}
    if all(same(former[key], content(step.state)) for key, step in steps.items()):
        return session.commit(steps, force=force)
    number = session.history.append(WRITES, json.dumps(former, ensure_ascii=False), words)
    try:
        return session.commit(steps, force=force)
    except MentisError:
        session.history.append(WRITES, number.content, f"undo {number.number}")
        raise


def undo_write(session: EditSession) -> tuple[Edit, ...]:
    """Everything the last change of many blocks touched, as it was before."""
    revisions = session.history.of(WRITES)
    target = undo_target(revisions)
    if target is None:
        raise LibraryError("there is no import to undo", hint="nothing was changed")
    former = cast("Mapping[str, str]", json.loads(revisions[target.number - 1].content))
    steps = {
        key: EditStep(parse_state(key, text), "undo import", checked=False)
        for key, text in former.items()
        if not same(text, content(session.state(key)))
    }
    edits = session.commit(steps, force=True)
    session.history.append(WRITES, revisions[target.number - 1].content, f"undo {target.number}")
    return edits


def _keep(session: EditSession) -> _Kept:
    """The content of every file there is, but for folders and links that lead out."""
    kept: dict[str, Mapping[Literal["text", "aside"], str]] = {}
    for name, source in session.owner.files.items():
        kept[name] = {"text": source.text}
    for name in broken_files(session.owner, session.root):
        kept[name] = {"aside": keep_aside(session.root, name)}
    return kept


def _content(root: Path, entry: Mapping[Literal["text", "aside"], str]) -> bytes:
    if "text" in entry:
        return entry["text"].encode()
    path = inside(root, entry["aside"])
    try:
        return path.read_bytes()
    except OSError as error:
        hint = "put the copy back where it was"
        raise LibraryError(f"{path}: cannot be read: {error.strerror}", hint=hint) from error


def _layer(data: Mapping[str, bytes], shipped: Layer) -> Layer:
    documents: dict[str, JsonObject] = {}
    for name, content_ in data.items():
        try:
            documents[name] = parse_members(content_, name)[1]
        except UserError:  # it was broken before the reset, and is again
            continue
    return make_layer("owner", documents, {}, {}, known_keys=shipped.placeholders)


def _keys(owner: Layer) -> Iterable[str]:
    ids = dict.fromkeys(
        (*owner.prompts, *(i for entries in owner.domains.values() for i in entries))
    )
    yield from (f"{BLOCK}{block_id}" for block_id in ids)
    yield from (f"{PLACEHOLDER}{key}" for key in owner.placeholders)


def _shipped(key: str, session: EditSession) -> bool:
    """Whether it changes something shipped, now or when the change was made."""
    block_id = key.removeprefix(BLOCK)
    if block_id != key:
        return block_id in session.shipped.prompts or block_id in session.owner.bases
    return key.removeprefix(PLACEHOLDER) in session.shipped.placeholders
