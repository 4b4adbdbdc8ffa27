"""The owner's layer of one block: the whole of an own block, the changed fields of a shipped one,
and what those fields held when they were changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from mentis.codec.forms import to_json, to_object
from mentis.values.json import JsonObject
from mentis.values.value import Value

from .layer import Base, Layer
from .overlay import (
    VARIANTS,
    digest_of,
    domain_file,
    merge_content,
    owner_fields,
    shipped_fields,
    strip_derived,
)

USED = "content.placeholders_used"
_TOKEN = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, slots=True)
class BlockLayer(Value):
    """Its JSON form is what a revision keeps. `bases` are by field path."""

    meta: JsonObject = field(default_factory=dict[str, object])
    content: JsonObject = field(default_factory=dict[str, object])
    bases: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])


def layer_of(block_id: str, shipped: Layer, owner: Layer) -> BlockLayer | None:
    """The owner's layer of a block as it stands in the files; None when there is nothing."""
    meta = strip_derived(owner.prompts.get(block_id, {}))
    file = domain_of(block_id, meta, shipped)
    content = owner.domains.get(file, {}).get(block_id, {})
    bases = {path: base_entry(base) for path, base in owner.bases.get(block_id, {}).items()}
    return BlockLayer(meta, content, bases) if meta or content else None


def domain_of(block_id: str, meta: JsonObject, shipped: Layer) -> str:
    """Which file of the owner's holds the content of a block with this entry."""
    return domain_file({**shipped.prompts.get(block_id, {}), **meta})


def normalise_layer(block_id: str, layer: BlockLayer, shipped: Layer) -> BlockLayer | None:
    """As it is stored: plain JSON, no field that equals the shipped one, a base for each field
    that replaces a shipped one, and `placeholders_used` in step with the texts.

    Beside a changed wording one that equals the shipped one stays: it is told before the other."""
    to_json(layer)  # refuses what JSON or UTF-8 cannot say
    plain = to_object(layer)
    meta, content = (
        strip_derived(cast("JsonObject", plain["meta"])),
        cast("JsonObject", plain["content"]),
    )
    below = shipped_fields(block_id, shipped)
    if not below:
        return BlockLayer(meta, {**content, "placeholders_used": keys_used(content)})
    fields = owner_fields(meta, content)
    fields.pop(USED, None)
    kept = _differing(fields, below)
    if any(not path.startswith("meta.") for path in kept):
        under = shipped_content(block_id, shipped)
        used = keys_used(merge_content(under, _content(kept)))
        if not _same(USED, used, below):
            kept[USED] = used
    if not kept:
        return None
    bases = {path: _base(path, layer, below) for path in kept if path != USED}
    return BlockLayer(_meta(kept), _content(kept), bases)


def effective(
    block_id: str, layer: BlockLayer | None, shipped: Layer
) -> tuple[JsonObject, JsonObject]:
    """The block's entry and content with this layer over what is shipped."""
    over = layer or BlockLayer()
    below = shipped.prompts.get(block_id, {})
    return {**below, **over.meta}, merge_content(shipped_content(block_id, shipped), over.content)


def shipped_content(block_id: str, shipped: Layer) -> JsonObject:
    file = domain_file(shipped.prompts.get(block_id, {}))
    return shipped.domains.get(file, {}).get(block_id, {})


def fields_of(layer: BlockLayer | None) -> dict[str, object]:
    return owner_fields(layer.meta, layer.content) if layer else {}


def changed_fields(old: BlockLayer | None, new: BlockLayer | None) -> tuple[str, ...]:
    """The fields that differ, or that now stand over another shipped text."""
    before, after = _told(old), _told(new)
    return tuple(
        path
        for path in dict.fromkeys((*before, *after))
        if (path in before) != (path in after) or digest_of(before[path]) != digest_of(after[path])
    )


def keys_used(content: JsonObject) -> list[str]:
    """Every placeholder in any wording, sorted, each once."""
    return sorted({key for text in _texts(content) for key in _TOKEN.findall(text)})


def base_entry(base: Base) -> JsonObject:
    return {"digest": base.digest, "value": base.value}


def base_of(value: object) -> JsonObject:
    return {"digest": digest_of(value), "value": value}


def _base(path: str, layer: BlockLayer, below: JsonObject) -> JsonObject:
    known = layer.bases.get(path)
    return known if known and isinstance(known.get("digest"), str) else base_of(below.get(path))


def _told(layer: BlockLayer | None) -> dict[str, object]:
    told = layer or BlockLayer()
    return {path: [value, told.bases.get(path)] for path, value in fields_of(layer).items()}


def _differing(fields: JsonObject, below: JsonObject) -> dict[str, object]:
    differing = {path for path, value in fields.items() if not _same(path, value, below)}
    worded = any(path.startswith(VARIANTS) for path in differing)
    return {
        path: value
        for path, value in fields.items()
        if path in differing or (worded and path.startswith(VARIANTS))
    }


def _same(path: str, value: object, below: JsonObject) -> bool:
    return path in below and digest_of(value) == digest_of(below[path])


def _meta(fields: JsonObject) -> JsonObject:
    return {path[5:]: value for path, value in fields.items() if path.startswith("meta.")}


def _content(fields: JsonObject) -> JsonObject:
    variants = {path[9:]: value for path, value in fields.items() if path.startswith(VARIANTS)}
    content: dict[str, object] = {"variants": variants} if variants else {}
    for path, value in fields.items():
        if path.startswith("content."):
            content[path[8:]] = value
    return content


def _texts(content: JsonObject) -> Iterator[str]:
    """Every text of every wording, those of messages too."""
    for wording in _objects(list(_object(content.get("variants")).values())):
        yield from (text for text in (wording.get("content"),) if isinstance(text, str))
        for message in _objects(wording.get("messages")):
            yield from (text for text in (message.get("content"),) if isinstance(text, str))


def _object(value: object) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def _objects(value: object) -> Iterator[JsonObject]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    yield from (cast("JsonObject", item) for item in items if isinstance(item, dict))
