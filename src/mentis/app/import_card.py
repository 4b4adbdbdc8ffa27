"""A character card as a persona of a home, with blocks of its own for what it instructs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mentis.codec.macros import CLOCK, expand_macros, macro_names
from mentis.exchange.cards import Card, example_exchanges
from mentis.exchange.lorebooks import read_lorebook
from mentis.library.changes import create_layer
from mentis.values.trust import Trust

from .import_lore import add_lorebook
from .import_plan import ArrivalDraft, ImportedPart

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
    return draft


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
