"""The owner's layer over the shipped one, field by field; and where both sides changed.

A field is named by its path: `meta.order`, `variants.default`, `content.placeholders_used`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

from mentis.values.digest import digest
from mentis.values.json import JsonObject
from mentis.values.value import Value

from .layer import Layer

VARIANTS = "variants."  # before the name of a wording, in a path
# What the merged view of the origin system adds to an entry; it is never stored.
NEVER_STORED = frozenset({"source", "_origin"})


@dataclass(frozen=True, slots=True)
class MergedBlock:
    """One block as both layers make it. `overridden` names the fields that are the owner's."""

    id: str
    origin: Literal["shipped", "owner"]
    meta: JsonObject
    content: JsonObject
    overridden: tuple[str, ...] = ()

    @property
    def owned(self) -> tuple[str, ...]:
        """The wordings of a shipped block that are the owner's."""
        paths = (path for path in self.overridden if path.startswith(VARIANTS))
        return tuple(sorted(path.removeprefix(VARIANTS) for path in paths))


@dataclass(frozen=True, slots=True)
class Conflict(Value):
    """A shipped field the owner changed, and that a newer Mentis changed as well.

    `theirs` is None where the newer Mentis does not ship it any more.
    """

    block: str
    field: str
    base: object
    ours: object
    theirs: object


def merge_blocks(shipped: Layer, owner: Layer) -> dict[str, MergedBlock]:
    """Every block of both layers, shipped ones first, in the order of their manifests."""
    ids = dict.fromkeys((*shipped.prompts, *owner.prompts))
    return {block_id: merge_block(block_id, shipped, owner) for block_id in ids}


def merge_block(block_id: str, shipped: Layer, owner: Layer) -> MergedBlock:
    above = strip_derived(owner.prompts.get(block_id, {}))
    if block_id not in shipped.prompts:
        content = owner.domains.get(domain_file(above), {}).get(block_id, {})
        return MergedBlock(block_id, "owner", above, content)
    below = shipped.prompts[block_id]
    meta = {**below, **above}
    under = shipped.domains.get(domain_file(below), {}).get(block_id, {})
    over = owner.domains.get(domain_file(meta), {}).get(block_id, {})
    return MergedBlock(
        id=block_id,
        origin="shipped",
        meta=meta,
        content=merge_content(under, over),
        overridden=tuple(owner_fields(above, over)),
    )


def owner_fields(meta: JsonObject, content: JsonObject) -> dict[str, object]:
    """Each field the owner's layer sets for one block, by its path."""
    return dict(_fields(meta, content))


def shipped_fields(block_id: str, shipped: Layer) -> dict[str, object]:
    """Each field the shipped layer sets for one block, by its path."""
    meta = shipped.prompts.get(block_id, {})
    return owner_fields(meta, shipped.domains.get(domain_file(meta), {}).get(block_id, {}))


def find_conflicts(shipped: Layer, owner: Layer) -> tuple[Conflict, ...]:
    """Overrides whose shipped text is not the one they replaced; neither side is lost."""
    found: list[Conflict] = []
    for block_id, bases in owner.bases.items():
        above = owner.prompts.get(block_id, {})
        below = shipped.prompts.get(block_id, {})
        file = domain_file({**below, **above})
        over = owner.domains.get(file, {}).get(block_id, {}) if file else _anywhere(block_id, owner)
        ours, theirs = owner_fields(strip_derived(above), over), shipped_fields(block_id, shipped)
        for path, base in bases.items():
            now = digest_of(theirs.get(path))
            if path in ours and now not in (base.digest, digest_of(ours[path])):
                found.append(Conflict(block_id, path, base.value, ours[path], theirs.get(path)))
    return tuple(found)


def _anywhere(block_id: str, owner: Layer) -> JsonObject:
    """The owner's text of a block that is not shipped any more, which said where it was kept."""
    for entries in owner.domains.values():
        if block_id in entries:
            return entries[block_id]
    return {}


def merge_placeholder(key: str, shipped: Layer, owner: Layer) -> JsonObject:
    above = owner.placeholders.get(key, {})
    if "_origin" in above:
        above = {name: value for name, value in above.items() if name != "_origin"}
    return {**shipped.placeholders[key], **above} if key in shipped.placeholders else above


def digest_of(value: object) -> str:
    """The digest of a JSON value, whatever the order of its keys."""
    return digest(json.dumps(value, sort_keys=True, ensure_ascii=True).encode())


def domain_file(meta: JsonObject) -> str:
    file = meta.get("domain_file")
    return file if isinstance(file, str) else ""


def _fields(meta: JsonObject, content: JsonObject) -> Iterator[tuple[str, object]]:
    yield from ((f"meta.{name}", value) for name, value in meta.items())
    for name, value in content.items():
        if name == "variants" and isinstance(value, dict):
            variants = cast("JsonObject", value)
            yield from ((f"variants.{variant}", wording) for variant, wording in variants.items())
        else:
            yield f"content.{name}", value


def strip_derived(meta: JsonObject) -> JsonObject:
    """An entry without what only a merged view says of it."""
    if NEVER_STORED.isdisjoint(meta):
        return meta
    return {name: value for name, value in meta.items() if name not in NEVER_STORED}


def merge_content(under: JsonObject, over: JsonObject) -> JsonObject:
    below, above = under.get("variants"), over.get("variants")
    merged: dict[str, object] = {**under, **over}
    if isinstance(below, dict) and isinstance(above, dict):
        merged["variants"] = {**cast("JsonObject", below), **cast("JsonObject", above)}
    return merged
