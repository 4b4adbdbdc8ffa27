"""Blocks of the library as prompts: each by its id, its placeholders as arguments."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from mentis.compose.built import BuiltMessages, BuiltText
from mentis.errors import LibraryError, UsageError
from mentis.home.parts import Parts
from mentis.home.persona import read_persona
from mentis.library.search import PLACEHOLDER
from mentis.prompts.effects import wording_in_force
from mentis.prompts.placeholders import PlaceholderUse
from mentis.prompts.prompts import Prompts
from mentis.settings.sources import load_settings
from mentis.stores.files.home import find_home
from mentis.values.block import Block
from mentis.values.persona import Persona

PAGE = 50
Role: TypeAlias = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class PromptArgumentFacts:
    """One placeholder; `required` where nothing gives it a value now."""

    name: str
    description: str
    required: bool


@dataclass(frozen=True, slots=True)
class BlockPrompt:
    """One block as it is offered. `facts` say where it stands in the library."""

    name: str
    title: str
    description: str
    arguments: tuple[PromptArgumentFacts, ...]
    facts: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class BlockPrompts:
    """The blocks that are told to one persona. They are looked up anew each time; it blocks."""

    home: Path
    persona: str | None = None
    parts: Parts = field(default_factory=Parts)

    def page(self, cursor: str | None) -> tuple[list[BlockPrompt], str | None]:
        """Blocks in the order of the library, and where the next page begins."""
        with Prompts.open(self.home, parts=self.parts) as prompts:
            who = self._persona()
            found = [
                (one, _keys(prompts, one, who)) for one in prompts.loaded_library.library.blocks
            ]
            listed = [(one, keys) for one, keys in found if keys is not None]
            begin = 0 if cursor is None else _place(cursor, [one.id for one, _ in listed])
            shown = listed[begin : begin + PAGE]
            values = {one.key: one for one in prompts.placeholders(persona=self.persona)}
        more = begin + PAGE < len(listed)
        offered = [_prompt(one, keys, values) for one, keys in shown]
        return offered, _cursor(offered[-1].name) if more else None

    def get(self, name: str, given: Mapping[str, str]) -> tuple[str, list[tuple[Role, str]]]:
        """What a block is, and its text with these values in it, message by message."""
        with Prompts.open(self.home, parts=self.parts) as prompts:
            block = prompts.block(name)
            keys = _keys(prompts, block, self._persona())
            if keys is None:
                raise LibraryError(
                    f"block {name!r} says nothing to this persona",
                    hint="list the prompts",
                    block=name,
                )
            if unknown := [key for key in given if key not in keys]:
                known = ", ".join(keys) or "none"
                raise UsageError(
                    f"prompt {name!r} has no argument {unknown[0]!r}", hint=f"it has: {known}"
                )
            built = prompts.resolve(name, persona=self.persona, runtime_vars=given)
        if missing := tuple(dict.fromkeys(one.placeholder for one in built.unresolved)):
            raise UsageError(
                f"prompt {name!r} needs a value for {', '.join(missing)}",
                hint="hand it over as an argument",
            )
        return _description(block), list(_messages(built))

    def _persona(self) -> Persona:
        home = find_home(self.home)
        settings = load_settings(home.path, self.parts.variables)
        return read_persona(home, home.pick_persona(self.persona, settings.model.persona))


def _keys(prompts: Prompts, block: Block, who: Persona) -> tuple[str, ...] | None:
    """The placeholders of the wording that this persona is told; None where it is told none."""
    wording = block.variants.get(wording_in_force(block, who, prompts.route).variant)
    if wording is None:
        return None
    texts = (wording.content, *(message.content for message in wording.messages))
    if not any(text.strip() for text in texts):
        return None
    return tuple(dict.fromkeys(key for text in texts for key in PLACEHOLDER.findall(text)))


def _prompt(block: Block, keys: Sequence[str], values: Mapping[str, PlaceholderUse]) -> BlockPrompt:
    facts = {name: getattr(block, name) for name in ("category", "target", "enabled", "origin")}
    arguments = (_argument(key, values.get(key)) for key in keys)
    return BlockPrompt(block.id, block.name, _description(block), tuple(arguments), facts)


def _argument(key: str, use: PlaceholderUse | None) -> PromptArgumentFacts:
    return PromptArgumentFacts(
        key, "" if use is None else use.description, use is None or use.value is None
    )


def _description(block: Block) -> str:
    return block.description or block.name


def _messages(built: BuiltText | BuiltMessages) -> list[tuple[Role, str]]:
    """The protocol knows no system prompt here: such a text is a message for the model to read."""
    if isinstance(built, BuiltText):
        return [("user", built.text)]
    return [
        ("assistant" if one.role == "assistant" else "user", one.text) for one in built.messages
    ]


def _cursor(block_id: str) -> str:
    return urlsafe_b64encode(block_id.encode()).decode()


def _place(cursor: str, ids: Sequence[str]) -> int:
    """After the block that ended the page before, wherever it stands now."""
    try:
        return ids.index(urlsafe_b64decode(cursor).decode()) + 1
    except ValueError as error:
        raise UsageError(
            f"the cursor {cursor!r} is of no page here", hint="begin without one"
        ) from error
