"""A persona as a file: whole, or as a character card that other programs read.

A card that was imported leaves with all that its file had; what was changed since is written over
it. What a card has no field for travels in `extensions.mentis`, which an import reads again.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from mentis.codec.forms import to_object
from mentis.codec.toml import read_text
from mentis.errors import PersonaError, UsageError
from mentis.exchange.cards import (
    KEYWORDS,
    card_data,
    card_document,
    example_text,
    is_card,
    picture_of_card,
    read_card,
)
from mentis.exchange.memory_lines import read_lines
from mentis.exchange.png_text import is_png, plain_picture, with_texts
from mentis.home.parts import Parts
from mentis.library.block_layer import layer_of
from mentis.library.load import load_persona
from mentis.memories.memories import open_memories
from mentis.prompts.personas import Personas
from mentis.prompts.prompts import Prompts
from mentis.values.block import Block
from mentis.values.json import JsonObject, json_object
from mentis.values.persona import Persona, Trait
from mentis.values.written import dump

from .file_export import ExportDraft, FileExport
from .home_import import standing_imports
from .import_card import card_draft, card_told
from .import_letta import export_agent_file
from .import_plan import ArrivalDraft
from .lore_export import (
    book_document,
    is_lore,
    lore_rows,
    original_document,
    same_block,
    tavern_macros,
)
from .persona_pack import PersonaPack, pack_document

PersonaFormat: TypeAlias = Literal["mentis", "card-v2", "card-v3", "card-png", "af"]
_PROMPTS: Mapping[str, str] = {
    "instructions": "system_prompt",
    "closing": "post_history_instructions",
}
_NOTE = "note"
_ALONE = "travels in extensions.mentis, which other programs keep and do not read"


def export_persona(
    home: str | Path,
    persona: str | None = None,
    *,
    format: PersonaFormat = "mentis",  # noqa: A002  # as the option is called
    memories: bool = False,
    session: str = "",
    parts: Parts | None = None,
) -> FileExport:
    """A persona as one file. `memories` are in it only where it is whole, and asked for, and what
    was said in a `session` only in an agent file of Letta (`af`). Nothing is written.
    """
    if session and format != "af":
        raise UsageError("only an agent file holds a conversation", hint="use the format af")
    if format == "af":
        return export_agent_file(home, persona, session=session, parts=parts)
    draft = ExportDraft()
    with Personas.open(home, parts=parts) as personas:
        chosen = personas.pick(persona)
        path = personas.path(chosen)
        text = read_text(path, error=PersonaError)
        written = load_persona(text, str(path))
        picture = personas.picture(chosen)
        files = {one.name: one.text for one in personas.memory(chosen).files() if not one.empty}
    with Prompts.open(home, parts=parts) as prompts:
        loaded = prompts.loaded_library
        blocks = [one for one in loaded.library.blocks if one.personas == (chosen,)]
        layers = {one.id: layer_of(one.id, loaded.shipped, loaded.owner) for one in blocks}
    kept = {name: layer for name, layer in layers.items() if layer is not None}
    if format == "mentis":
        held = None
        if memories:
            with open_memories(home, chosen, parts) as store:
                lines = store.export()
            held = tuple(one.memory for one in read_lines(lines, most_bytes=len(lines)))
        data = None if picture is None else picture[0]
        fields = tomllib.loads(text)
        pack = PersonaPack(chosen, written.name, fields, kept, files, data, held)
        return FileExport("persona", dump(pack_document(pack)), "application/json", 1)
    if files:
        draft.lose(f"memory files ({', '.join(files)})", "what it knows of you is in no card")
    if memories:
        draft.lose("memories", "a card has no place for them; use the format mentis")
    pack = PersonaPack(chosen, written.name, tomllib.loads(text), kept)
    made = _CardWriter(home, written, blocks, pack, draft)
    losses = draft.losses
    if format != "card-png":
        document = made.document(2 if format == "card-v2" else 3)
        kind = "application/json"
        return FileExport(
            f"character card {format[5:].upper()}", dump(document), kind, 1, tuple(losses)
        )
    drawn = picture[0] if picture is not None and is_png(picture[0]) else plain_picture()
    if picture is not None and not is_png(picture[0]):
        draft.lose("picture", "it is no PNG; a grey point stands in its place")
    drawn = with_texts(drawn, {}, without=KEYWORDS)
    data = picture_of_card(drawn, made.document(2), made.document(3))
    return FileExport("character card in a picture", data, "image/png", 1, tuple(losses))


@dataclass(slots=True)
class _CardWriter:
    """The card of one persona, over the one that it was imported from, if there is one."""

    home: str | Path
    persona: Persona
    blocks: list[Block]
    pack: PersonaPack
    draft: ExportDraft
    origin: JsonObject | None = None
    before: ArrivalDraft = field(default_factory=ArrivalDraft)
    data: dict[str, object] = field(default_factory=dict[str, object])

    def __post_init__(self) -> None:
        self.origin = _origin(self.home, self.persona.id)
        if self.origin is not None:
            self.before = card_draft(read_card(self.origin), self.persona.id)
            self.data = dict(card_data(self.origin))
        self._write_fields()
        self._write_blocks()
        told = {**pack_document(self.pack), "card": card_told(self.data)}
        self.data["extensions"] = {**json_object(self.data.get("extensions")), "mentis": told}

    def document(self, version: int) -> JsonObject:
        around: JsonObject = self.origin if self.origin and "spec" in self.origin else {}
        return card_document(self.data, version, around)

    def _write_fields(self) -> None:
        one, data, draft = self.persona, self.data, self.draft
        if data.get("nickname"):
            data["nickname"] = one.name
        else:
            data["name"] = one.name
        ways = [way.example for way in one.expression if way.example.strip()]
        examples = example_text(one.dialogue) or "\n".join(ways)
        told: Mapping[str, tuple[tuple[str, ...], object]] = {
            "description": (("background",), one.background),
            "personality": (("traits",), _lines(one.traits)),
            "scenario": (("scenarios",), _lines(one.scenarios)),
            "first_mes": (("greeting",), one.greeting),
            "alternate_greetings": (("greetings",), list(one.greetings)),
            "mes_example": (("dialogue", "expression"), examples),
        }
        for name, (own, value) in told.items():
            if self.origin is None or any(self._changed(field) for field in own):
                data[name] = value
        plain = Persona(id=one.id, name=one.name)
        alone = ("type", "age", "gender", "language", "languages", "knowledge")
        others = [name for name in alone if getattr(one, name) != getattr(plain, name)]
        others = [name for name in others if self.origin is None or name != "type"]
        if others:
            draft.lose(", ".join(others), _ALONE)

    def _changed(self, name: str) -> bool:
        given = {**self.before.fields, "id": self.persona.id, "name": self.persona.name}
        first = to_object(load_persona(_toml(given), f"{self.persona.id}.toml")).get(name)
        return to_object(self.persona).get(name) != first

    def _write_blocks(self) -> None:
        by_id = {one.id: one for one in self.blocks if not is_lore(one)}
        for ending, name in _PROMPTS.items():
            block = by_id.pop(f"{self.persona.id}-{ending}", None)
            self._write_text(name, block)
        note = by_id.pop(f"{self.persona.id}-{_NOTE}", None)
        self._write_note(note)
        for block in by_id.values():
            self.draft.lose(f"block {block.id}", _ALONE)
        lore = [one for one in self.blocks if is_lore(one)]
        before = {one: layer for one, layer in self.before.blocks.items() if "-lore-" in one}
        now = {one.id: self.pack.blocks.get(one.id) for one in lore}
        same = before.keys() == now.keys() and all(
            (layer := now[one]) is not None and same_block(known, layer)
            for one, known in before.items()
        )
        if self.origin is not None and same:
            return
        if not lore:
            self.data.pop("character_book", None)
            return
        rows = lore_rows(self.home, lore, now, format="character-book", draft=self.draft)
        known = json_object(self.data.get("character_book"))
        named = next((one.keywords.book for one in lore if one.keywords), "") or "Lorebook"
        self.data["character_book"] = {
            **known,
            **book_document(rows, lore, named, "character-book"),
        }

    def _write_text(self, name: str, block: Block | None) -> None:
        if not self._block_changed(block, name):
            return
        self.data[name] = self._text(block)

    def _write_note(self, block: Block | None) -> None:
        extensions = dict(json_object(self.data.get("extensions")))
        if not self._block_changed(block, "depth_prompt"):
            return
        known = json_object(extensions.get("depth_prompt"))
        if block is None:
            extensions.pop("depth_prompt", None)
        else:
            kept: JsonObject = {"depth": 4, "role": "system", **known}
            extensions["depth_prompt"] = {**kept, "prompt": self._text(block)}
        self.data["extensions"] = extensions

    def _block_changed(self, block: Block | None, part: str) -> bool:
        ending = next((e for e, name in _PROMPTS.items() if name == part), _NOTE)
        before = self.before.blocks.get(f"{self.persona.id}-{ending}")
        now = None if block is None else self.pack.blocks.get(block.id)
        if before is None or now is None:
            return before is not now
        return not same_block(before, now)

    def _text(self, block: Block | None) -> str:
        if block is None:
            return ""
        if not block.enabled:
            self.draft.lose(f"block {block.id}", f"it is switched off here; {_ALONE}")
            return ""
        if len(block.variants) > 1:
            self.draft.lose(f"other wordings of {block.id}", _ALONE)
        told = block.variants.get("default") or next(iter(block.variants.values()))
        return tavern_macros(told.content, block.id, self.draft)


def _origin(home: str | Path, persona: str) -> JsonObject | None:
    """The card that this persona was imported from."""
    for made in reversed(standing_imports(home)):
        if made.plan.format == "character card" and made.plan.persona == persona:
            document = original_document(home, made.number)
            return document if document is not None and is_card(document) else None
    return None


def _lines(traits: tuple[Trait, ...]) -> str:
    """One a line, with its name before it if it has one."""
    told: list[str] = []
    for one in traits:
        told.append(": ".join(filter(None, (one.name, one.description))))
        told += [f"- {behaviour}" for behaviour in one.behaviours]
    return "\n".join(told)


def _toml(fields: Mapping[str, object]) -> str:
    import tomlkit

    return tomlkit.dumps(dict(fields))
