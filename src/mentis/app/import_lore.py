"""A lorebook as blocks of the library: with keywords where what was said brings them up."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mentis.codec.forms import to_object
from mentis.codec.macros import CLOCK, macro_names
from mentis.exchange.lorebooks import Lorebook, LoreEntry
from mentis.library.changes import create_layer
from mentis.values.json import JsonObject
from mentis.values.trust import Trust

from .import_plan import ArrivalDraft, ImportedPart, id_of

_NAMES: Mapping[str, str] = {"user": "{{user_name}}", "char": "{{char_name}}"}
_NAMED = re.compile(r"\{\{\s*(char|user)\s*\}\}|<(user|bot|char)>", re.IGNORECASE)
_SHOWN = 20  # entries that are named one by one in the plan


def add_lorebook(book: Lorebook, draft: ArrivalDraft, prefix: str, *, persona: str = "") -> None:
    """Blocks for the entries of a book, for one persona or for all."""
    told = [entry for entry in book.entries if entry.content.strip()]
    for entry in told:
        block_id = _free_id(f"{prefix}-{id_of(entry.name)}"[:58], draft)
        meta = _meta(entry, book, persona)
        content = _NAMED.sub(_placeholder, entry.content.strip())
        draft.blocks[block_id] = create_layer(block_id, meta, {"default": content})
        for name in macro_names(entry.content):
            if name in CLOCK:
                draft.lose(f"{{{{{name}}}}} in {entry.name!r}", "no clock stands in a conversation")
        for loss in entry.losses:
            draft.lose(f"entry {entry.name!r}", loss)
    constant = sum(entry.constant for entry in told)
    note = f"{constant} always told, {len(told) - constant} where what was said brings them up"
    part = f"lorebook {book.name} ({book.dialect}, {len(told)} entries)"
    draft.parts.append(ImportedPart(part, f"blocks {prefix}-...", note=note))
    if empty := len(book.entries) - len(told):
        draft.lose(f"{empty} empty entries of {book.name}", "there is nothing to tell")


def _meta(entry: LoreEntry, book: Lorebook, persona: str) -> JsonObject:
    meta: JsonObject = {
        "name": entry.name,
        "description": f"An entry of the lorebook {book.name}.",
        "category": "context",
        "order": entry.order,
        "enabled": entry.enabled,
        "priority": entry.priority,
        "trust": Trust.REFERENCE.value,
        "tags": ["imported", "lore"],
    }
    if persona:
        meta["personas"] = [persona]
    if entry.constant:
        # Before the persona or after it; among themselves in the order of the book.
        return {**meta, "order": (590 if entry.before else 655) + min(entry.order, 4000) / 1000}
    keywords = to_object(entry.keywords)
    return {**meta, "target": "message", "position": "history", "keywords": keywords}


def _placeholder(match: re.Match[str]) -> str:
    name = (match[1] or match[2]).lower()
    return _NAMES["user" if name == "user" else "char"]


def _free_id(wanted: str, draft: ArrivalDraft) -> str:
    if wanted not in draft.blocks:
        return wanted
    return next(made for n in range(2, 100_000) if (made := f"{wanted}-{n}") not in draft.blocks)
