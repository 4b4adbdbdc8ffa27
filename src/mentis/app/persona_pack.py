"""A persona as one file of JSON: its fields, the blocks for it alone, its files, its memories.

The same persona is the same bytes. What comes in such a file is trusted no more than a card: its
blocks may say only what a block of an import may.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, cast

from mentis.codec.canon import canonical
from mentis.codec.forms import from_json, to_object
from mentis.errors import BadInput
from mentis.exchange.memory_lines import read_lines, write_lines
from mentis.library.block_layer import BlockLayer
from mentis.library.changes import BLOCK_ID, create_layer
from mentis.values.cognition import Memory
from mentis.values.digest import Digest, digest
from mentis.values.json import JsonObject, json_object
from mentis.values.keywords import Keywords
from mentis.values.persona import Persona
from mentis.values.trust import Trust

from .import_plan import ArrivalDraft, ArrivalLimits
from .import_texts import add_memory_file

if TYPE_CHECKING:
    from mentis.library.changes import Wording

FORMAT, VERSION = "mentis-persona", 1
_FILES = ("memory", "soul", "relationship")
_OURS = ("id", "name", "trust")  # what a home says of a persona, whatever a file does
_HINT = "export it anew"
# What a block of an import may say of itself, by the type it has to have.
_META: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("name", "description", "category", "target", "position", "type"), str),
    **dict.fromkeys(("stability", "variant_condition", "keep_with"), str),
    **dict.fromkeys(("order", "priority", "max_tokens"), (int, float)),
    **dict.fromkeys(("modes", "requires_any", "requires_all", "requires_none", "tags"), list),
    "enabled": bool,
    "keywords": dict,
}


@dataclass(frozen=True, slots=True)
class PersonaPack:
    """`fields` are those of its persona.toml; `blocks` the owner's layers by id."""

    id: str
    name: str
    fields: JsonObject
    blocks: Mapping[str, BlockLayer] = field(default_factory=dict[str, BlockLayer])
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    picture: bytes | None = None
    memories: tuple[Memory, ...] | None = None


def is_pack(document: object) -> bool:
    return json_object(document).get("format") == FORMAT


def pack_document(pack: PersonaPack) -> JsonObject:
    """As it is written, with the digest of all of it."""
    told: JsonObject = {
        "format": FORMAT,
        "version": VERSION,
        "id": pack.id,
        "name": pack.name,
        "persona": {name: value for name, value in pack.fields.items() if name not in _OURS},
        "blocks": {name: _block_form(layer) for name, layer in pack.blocks.items()},
    }
    if pack.files:
        told["files"] = dict(pack.files)
    if pack.picture is not None:
        told["picture"] = base64.b64encode(pack.picture).decode()
    if pack.memories is not None:
        told["memories"] = write_lines(pack.memories).decode()
    return {**told, "digest": _digest(told)}


def read_pack(document: JsonObject, *, checked: bool = True) -> PersonaPack:
    """The persona that a document holds; BadInput where it is not as it was written."""
    if document.get("version") != VERSION:
        hint = f"this version of Mentis reads version {VERSION}; upgrade it"
        raise BadInput(f"version {document.get('version')!r} of a persona is not known", hint=hint)
    told = {name: value for name, value in document.items() if name != "digest"}
    if checked and document.get("digest") != _digest(told):
        hint = f"{_HINT}; what is in it was changed, or is not whole"
        raise BadInput("the persona in the file is not the one its digest is of", hint=hint)
    held = document.get("memories")
    memories = None if held is None else _memories(_text(held, "memories"))
    return PersonaPack(
        _text(document.get("id"), "id"),
        " ".join(_text(document.get("name"), "name").split()),
        _object(document.get("persona"), "persona"),
        dict(_layers(_object(document.get("blocks"), "blocks"))),
        {n: _text(v, n) for n, v in _object(document.get("files"), "files").items() if n in _FILES},
        _picture(document.get("picture")),
        memories,
    )


def add_pack(pack: PersonaPack, draft: ArrivalDraft, persona: str, limits: ArrivalLimits) -> None:
    """What becomes of it, under the id of its persona."""
    draft.fields |= pack_fields(pack, draft)
    draft.add(f"persona ({len(draft.fields)} fields)", "persona.toml")
    add_pack_blocks(pack, draft, persona)
    for name, text in pack.files.items():
        add_memory_file(draft, f"{name}.md", name, text, persona=persona, limits=limits)
    if pack.memories:
        draft.memories += [untrusted(one) for one in pack.memories]
        note = "screened; mentis memory list shows them"
        draft.add(f"memories ({len(pack.memories)})", "memories", trust="untrusted", note=note)


def pack_fields(pack: PersonaPack, draft: ArrivalDraft) -> JsonObject:
    """Those that a persona.toml may have; their types are checked."""
    known = {one.name for one in fields(Persona)} - {*_OURS}
    found = {name: value for name, value in pack.fields.items() if name in known}
    for name in pack.fields.keys() - known:
        draft.lose(f"field {name} of the persona", "a persona has no such field here")
    from_json(Persona, json.dumps({**found, "id": "imported", "name": pack.name or "Imported"}))
    return {**found, "trust": Trust.REFERENCE.value}


def add_pack_blocks(pack: PersonaPack, draft: ArrivalDraft, persona: str) -> None:
    """Its blocks for this persona alone, under its id; what they may not say is named."""
    for old, layer in pack.blocks.items():
        block_id = _renamed(old, pack.id, persona)
        meta, lost = _allowed_meta(layer.meta)
        if lost:
            draft.lose(f"{', '.join(lost)} of block {old}", "no import may say that of a block")
        variants = cast("Mapping[str, Wording]", layer.content.get("variants") or {})
        mine: JsonObject = {"personas": [persona], "trust": Trust.REFERENCE.value}
        tags = [str(one) for one in cast("Sequence[object]", meta.get("tags", []))]
        mine["tags"] = [*dict.fromkeys((*tags, "imported"))]
        draft.blocks[block_id] = create_layer(block_id, {**meta, **mine}, variants)
    if pack.blocks:
        draft.add(f"blocks ({len(pack.blocks)})", f"blocks of {persona} alone")


def untrusted(memory: Memory) -> Memory:
    """As an import may bring it, whatever the file says of it."""
    return Memory(memory.id, memory.text, memory.kind, source=memory.source, time=memory.time)


def _renamed(old: str, before: str, now: str) -> str:
    new = f"{now}{old[len(before) :]}" if old.startswith(f"{before}-") else old
    new = new if new == old or BLOCK_ID.fullmatch(new) else f"{now}-{old}"[:64]
    if not BLOCK_ID.fullmatch(new):
        raise BadInput(f"{old!r} cannot be the id of a block", hint=_HINT)
    return new


def _allowed_meta(meta: JsonObject) -> tuple[JsonObject, list[str]]:
    found: JsonObject = {}
    lost: list[str] = []
    ours = ("id", "personas", "trust", "domain_file")
    for name, value in meta.items():
        kind = _META.get(name)
        if kind is None or not isinstance(value, kind):
            lost += [] if name in ours or value is None else [name]
        else:
            found[name] = value
    if "keywords" in found:
        words = from_json(Keywords, json.dumps(found["keywords"]))
        found["keywords"] = to_object(words)
    return found, lost


def _block_form(layer: BlockLayer) -> JsonObject:
    meta = {n: v for n, v in layer.meta.items() if n not in ("personas", "trust", "domain_file")}
    return {"meta": meta, "variants": layer.content.get("variants", {})}


def _layers(held: JsonObject) -> Iterator[tuple[str, BlockLayer]]:
    for name, value in held.items():
        row = _object(value, f"block {name}")
        variants = _object(row.get("variants"), f"wordings of {name}")
        yield name, BlockLayer(_object(row.get("meta"), f"block {name}"), {"variants": variants})


def _memories(lines: str) -> tuple[Memory, ...]:
    data = lines.encode()
    return tuple(one.memory for one in read_lines(data, most_bytes=len(data)))


def _picture(value: object) -> bytes | None:
    if value is None:
        return None
    try:
        return base64.b64decode(_text(value, "picture"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadInput("the picture of the persona is not base64", hint=_HINT) from error


def _digest(told: JsonObject) -> Digest:
    return digest(canonical(told))


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise BadInput(f"{what} of the persona is no text", hint=_HINT)
    return value


def _object(value: object, what: str) -> JsonObject:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadInput(f"{what} of the persona is no object", hint=_HINT)
    return cast("JsonObject", value)
