"""Blocks of the owner as a chat-completion preset of SillyTavern, over the one they came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from mentis.errors import UsageError
from mentis.exchange.presets import PresetPlace, preset_order, read_preset
from mentis.home.parts import Parts
from mentis.library.block_layer import BlockLayer, layer_of
from mentis.prompts.prompts import Prompts
from mentis.values.block import Block
from mentis.values.json import JsonObject, json_object
from mentis.values.written import dump

from .file_export import ExportDraft, FileExport
from .home_import import standing_imports
from .import_preset import preset_draft, prompt_ids
from .lore_export import is_lore, original_document, same_block, tavern_macros

_SYSTEM, _END = "system_prompt", "system_prompt_append"
_PERSONA = 600  # the order of the block that describes the persona
_BETWEEN = ("worldInfoBefore", "personaDescription", "charDescription", "charPersonality")
_AFTER = ("scenario", "worldInfoAfter", "dialogueExamples")
_HISTORY = "chatHistory"
_CONDITIONS = ("requires_any", "requires_all", "requires_none", "modes", "group", "keywords")
_MARKERS = (*_BETWEEN, *_AFTER, _HISTORY)


def export_preset(home: str | Path, *, persona: str = "", parts: Parts | None = None) -> FileExport:
    """The blocks that the owner made, for every persona or for one alone. Nothing is written."""
    draft = ExportDraft()
    with Prompts.open(home, parts=parts) as prompts:
        loaded = prompts.loaded_library
        wanted = (persona,) if persona else ()
        own = [one for one in loaded.library.blocks if one.origin == "owner"]
        own = [one for one in own if one.personas == wanted and not is_lore(one)]
        told = [one for one in own if one.type == "text" and one.position in (_SYSTEM, _END)]
        layers = {one.id: layer_of(one.id, loaded.shipped, loaded.owner) for one in told}
    for one in own:
        if one not in told and one.position != "prefill":
            draft.lose(f"block {one.id}", "a preset has no place for it")
    if not told:
        raise UsageError("there is no block of yours to export", hint="mentis prompts list")
    document, ids, before = _origin(home, [one.id for one in told])
    rows = [json_object(one) for one in cast("Sequence[object]", document.get("prompts") or [])]
    known = {str(row.get("identifier")): row for row in rows}
    by_block = {block_id: identifier for identifier, block_id in ids.items()}
    for block in told:
        identifier, layer = by_block.get(block.id, block.id), layers[block.id]
        same = block.id in before and layer is not None and same_block(before[block.id], layer)
        if not same:
            known[identifier] = {**known.get(identifier, {}), **_row(block, identifier, draft)}
    gone = {ids[one] for one in ids} - {one.id for one in told}
    for name in () if document else _MARKERS:
        known.setdefault(name, {"identifier": name, "name": name, "marker": True})
    order = _order(document, told, by_block)
    made: JsonObject = {
        **document,
        "prompts": list(known.values()),
        "prompt_order": [{"character_id": 100001, "order": order}],
    }
    if gone:
        draft.lose(f"prompts that were removed ({', '.join(sorted(gone))})", "switched off there")
        order[:] = [
            {**one, "enabled": False} if ids.get(str(one["identifier"])) in gone else one
            for one in order
        ]
    draft.lose("numbers of routes", "they stay in mentis.toml; those of the file stay as they were")
    return FileExport("preset", dump(made), "application/json", len(told), tuple(draft.losses))


def _row(block: Block, identifier: str, draft: ExportDraft) -> JsonObject:
    told = block.variants.get("default") or next(iter(block.variants.values()))
    if len(block.variants) > 1:
        draft.lose(f"other wordings of {block.id}", "a prompt has one text")
    if conditions := [name for name in _CONDITIONS if getattr(block, name)]:
        draft.lose(f"conditions of {block.id} ({', '.join(conditions)})", "a prompt is always told")
    return {
        "identifier": identifier,
        "name": block.name,
        "role": "system",
        "content": tavern_macros(told.content, block.id, draft),
        "system_prompt": False,
        "marker": False,
    }


def _order(
    document: JsonObject, blocks: Sequence[Block], by_block: Mapping[str, str]
) -> list[dict[str, object]]:
    """As it was, with what is new in its place among the markers; or anew."""
    enabled = {by_block.get(one.id, one.id): one.enabled for one in blocks}
    found = [name for name, _ in preset_order(document)] or list(_MARKERS)
    on = dict(preset_order(document))
    for block in blocks:
        name = by_block.get(block.id, block.id)
        if name in found:
            continue
        stops: Mapping[PresetPlace, Sequence[str]] = {
            "before": _MARKERS,
            "after": (_HISTORY,),
            "end": (),
        }
        places = [found.index(one) for one in stops[_place(block)] if one in found]
        found.insert(min(places, default=len(found)), name)
    return [{"identifier": one, "enabled": enabled.get(one, on.get(one, True))} for one in found]


def _place(block: Block) -> PresetPlace:
    if block.position == _END:
        return "end"
    return "before" if block.order < _PERSONA else "after"


def _origin(
    home: str | Path, blocks: Sequence[str]
) -> tuple[JsonObject, dict[str, str], Mapping[str, BlockLayer]]:
    """The preset that these blocks came from, with the ids of its blocks and what they were."""
    for made in reversed(standing_imports(home)):
        if made.plan.format != "preset" or not set(made.blocks) & set(blocks):
            continue
        document = original_document(home, made.number)
        if document is not None:
            preset, name = read_preset(document), made.plan.name
            layers = preset_draft(preset, name, made.plan.persona).blocks
            return document, prompt_ids(preset, name), layers
    return {}, {}, {}
