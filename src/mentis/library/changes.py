"""Edits of the owner's layer of a block, as new layers. Nothing here reads or writes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias, cast

from mentis.errors import LibraryError
from mentis.values.json import JsonObject

from .block_layer import BlockLayer, base_of, effective
from .layer import Layer
from .overlay import shipped_fields

# A wording: its text, its whole entry, or None to take it away.
Wording: TypeAlias = str | JsonObject | None

BLOCK_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
PLACEHOLDER_KEY = re.compile(r"[a-z][a-z0-9_]*")
# What an editor fills in for a new block.
_NEW: JsonObject = {
    "category": "custom",
    "type": "text",
    "target": "system_prompt",
    "position": "system_prompt",
    "order": 9999,
    "enabled": True,
}


def save_fields(
    block_id: str,
    old: BlockLayer | None,
    shipped: Layer,
    *,
    meta: JsonObject,
    variants: Mapping[str, Wording],
    content: JsonObject,
) -> BlockLayer:
    """The layer with these fields changed; everything else stays. None takes a field away."""
    for name in ("variants", "placeholders_used"):
        if name in content:
            hint = "give wordings as variants; the list of placeholders is kept by itself"
            raise LibraryError(f"{name!r} cannot be saved as a field of the content", hint=hint)
    layer = old or BlockLayer()
    below = shipped_fields(block_id, shipped)
    entry = {**layer.meta, **{name: _number(value) for name, value in meta.items()}}
    absent = [n for n, v in entry.items() if v is None and below.get(f"meta.{n}") is None]
    kept = {name: value for name, value in entry.items() if name not in absent}
    texts = _wordings(layer, effective(block_id, old, shipped)[1], variants)
    filled = {
        **{name: value for name, value in layer.content.items() if name != "variants"},
        **content,
    }
    told = {name: value for name, value in filled.items() if value is not None}
    return BlockLayer(kept, {"variants": texts, **told} if texts else told, layer.bases)


def create_layer(block_id: str, meta: JsonObject, variants: Mapping[str, Wording]) -> BlockLayer:
    texts = {name: _wording(given) for name, given in variants.items() if given is not None}
    several = any("messages" in wording for wording in texts.values())
    defaults = {**_NEW, "type": "multi_turn"} if several else _NEW
    entry = {"name": block_id, **defaults, "domain_file": f"{block_id}.json", **meta}
    numbers = {name: _number(value) for name, value in entry.items()}
    return BlockLayer({n: v for n, v in numbers.items() if v is not None}, {"variants": texts})


def duplicate_layer(
    new_id: str, meta: JsonObject, content: JsonObject, *, name: str | None
) -> BlockLayer:
    """A block of its own, ten further on, in a file of its own."""
    order = meta.get("order")
    further = order + 10 if isinstance(order, int | float) else 9999
    called = name or f"{meta.get('name', new_id)} (copy)"
    entry = {**meta, "name": called, "order": further, "domain_file": f"{new_id}.json"}
    return BlockLayer(entry, content)


def rename_layer(old_id: str, new_id: str, layer: BlockLayer) -> BlockLayer:
    """With the same file, unless the file had the block's name."""
    if layer.meta.get("domain_file") != f"{old_id}.json":
        return layer
    return BlockLayer({**layer.meta, "domain_file": f"{new_id}.json"}, layer.content)


def keep_field(block_id: str, field: str, layer: BlockLayer, shipped: Layer) -> BlockLayer:
    """The layer with its field kept, over what is shipped now."""
    now = base_of(shipped_fields(block_id, shipped).get(field))
    return BlockLayer(layer.meta, layer.content, {**layer.bases, field: now})


def drop_field(field: str, layer: BlockLayer) -> BlockLayer:
    """The layer without one field."""
    kind, _, name = field.partition(".")
    meta, content = dict(layer.meta), dict(layer.content)
    if kind == "meta":
        meta.pop(name, None)
    elif kind == "variants":
        content["variants"] = {n: v for n, v in _variants(content).items() if n != name}
    else:
        content.pop(name, None)
    return BlockLayer(meta, content, {p: b for p, b in layer.bases.items() if p != field})


def require_id(block_id: str) -> None:
    if not BLOCK_ID.fullmatch(block_id):
        raise LibraryError(
            f"{block_id!r} cannot be the id of a block",
            hint="use 1 to 64 small letters, digits, dashes and underscores",
            block=block_id,
        )


def require_key(key: str) -> None:
    if not PLACEHOLDER_KEY.fullmatch(key):
        raise LibraryError(
            f"{key!r} cannot be the key of a placeholder",
            hint="begin with a small letter, and go on with small letters, digits, underscores",
            placeholder=key,
        )


def _wordings(layer: BlockLayer, content: JsonObject, given: Mapping[str, Wording]) -> JsonObject:
    known, texts = _variants(content), dict(_variants(layer.content))
    for name, wording in given.items():
        if wording is None:
            texts.pop(name, None)
            continue
        new = _wording(wording)
        former = known.get(name)
        rest: JsonObject = cast("JsonObject", former) if isinstance(former, dict) else {}
        # A text takes the place of messages and the other way round; other fields stay.
        other = {"content": "messages", "messages": "content"}
        gone = {other[kind] for kind in other if kind in new} - new.keys()
        texts[name] = {**{n: v for n, v in rest.items() if n not in gone}, **new}
    return texts


def _wording(given: str | JsonObject) -> JsonObject:
    return {"content": given} if isinstance(given, str) else given


def _variants(content: JsonObject) -> JsonObject:
    variants = content.get("variants")
    return cast("JsonObject", variants) if isinstance(variants, dict) else {}


def _number(value: object) -> object:
    """100.0 is written, and compared, as 100."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
