"""A character card as a persona of a home, with blocks of its own for what it instructs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from mentis.codec.canon import canonical
from mentis.codec.macros import CLOCK, expand_macros, macro_names
from mentis.exchange.cards import Card, card_data, example_exchanges
from mentis.exchange.lorebooks import read_lorebook
from mentis.library.block_layer import BlockLayer
from mentis.library.changes import create_layer
from mentis.values.digest import digest
from mentis.values.json import JsonObject, json_object
from mentis.values.trust import Trust

from .import_lore import add_lorebook
from .import_plan import ArrivalDraft, ImportedPart
from .persona_pack import add_pack_blocks, is_pack, pack_fields, read_pack

# What a macro is here: a placeholder of ours, filled whenever a prompt is made.
_PLACEHOLDERS: Mapping[str, str] = {
    "char": "{{char_name}}",
    "user": "{{user_name}}",
    "persona": "{{user_info}}",
    "time": "{{current_time}}",
    "isotime": "{{current_time}}",
    "date": "{{current_date}}",
    "isodate": "{{current_date}}",
    "weekday": "{{current_weekday}}",
    "original": "",
}
# What of a card stands for which fields of a persona, and for which of its blocks.
_OWN_FIELDS: Mapping[str, tuple[str, ...]] = {
    "description": ("background",),
    "personality": ("traits",),
    "scenario": ("scenarios",),
    "first_mes": ("greeting",),
    "alternate_greetings": ("greetings",),
    "mes_example": ("dialogue", "expression"),
}
_OWN_BLOCKS: Mapping[str, str] = {
    "system_prompt": "instructions",
    "post_history_instructions": "closing",
    "depth_prompt": "note",
    "character_book": "lore",
}
# The other way round; of several names that of the first.
CARD_MACROS: Mapping[str, str] = {
    ours: theirs for theirs, ours in reversed(_PLACEHOLDERS.items()) if ours
}
_TOLD_ELSEWHERE = ("description", "personality", "scenario", "mesexamples", "charprompt")
_LONG_ALONE = "small models, with the wording compact, are told the personality instead"
_CHANCE = ("random", "pick", "roll")


def card_draft(card: Card, persona: str) -> ArrivalDraft:
    """What becomes of the card, under the id of its persona."""
    draft = ArrivalDraft()
    _fields(card, draft)
    _block(card.system_prompt, draft, persona, "instructions", part="system_prompt")
    _block(card.post_history, draft, persona, "closing", part="post_history_instructions")
    _block(card.depth_prompt, draft, persona, "note", part="depth_prompt")
    if card.book:
        book = read_lorebook(card.book, f"{card.name} lore")
        add_lorebook(book, draft, f"{persona}-lore", persona=persona)
    _told_otherwise(card, draft)
    held = json_object(json_object(card_data(card.document).get("extensions")).get("mentis"))
    if is_pack(held):
        _take_own(card, held, draft, persona)
    return draft


def card_told(data: JsonObject) -> JsonObject:
    """Digests of what a card tells others, to see later which of it was changed elsewhere."""
    note = json_object(json_object(data.get("extensions")).get("depth_prompt")).get("prompt")
    told = {name: data.get(name) for name in (*_OWN_FIELDS, *_OWN_BLOCKS)} | {"depth_prompt": note}
    return {name: digest(canonical(value or None)) for name, value in told.items()}


def _take_own(card: Card, held: JsonObject, draft: ArrivalDraft, persona: str) -> None:
    """What Mentis itself wrote beside the card, where the card still says the same."""
    data = card_data(card.document)
    now, before = card_told(data), json_object(held.get("card"))
    same = {name for name in now if now[name] == before.get(name)}
    pack = read_pack(held, checked=False)
    fields = pack_fields(pack, draft)
    carded = {own for names in _OWN_FIELDS.values() for own in names}
    taken = {own for name in same & _OWN_FIELDS.keys() for own in _OWN_FIELDS[name]}
    for own in (*taken, "type"):
        draft.fields.pop(own, None)
    draft.fields |= {n: v for n, v in fields.items() if n in taken or n not in {*carded, "macros"}}
    if _OWN_FIELDS.keys() <= same:
        draft.fields["macros"] = fields.get("macros", False)
    for name in now.keys() - same:
        draft.lose(f"{name} of extensions.mentis", "the card was changed since; its words count")
    mine = ArrivalDraft(losses=draft.losses)
    add_pack_blocks(pack, mine, persona)
    changed = {_OWN_BLOCKS[name] for name in _OWN_BLOCKS.keys() - same}
    draft.blocks = {
        **{n: layer for n, layer in mine.blocks.items() if _kind(n, persona, layer) not in changed},
        **{n: layer for n, layer in draft.blocks.items() if _kind(n, persona, layer) in changed},
    }
    draft.add(f"extensions.mentis ({len(mine.blocks)} blocks)", "as Mentis wrote it")


def _kind(block_id: str, persona: str, layer: BlockLayer) -> str:
    """Which part of a card a block stands for, if any."""
    if "keywords" in layer.meta or "lore" in cast("Sequence[object]", layer.meta.get("tags", [])):
        return "lore"
    return block_id.removeprefix(f"{persona}-")


def _fields(card: Card, draft: ArrivalDraft) -> None:
    fields, parts = draft.fields, draft.parts
    fields |= {"type": "character", "trust": Trust.REFERENCE.value, "macros": True}
    for part, name, text, note in (
        ("description", "background", card.description, _LONG_ALONE),
        ("first_mes", "greeting", card.first_mes, ""),
    ):
        if text.strip():
            fields[name] = text.strip()
            parts.append(ImportedPart(part, f"{name} of persona.toml", note=note))
    for part, name, text in (
        ("personality", "traits", card.personality),
        ("scenario", "scenarios", card.scenario),
    ):
        if text.strip():
            fields[name] = [{"name": "", "description": text.strip()}]
            parts.append(ImportedPart(part, f"{name} of persona.toml"))
    if others := [text.strip() for text in card.greetings if text.strip()]:
        fields["greetings"] = others
        note = "mentis persona greeting shows and chooses them"
        parts.append(ImportedPart(f"alternate_greetings ({len(others)})", "greetings", note=note))
    _examples(card, draft)
    texts = (card.description, card.personality, card.scenario, card.first_mes, card.mes_example)
    for name in _names((*texts, *card.greetings)):
        _lasting_macro(name, draft)


def _examples(card: Card, draft: ArrivalDraft) -> None:
    if not card.mes_example.strip():
        return
    if found := example_exchanges(card):
        draft.fields["dialogue"] = [{"user": one.user, "reply": one.reply} for one in found]
        draft.parts.append(ImportedPart(f"mes_example ({len(found)})", "dialogue of persona.toml"))
        return
    draft.fields["expression"] = [{"name": "", "example": card.mes_example.strip()}]
    note = "not lines of two who speak in turn, so it is told as one example"
    draft.parts.append(ImportedPart("mes_example", "expression of persona.toml", note=note))


def _lasting_macro(name: str, draft: ArrivalDraft) -> None:
    if name in CLOCK:
        draft.lose(f"{{{{{name}}}}}", "the clock is told at the end of a prompt, not in a persona")
    elif name in _CHANCE:
        draft.lose(f"{{{{{name}}}}}", "drawn once for the persona, so that its words stay the same")


def _block(text: str, draft: ArrivalDraft, persona: str, what: str, *, part: str) -> None:
    """A block for this persona alone, with our placeholders in the place of macros."""
    plain = block_text(text, draft, seed=persona, part=part)
    if not plain:
        return
    block_id = f"{persona}-{what}"
    last = what != "instructions"
    draft.blocks[block_id] = create_layer(
        block_id,
        {
            "name": f"{what.capitalize()} of {persona}",
            "description": f"{part} of an imported card.",
            "category": "persona",
            "order": 2900 if last else 640,
            "position": "system_prompt_append" if last else "system_prompt",
            "stability": "turn" if last else None,
            "trust": Trust.REFERENCE.value,
            "personas": [persona],
            "tags": ["imported"],
        },
        {"default": plain},
    )
    note = "told at the end of every prompt" if last else "told beside the prompts there are"
    draft.parts.append(ImportedPart(part, f"block {block_id}", note=note))


def block_text(text: str, draft: ArrivalDraft, *, seed: str, part: str) -> str:
    """A text of a block, with our placeholders in the place of macros; what becomes of each other
    macro is named as a loss of that part.
    """
    made = expand_macros(text.strip(), _PLACEHOLDERS, seed=f"{seed}\x00{text}")
    for one in made.draws:
        draft.lose(f"{{{{{one.macro}}}}} in {part}", f"drawn once, at the import: {one.result}")
    for name in made.unknown:
        reason = "told elsewhere in the prompt" if name in _TOLD_ELSEWHERE else "unknown here"
        draft.lose(f"{{{{{name}}}}} in {part}", f"{reason}; nothing stands in its place")
    return made.text.strip()


def _told_otherwise(card: Card, draft: ArrivalDraft) -> None:
    """What is not done as the card's program does it, or only kept."""
    if card.system_prompt.strip():
        draft.lose("system_prompt", "it stands beside the prompts of Mentis, not in their place")
    if card.depth_prompt.strip():
        draft.lose("depth_prompt", f"told at the end, not {card.depth} messages before it")
    if card.group_greetings:
        draft.lose("group_only_greetings", "kept in the original")
    for script in card.scripts:
        draft.lose(f"regex script {script.name!r}", "shown, and never run")
        draft.shown.append(f"{script.name}: {script.pattern} -> {script.replacement}")
    if card.creator_notes.strip():
        draft.shown.append(f"creator_notes: {card.creator_notes.strip()}")


def _names(texts: Sequence[str]) -> Iterator[str]:
    yield from dict.fromkeys(name for text in texts for name in macro_names(text))
