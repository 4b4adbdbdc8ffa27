"""Rules about files and entries: what the schemas refuse, and content in the wrong place."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import cast

from mentis.library.layer import Layer
from mentis.library.overlay import MergedBlock, domain_file
from mentis.library.schemas import FileFault, file_faults, kind_of
from mentis.values.json import JsonObject

from .desk import CheckDesk, CheckFinding, FilePlace

_PLAIN = re.compile(r"[^\W_][\w.-]*\.json")
_CODES: Mapping[str, str] = {
    "prompts": "prompt-no-blocks",
    "variants": "prompt-no-variants",
    "resolve_phase": "prompt-bad-phase",
}


def check_files(desk: CheckDesk) -> Iterator[CheckFinding]:
    shipped, owner = desk.loaded.shipped, desk.loaded.owner
    for layer in (shipped, owner):
        for name in layer.files:
            below = shipped.placeholders if name == layer.registry_file else shipped.prompts
            yield from _file(layer, name, below if layer is owner else ())
        yield from _stray(layer, desk)


def check_content(desk: CheckDesk) -> Iterator[CheckFinding]:
    """What the merged entries lack, whichever layer should have had it."""
    for block in desk.merged.values():
        if not block.content:
            yield from _no_content(block, desk)
        else:
            yield from _no_wording(block, desk)


def _file(layer: Layer, name: str, partial: Collection[str]) -> Iterator[CheckFinding]:
    kind = kind_of(name, owner=layer.name == "owner")
    for fault in file_faults(kind, layer.documents[name], partial=partial):
        place = FilePlace(layer.files[name], fault.path)
        hint = fault.hint or f"compare it with the schema schemas/prompts/{kind}.schema.json"
        yield CheckFinding(_code(fault), place, fault.message, hint)


def _code(fault: FileFault) -> str:
    last = str(fault.path[-1]) if fault.path else ""
    if "messages" in fault.path[:-1]:
        return "prompt-bad-message"
    if last == "domain_file" and fault.kind == "string_pattern_mismatch":
        return "prompt-unsafe-file"
    if fault.kind == "too_short" or (last == "variants" and fault.kind == "missing"):
        return _CODES.get(last, "prompt-bad-value")
    if last == "resolve_phase" and fault.kind != "missing":
        return _CODES[last]
    return "prompt-missing-field" if fault.kind == "missing" else "prompt-bad-value"


def _stray(layer: Layer, desk: CheckDesk) -> Iterator[CheckFinding]:
    for file, entries in layer.domains.items():
        for block_id in entries:
            named = _named_file(layer, block_id, desk)
            if named == file:
                continue
            elsewhere = f"; its content is read from {named}" if named else ""
            yield CheckFinding(
                "prompt-stray-content",
                FilePlace(layer.files.get(file), (block_id,), key=True),
                f"no manifest places {block_id!r} in {file}{elsewhere}",
                "name this file as the block's domain_file, or take the entry out",
            )


def _named_file(layer: Layer, block_id: str, desk: CheckDesk) -> str:
    if layer.name == "shipped":
        return domain_file(layer.prompts.get(block_id, {}))
    return domain_file(desk.merged[block_id].meta) if block_id in desk.merged else ""


def _no_content(block: MergedBlock, desk: CheckDesk) -> Iterator[CheckFinding]:
    file = domain_file(block.meta)
    if not _PLAIN.fullmatch(file):
        return  # said already: the field is missing or unsafe
    layer = desk.loaded.owner if block.origin == "owner" else desk.loaded.shipped
    if file in layer.broken or f"{file}#{block.id}" in layer.broken:
        return  # what is wrong with the file says it all
    hint = f"add {block.id!r} to {file}, or name the file that holds it"
    message = f"{file} holds no block {block.id!r}"
    yield CheckFinding("prompt-no-content", desk.meta(block.id, "domain_file"), message, hint)


def _no_wording(block: MergedBlock, desk: CheckDesk) -> Iterator[CheckFinding]:
    wanted = "messages" if block.meta.get("type") == "multi_turn" else "content"
    variants = block.content.get("variants")
    if not isinstance(variants, dict):
        return
    for name, variant in cast("JsonObject", variants).items():
        if isinstance(variant, dict) and cast("JsonObject", variant).get(wanted) is None:
            yield CheckFinding(
                "prompt-no-wording",
                desk.wording(block.id, name),
                f"variant {name!r} of {block.meta.get('type')} block {block.id!r} has no {wanted}",
                f"add {wanted}; an empty one blanks the block",
            )
