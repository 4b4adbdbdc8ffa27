"""Blocks that are lore, as entries of a lorebook again: those that did not change as they came."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, cast

from mentis.codec.forms import to_json
from mentis.errors import BadInput, UsageError
from mentis.exchange.cards import card_in_picture, is_card, read_card, read_json
from mentis.exchange.lorebooks import (
    LoreEntry,
    card_row,
    lorebook_rows,
    read_lorebook,
    world_row,
)
from mentis.exchange.png_text import is_png
from mentis.home.parts import Parts
from mentis.library.block_layer import BlockLayer, layer_of
from mentis.prompts.prompts import Prompts
from mentis.values.block import Block
from mentis.values.json import JsonObject
from mentis.values.keywords import Keywords
from mentis.values.written import dump

from .file_export import ExportDraft, FileExport
from .home_import import import_original, standing_imports
from .import_card import CARD_MACROS
from .import_lore import add_lorebook
from .import_plan import ArrivalDraft, HomeImportPlan, id_of

LoreFormat: TypeAlias = Literal["world", "character-book"]
_LORE = "lore"
_DIALECTS: Mapping[LoreFormat, str] = {"world": "SillyTavern", "character-book": "character book"}


@dataclass(frozen=True, slots=True)
class LoreOrigin:
    """The entry that a block was made of, as it stood in its file, and the block that it made."""

    dialect: str
    row: JsonObject
    layer: BlockLayer


def export_lorebook(
    home: str | Path,
    *,
    format: LoreFormat = "world",  # noqa: A002  # as the option is called
    persona: str = "",
    book: str = "",
    parts: Parts | None = None,
) -> FileExport:
    """The lore of a home: that for every persona, or for one alone; of one book, if it is named.
    Nothing is written.
    """
    draft = ExportDraft()
    with Prompts.open(home, parts=parts) as prompts:
        loaded = prompts.loaded_library
        blocks = [one for one in loaded.library.blocks if is_lore(one) and _is_for(one, persona)]
        layers = {one.id: layer_of(one.id, loaded.shipped, loaded.owner) for one in blocks}
    blocks = [one for one in blocks if not book or (one.keywords and one.keywords.book == book)]
    if not blocks:
        hint = "mentis prompts list names the blocks; --persona ID takes those for it alone"
        raise UsageError("there is no lore to export", hint=hint)
    rows = lore_rows(home, blocks, layers, format=format, draft=draft)
    named = book or next((one.keywords.book for one in blocks if one.keywords), "") or "Lorebook"
    document = book_document(rows, blocks, named, format)
    kind = "application/json"
    return FileExport(f"{format} lorebook", dump(document), kind, len(rows), tuple(draft.losses))


def is_lore(block: Block) -> bool:
    return block.keywords is not None or _LORE in block.tags


def lore_rows(
    home: str | Path,
    blocks: list[Block],
    layers: Mapping[str, BlockLayer | None],
    *,
    format: LoreFormat,  # noqa: A002  # as the option is called
    draft: ExportDraft,
) -> list[JsonObject]:
    """An entry for each block; one that is still what its file made of it, as it stood there."""
    origins = _origins(home)
    rows: list[JsonObject] = []
    for number, block in enumerate(blocks):
        origin, layer = origins.get(block.id), layers.get(block.id)
        same = origin is not None and layer is not None and same_block(origin.layer, layer)
        if origin is not None and same and origin.dialect == _DIALECTS[format]:
            rows.append(origin.row)
            continue
        entry = entry_of(block, draft)
        fresh = world_row(entry, number) if format == "world" else card_row(entry, number)
        of_it = origin is not None and origin.dialect == _DIALECTS[format]
        rows.append({**origin.row, **fresh} if origin is not None and of_it else fresh)
    return rows


def book_document(
    rows: list[JsonObject],
    blocks: list[Block],
    name: str,
    format: LoreFormat,  # noqa: A002  # as the option is called
) -> JsonObject:
    words = next((one.keywords for one in blocks if one.keywords), Keywords(()))
    about: JsonObject = {"name": name, "scan_depth": words.scan_depth, "token_budget": words.budget}
    about["recursive_scanning"] = any(
        one.keywords is None or one.keywords.wakes or one.keywords.woken for one in blocks
    )
    if format == "world":
        return {**about, "entries": {str(n): row for n, row in enumerate(rows)}}
    return {**about, "extensions": {}, "entries": rows}


def entry_of(block: Block, draft: ExportDraft) -> LoreEntry:
    """The entry that a block would be made of."""
    if len(block.variants) > 1:
        draft.lose(f"other wordings of {block.name!r}", "an entry has one text")
    told = block.variants.get("default") or next(iter(block.variants.values()))
    text = tavern_macros(told.content, block.name, draft)
    words = block.keywords or Keywords(())
    order, before = block.order, True
    if block.keywords is None:
        before = block.order < 600
        order = round((block.order - (590 if before else 655)) * 1000, 3)
    if any(one.startswith("/") and one.rstrip("a-z").endswith("/") for one in words.keys):
        draft.lose(f"keys of {block.name!r}", "read as patterns there")
    order = int(order) if float(order).is_integer() else order
    return LoreEntry(
        block.name,
        text,
        words,
        constant=block.keywords is None,
        enabled=block.enabled,
        before=before,
        order=order,
        priority=block.priority,
    )


def tavern_macros(text: str, part: str, draft: ExportDraft) -> str:
    """Our placeholders as the macros of other programs; one that has none is named."""
    for ours, theirs in CARD_MACROS.items():
        text = text.replace(ours, f"{{{{{theirs}}}}}")
    known = {f"{{{{{one}}}}}" for one in CARD_MACROS.values()}
    for name in _placeholders(text):
        if name not in known:
            draft.lose(f"{name} in {part!r}", "a placeholder of Mentis, that others cannot fill")
    return text


def _placeholders(text: str) -> Iterator[str]:
    at = text.find("{{")
    while at >= 0 and (end := text.find("}}", at)) >= 0:
        yield text[at : end + 2]
        at = text.find("{{", end)


def _is_for(block: Block, persona: str) -> bool:
    return block.personas == (persona,) if persona else not block.personas


def same_block(one: BlockLayer, other: BlockLayer) -> bool:
    """What is told, to whom and when; who vouches for it by now does not matter."""
    kept = (
        BlockLayer(
            {n: v for n, v in sorted(layer.meta.items()) if n != "trust"},
            {"variants": layer.content.get("variants")},
        )
        for layer in (one, other)
    )
    first, second = map(to_json, kept)
    return first == second


def _origins(home: str | Path) -> dict[str, LoreOrigin]:
    """By the id of a block that an import made of it."""
    found: dict[str, LoreOrigin] = {}
    for made in standing_imports(home):
        if made.plan.format not in ("lorebook", "character card") or not made.blocks:
            continue
        document = original_document(home, made.number)
        book, prefix, name = _book_of(document, made.plan)
        if book is None:
            continue
        dialect, _, rows = lorebook_rows(book)
        lorebook, draft = read_lorebook(book, name), ArrivalDraft()
        add_lorebook(lorebook, draft, prefix or id_of(lorebook.name), persona=made.plan.persona)
        told = [n for n, entry in enumerate(lorebook.entries) if entry.content.strip()]
        for number, (block_id, layer) in zip(told, draft.blocks.items(), strict=True):
            row = rows[number]
            if isinstance(row, dict):
                found[block_id] = LoreOrigin(str(dialect), cast("JsonObject", row), layer)
    return found


def original_document(home: str | Path, number: int) -> JsonObject | None:
    """The JSON of an import, as it came; None where it is packed in another way, or gone."""
    data = import_original(home, number)
    if data is None:
        return None
    if is_png(data):
        data = card_in_picture(data) or b""
    try:
        document = read_json(data, "the original")
    except BadInput:
        return None
    return cast("JsonObject", document) if isinstance(document, dict) else None


def _book_of(
    document: JsonObject | None, plan: HomeImportPlan
) -> tuple[JsonObject | None, str, str]:
    """The book of an import, what its blocks are named after, and what it is called."""
    if document is None:
        return None, "", ""
    if plan.format == "character card" and is_card(document):
        card = read_card(document)
        return card.book, f"{plan.persona}-lore", f"{card.name} lore"
    return document, "", plan.name
