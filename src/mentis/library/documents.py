"""Changes the JSON of the owner's files, and says what has to be written.

Everything that is not changed stays as it is: other entries, unknown members, their order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from mentis.errors import BadInput, LibraryError
from mentis.values.json import JsonObject

from .block_layer import BlockLayer, domain_of
from .layer import (
    ENTRIES,
    MANIFESTS,
    ORIGIN_MANIFEST,
    ORIGIN_REGISTRY,
    OVERRIDES,
    REGISTRIES,
    Layer,
)

MANIFEST, REGISTRY = MANIFESTS["owner"], REGISTRIES["owner"]
_VERSIONS: Mapping[str, str] = {MANIFEST: "2.0", REGISTRY: "2.0", OVERRIDES: "1.0"}


class Documents:
    """A working copy of the owner's files."""

    def __init__(self, shipped: Layer, owner: Layer) -> None:
        self._shipped = shipped
        self._owner = owner
        self._changed: dict[str, JsonObject | None] = {}

    def put_block(self, block_id: str, old: BlockLayer | None, new: BlockLayer | None) -> None:
        before = domain_of(block_id, old.meta, self._shipped) if old and old.content else ""
        after = domain_of(block_id, new.meta, self._shipped) if new and new.content else ""
        if before and before != after:
            self._put(before, block_id, {})
        if after:
            if after != before and block_id in self._document(after):
                raise LibraryError(
                    f"{after} holds a text for {block_id!r} already, which no entry points to",
                    hint="take it out of the file, or choose another file",
                    block=block_id,
                )
            self._put(after, block_id, new.content if new else {})
        self._put(ORIGIN_MANIFEST, block_id, {})  # what is edited is ours from then on
        self._put(MANIFEST, block_id, new.meta if new else {})
        self._put(OVERRIDES, block_id, cast("JsonObject", new.bases) if new else {})

    def put_placeholder(self, key: str, entry: JsonObject | None) -> None:
        self._put(ORIGIN_REGISTRY, key, {})
        self._put(REGISTRY, key, entry or {})

    @property
    def documents(self) -> Mapping[str, JsonObject]:
        """Every file as it is going to be."""
        every = {**self._owner.documents, **self._changed}
        return {file: document for file, document in every.items() if document is not None}

    def changes(self, limit: int) -> dict[str, bytes | None]:
        """The new content of each file that changes; None for one that goes."""
        found = {file: _bytes(document) for file, document in self._changed.items()}
        for file, content in found.items():
            if content is not None and len(content) > limit:
                raise LibraryError(
                    f"{file} would have {len(content)} bytes, and {limit} is the limit",
                    hint="shorten it, use another file, or raise `limits.prompt_file_bytes`",
                    file=file,
                )
        return found

    def _put(self, file: str, key: str, entry: JsonObject) -> None:
        """Set an entry of a file, or take it out if it is empty."""
        document = self._document(file)
        entries = dict(_entries(file, document))
        if (key in entries or entry) and not _same(entries.get(key), entry):
            self._set(file, document, entries, key=key, entry=entry)

    def _set(
        self,
        file: str,
        document: JsonObject,
        entries: dict[str, object],
        *,
        key: str,
        entry: JsonObject,
    ) -> None:
        self._require_sound(file, key)
        if entry:
            entries[key] = entry
        else:
            del entries[key]
        self._changed[file] = _document(file, document, entries)

    def _document(self, file: str) -> JsonObject:
        known = self._changed.get(file, self._owner.documents.get(file))
        return {} if known is None else known

    def _require_sound(self, file: str, key: str) -> None:
        """What cannot be read is never written over."""
        for name in (".", file, f"{file}#{key}"):
            if problem := self._owner.broken.get(name):
                raise LibraryError(
                    f"{problem.location or file}: {problem.message}",
                    hint=f"nothing was changed: mend this first ({problem.hint})",
                    file=file,
                )


def _same(known: object, entry: JsonObject) -> bool:
    """Whether an entry would be written as it stands; then its file is left alone."""
    return known == entry and json.dumps(known) == json.dumps(entry)


def _entries(file: str, document: JsonObject) -> JsonObject:
    if file not in ENTRIES:
        return document
    entries = document.get(ENTRIES[file])
    return cast("JsonObject", entries) if isinstance(entries, dict) else {}


def _document(file: str, document: JsonObject, entries: JsonObject) -> JsonObject | None:
    """None when nothing is left in it that anybody would miss."""
    if file not in ENTRIES:
        return entries or None
    if not entries and document.keys() <= {"version", ENTRIES[file]}:
        return None
    return {**(document or {"version": _VERSIONS[file]}), ENTRIES[file]: entries}


def _bytes(document: JsonObject | None) -> bytes | None:
    if document is None:
        return None
    try:
        text = json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)
        return f"{text}\n".encode()
    except (TypeError, ValueError, RecursionError) as error:
        hint = "keep to what JSON and UTF-8 can say"
        raise BadInput(f"this cannot be written as JSON: {error}", hint=hint) from error
