"""Recognition of a file or a folder by its bytes and names, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from mentis.codec.media_types import type_of
from mentis.errors import BadInput
from mentis.exchange.cards import KEYWORDS, card_in_picture, is_card, read_card, read_json
from mentis.exchange.chats import is_chat, read_chat
from mentis.exchange.lorebooks import lorebook_dialect, read_lorebook
from mentis.exchange.png_text import is_png, with_texts
from mentis.exchange.presets import (
    is_preset,
    is_scripts,
    is_user_personas,
    read_preset,
    read_scripts,
    read_user_personas,
)
from mentis.prompts.personas import LARGEST_PICTURE, PICTURE_TYPES
from mentis.values.json import JsonObject

from .import_card import card_draft
from .import_chat import chat_draft, chat_persona
from .import_export import export_arrival
from .import_history import history_arrival
from .import_letta import letta_arrival
from .import_lore import add_lorebook
from .import_personaui import personaui_arrival
from .import_plan import (
    ArrivalDraft,
    HomeImportPlan,
    ImportArrival,
    ImportFormat,
    ImportWish,
    id_of,
)
from .import_preset import preset_draft, show_scripts, user_personas_draft
from .import_source import ImportSource
from .import_workspace import workspace_arrival
from .persona_pack import add_pack, is_pack, read_pack

_CARD_IN_ZIP = "card.json"
_LARGEST_CARD = 20_000_000
_KNOWN = (
    "personas of Mentis, character cards (JSON, PNG, CHARX), lorebooks (JSON); chats (JSONL),"
    " presets, personas and regex scripts of SillyTavern (JSON); exports of ChatGPT and Claude;"
    " agent files of Letta; histories of status windows; folders of PersonaUI; folders or zip"
    " files with SKILL.md, SOUL.md or AGENTS.md"
)


def recognise(source: ImportSource, wish: ImportWish) -> ImportArrival:
    """What becomes of it; BadInput where nothing is recognised."""
    for reader in _READERS:
        arrival = reader(source, wish)
        if arrival is None:
            continue
        if wish.only and arrival.plan.format != "chat export":
            hint = "leave --only out"
            raise BadInput(f"{source.name} holds no conversations to choose from", hint=hint)
        return arrival
    if any(name.endswith("_meta/prompt_manifest.json") for name in source.names):
        hint = f"mentis prompts import {source.name} takes it, block by block"
        raise BadInput(f"{source.name} is a set of prompts", hint=hint)
    message = f"{source.name}: nothing in it is recognised"
    raise BadInput(message, hint=f"recognised are: {_KNOWN}")


def _picture(source: ImportSource, wish: ImportWish) -> ImportArrival | None:
    if not is_png(source.data):
        return None
    found = card_in_picture(source.data)
    if found is None:
        hint = "a program that saves pictures anew takes the card out; get the first one"
        raise BadInput(f"{source.name}: the picture holds no character card", hint=hint)
    document = read_json(found, f"{source.name}: the card in the picture")
    return _card(source, document, wish.persona, source.data)


def _packed_card(source: ImportSource, wish: ImportWish) -> ImportArrival | None:
    if not source.is_zip or _CARD_IN_ZIP not in source.names:
        return None
    members = source.read(lambda one: one == _CARD_IN_ZIP or _is_icon(one), most=_LARGEST_CARD)
    icons = sorted(one for one in members if one != _CARD_IN_ZIP)
    document = read_json(members[_CARD_IN_ZIP], f"{source.name}: {_CARD_IN_ZIP}")
    return _card(source, document, wish.persona, members[icons[0]] if icons else None)


def _json(source: ImportSource, wish: ImportWish) -> ImportArrival | None:
    if source.is_zip or source.is_folder:
        return None
    document = source.document()
    if is_pack(document):
        return _persona(source, cast("JsonObject", document), wish)
    if lorebook_dialect(document) is not None:
        return _book(source, cast("JsonObject", document), wish.persona)
    drafted = _tavern_draft(source, document, wish.persona)
    if drafted is not None:
        return _tavern(source, wish.persona, *drafted)
    return _card(source, document, wish.persona)


def _is_icon(name: str) -> bool:
    return name.startswith("assets/icon/") and name.lower().endswith((".png", ".jpg", ".webp"))


def _card(
    source: ImportSource, document: object, persona: str, picture: bytes | None = None
) -> ImportArrival | None:
    if not is_card(document):
        return None
    card = read_card(cast("JsonObject", document))
    name = card.nickname or card.name
    chosen = persona or id_of(name)
    draft = card_draft(card, chosen)
    if picture is not None:
        _take_picture(picture, draft)
    plan = HomeImportPlan(
        file=source.name,
        digest=source.original().digest,
        format="character card",
        version=f"V{card.version}",
        name=name,
        persona=chosen,
        parts=tuple(draft.parts),
        losses=tuple(draft.losses),
        shown=tuple(draft.shown),
    )
    return ImportArrival(plan, (draft.persona(chosen, name),), draft.blocks)


def _persona(source: ImportSource, document: JsonObject, wish: ImportWish) -> ImportArrival:
    pack, draft = read_pack(document), ArrivalDraft()
    chosen = wish.persona or pack.id
    add_pack(pack, draft, chosen, wish.limits)
    if pack.picture is not None:
        _take_picture(pack.picture, draft)
    plan = HomeImportPlan(
        file=source.name,
        digest=source.original().digest,
        format="persona",
        version="of Mentis",
        name=pack.name,
        persona=chosen,
        parts=tuple(draft.parts),
        losses=tuple(draft.losses),
    )
    return ImportArrival(plan, (draft.persona(chosen, pack.name),), draft.blocks)


def _book(source: ImportSource, document: JsonObject, persona: str) -> ImportArrival:
    book, draft = read_lorebook(document, source.stem), ArrivalDraft()
    add_lorebook(book, draft, id_of(book.name), persona=persona)
    plan = HomeImportPlan(
        file=source.name,
        digest=source.original().digest,
        format="lorebook",
        version=book.dialect,
        name=book.name,
        persona=persona,
        parts=tuple(draft.parts),
        losses=tuple(draft.losses),
        shown=(f"description: {book.description}",) if book.description else (),
    )
    return ImportArrival(plan, blocks=draft.blocks)


def _chat(source: ImportSource, wish: ImportWish) -> ImportArrival | None:
    if not is_chat(source.data):
        return None
    chat, draft = read_chat(source.data), ArrivalDraft()
    whose = chat_persona(chat, wish.personas, wish.persona)
    conversation = chat_draft(chat, whose, source.stem, draft)
    plan = HomeImportPlan(
        file=source.name,
        digest=source.original().digest,
        format="chat",
        version="SillyTavern",
        name=source.stem,
        persona=whose.id,
        parts=tuple(draft.parts),
        losses=tuple(draft.losses),
        shown=tuple(draft.shown),
    )
    return ImportArrival(plan, conversations=((whose.id, conversation),))


def _tavern_draft(
    source: ImportSource, document: object, persona: str
) -> tuple[ImportFormat, ArrivalDraft] | None:
    if is_preset(document):
        preset = read_preset(cast("JsonObject", document))
        return "preset", preset_draft(preset, source.stem, persona)
    if is_user_personas(document):
        found = read_user_personas(cast("JsonObject", document))
        return "user personas", user_personas_draft(found, persona)
    if is_scripts(document):
        draft = ArrivalDraft()
        show_scripts(read_scripts(document), draft)
        return "regex scripts", draft
    return None


def _tavern(
    source: ImportSource, persona: str, kind: ImportFormat, draft: ArrivalDraft
) -> ImportArrival:
    plan = HomeImportPlan(
        file=source.name,
        digest=source.original().digest,
        format=kind,
        version="SillyTavern",
        name=source.stem,
        persona=persona,
        parts=tuple(draft.parts),
        losses=tuple(draft.losses),
        shown=tuple(draft.shown),
    )
    return ImportArrival(plan, blocks=draft.blocks)


def _take_picture(picture: bytes, draft: ArrivalDraft) -> None:
    if is_png(picture):  # without the card in it, which is kept in the original
        picture = with_texts(picture, {}, without=KEYWORDS)
    if type_of(picture) not in PICTURE_TYPES:
        draft.lose("picture", "it is no PNG, JPEG, WebP or GIF; kept in the original")
    elif len(picture) > LARGEST_PICTURE:
        draft.lose("picture", f"it has more than {LARGEST_PICTURE} bytes; kept in the original")
    else:
        draft.picture = picture


# The first that knows it decides; what a name says comes before what bytes say.
_READERS: tuple[Callable[[ImportSource, ImportWish], ImportArrival | None], ...] = (
    _picture,
    _packed_card,
    personaui_arrival,
    workspace_arrival,
    _chat,
    export_arrival,
    letta_arrival,
    history_arrival,
    _json,
)
