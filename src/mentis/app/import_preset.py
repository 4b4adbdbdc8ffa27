"""Presets, personas of the user and regex scripts of SillyTavern: as blocks, or shown alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from mentis.exchange.cards import RegexScript
from mentis.exchange.presets import Preset, PresetPlace, PresetPrompt, UserPersona
from mentis.library.changes import create_layer
from mentis.library.edit import BlockLayer
from mentis.values.json import JsonObject
from mentis.values.trust import Trust

from .import_card import block_text
from .import_plan import ArrivalDraft, id_of

# Among the shipped blocks: before the persona, after it, at the end of the prompt.
_ORDERS: Mapping[PresetPlace, float] = {"before": 560, "after": 660, "end": 2900}
_ABOUT_YOU = 1001  # after what the profile says of the user
# What a number of a preset is called in the settings of a route, and what says nothing.
_SETTINGS: Mapping[str, tuple[str, float | None]] = {
    "temperature": ("temperature", None),
    "openai_max_tokens": ("max_tokens", None),
    "openai_max_context": ("context_tokens", None),
    "seed": ("seed", -1),
    "top_p": ("options.top_p", 1),
    "top_k": ("options.top_k", 0),
    "min_p": ("options.min_p", 0),
    "frequency_penalty": ("options.frequency_penalty", 0),
    "presence_penalty": ("options.presence_penalty", 0),
    "repetition_penalty": ("options.repetition_penalty", 1),
}


def preset_draft(preset: Preset, name: str, persona: str) -> ArrivalDraft:
    """Blocks for its prompts, for one persona or for all; its numbers are shown alone."""
    draft, prefix = ArrivalDraft(), id_of(name)
    ids = prompt_ids(preset, name)
    for number, one in enumerate(preset.prompts):
        if one.identifier in ids:
            _prompt_block(one, number, draft, block_id=ids[one.identifier], persona=persona)
    if left := [one.name for one in preset.prompts if not one.listed and one.content.strip()]:
        draft.lose(f"prompts in no order ({len(left)})", "never told there; kept in the original")
    if preset.prefill.strip():
        _prefill_block(preset.prefill, prefix, persona, draft)
    _sampling(preset, draft)
    show_scripts(preset.scripts, draft)
    if preset.program_prompts:
        reason = (
            f"for what the program itself does, not done here: {', '.join(preset.program_prompts)}"
        )
        draft.lose(f"prompts of the program ({len(preset.program_prompts)})", reason)
    if preset.addresses:
        draft.lose(", ".join(preset.addresses), "never reached nor sent; set up a route instead")
    return draft


def prompt_ids(preset: Preset, name: str) -> dict[str, str]:
    """The id of the block that each prompt becomes, by its identifier."""
    prefix, found = id_of(name), dict[str, str]()
    for one in preset.prompts:
        if one.listed and one.content.strip():
            wanted = f"{prefix}-{id_of(one.name)}"[:58]
            found[one.identifier] = _free(wanted, found.values())
    return found


def user_personas_draft(found: tuple[UserPersona, ...], persona: str) -> ArrivalDraft:
    """A block for each; the one that is the default there is switched on."""
    draft = ArrivalDraft()
    only = len(found) == 1
    for one in found:
        on = (one.default or only) and one.told
        if one.default or only:
            draft.shown.append(f"your name there: {one.name}; write it into profile.toml")
        if not one.description.strip():
            draft.lose(f"persona {one.name!r}", "nothing is said of it but its name")
            continue
        if one.place:
            reason = f"told where you are described, not {one.place} as there"
            draft.lose(f"place of persona {one.name!r}", reason)
        block_id = _free(f"you-{id_of(one.name)}", draft.blocks)
        text = block_text(one.description, draft, seed=block_id, part=f"persona {one.name!r}")
        meta: JsonObject = {"order": _ABOUT_YOU, "category": "context", "enabled": on}
        draft.blocks[block_id] = _layer(block_id, f"You as {one.name}", text, meta, persona=persona)
        note = "" if on else f"switched off; mentis prompts toggle {block_id}"
        draft.add(f"persona {one.name!r}", f"block {block_id}", note=note)
    return draft


def show_scripts(scripts: tuple[RegexScript, ...], draft: ArrivalDraft) -> None:
    for script in scripts:
        draft.lose(f"regex script {script.name!r}", "shown, and never run")
        draft.shown.append(f"{script.name}: {script.pattern} -> {script.replacement}")


def _prompt_block(
    one: PresetPrompt, number: int, draft: ArrivalDraft, *, block_id: str, persona: str
) -> None:
    text = block_text(one.content, draft, seed=block_id, part=f"prompt {one.name!r}")
    if not text:
        draft.lose(f"prompt {one.name!r}", "nothing is left of it to tell")
        return
    last = one.place == "end"
    meta: JsonObject = {
        "order": _ORDERS[one.place] + number / 100,
        "position": "system_prompt_append" if last else "system_prompt",
        "stability": "turn" if last else None,
        "enabled": one.enabled,
    }
    draft.blocks[block_id] = _layer(block_id, one.name, text, meta, persona=persona)
    where = {"before": "before the persona", "after": "after the persona", "end": "at the end"}
    note = where[one.place] if one.enabled else f"{where[one.place]}; switched off, as there"
    draft.add(f"prompt {one.name!r}", f"block {block_id}", note=note)
    if one.depth >= 0:
        draft.lose(f"prompt {one.name!r}", f"told at the end, not {one.depth} messages before it")
    if one.role != "system":
        draft.lose(f"prompt {one.name!r}", f"told as the system's, not as the {one.role}'s")


def _prefill_block(text: str, prefix: str, persona: str, draft: ArrivalDraft) -> None:
    block_id = _free(f"{prefix}-prefill", draft.blocks)
    plain = block_text(text, draft, seed=block_id, part="assistant_prefill")
    meta: JsonObject = {"target": "prefill", "position": "prefill", "order": 300, "enabled": False}
    draft.blocks[block_id] = _layer(block_id, "Prefill", plain, meta, persona=persona)
    note = f"switched off, since many models refuse it; mentis prompts toggle {block_id}"
    draft.add("assistant_prefill", f"block {block_id}", note=note)


def _layer(block_id: str, name: str, text: str, meta: JsonObject, *, persona: str) -> BlockLayer:
    mine: JsonObject = {"personas": [persona]} if persona else {}
    common: JsonObject = {
        "name": name,
        "description": "Imported from SillyTavern.",
        "trust": Trust.REFERENCE.value,
        "tags": ["imported"],
    }
    return create_layer(block_id, {**common, **meta, **mine}, {"default": text})


def _sampling(preset: Preset, draft: ArrivalDraft) -> None:
    for name, value in preset.sampling.items():
        setting, neutral = _SETTINGS.get(name, ("", 0))
        if value == neutral:
            continue
        if setting:
            draft.shown.append(f"{name} {value}: mentis settings set routes.NAME.{setting} {value}")
        else:
            draft.lose(name, f"no provider here takes it; it was {value}")


def _free(wanted: str, taken: Collection[str]) -> str:
    if wanted not in taken:
        return wanted
    return next(made for n in range(2, 10_000) if (made := f"{wanted}-{n}") not in taken)
