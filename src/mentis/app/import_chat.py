"""A chat of SillyTavern as a conversation of a persona. What it says is nobody's word here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from mentis.codec.macros import macro_names
from mentis.errors import BadInput
from mentis.exchange.chats import Chat, ChatLine
from mentis.prompts.personas import Personas
from mentis.values.imported import ImportedConversation, ImportedTurn
from mentis.values.persona import Persona

from .import_plan import ArrivalDraft, id_of

_NAMES = re.compile(r"\{\{\s*(char|user)\s*\}\}|<(user|bot|char)>", re.IGNORECASE)
_SHOWN = 20  # lines that are named one by one in the plan


def chat_persona(chat: Chat, personas: Personas, wanted: str) -> Persona:
    """Whose conversation it becomes: the one that was named, else the only one who speaks in it
    and is in this home.
    """
    if wanted:
        return personas.read(wanted)
    known = {one: id_of(one) for one in (chat.character, *chat.speakers) if one}
    here = dict.fromkeys(one for one in known.values() if one in personas.ids())
    if len(here) == 1:
        return personas.read(next(iter(here)))
    names = ", ".join(known) or "nobody with a name"
    reason = "several personas of this home speak" if here else "no persona of this home speaks"
    raise BadInput(
        f"{reason} in the chat: {names}",
        hint="import the card first, or say whose conversation it is with --as ID",
    )


def chat_draft(
    chat: Chat, persona: Persona, name: str, draft: ArrivalDraft
) -> ImportedConversation:
    """The conversation, and in the plan what is not as it was there."""
    own = _own_names(chat, persona)
    turns = [_turn(one, own, resolver(one, chat, persona)) for one in chat.lines if _says(one)]
    swipes = sum(len(one.others) for one in turns)
    draft.add(
        f"chat ({len(turns)} messages)",
        f"conversation of {persona.id}",
        trust="untrusted",
        note=f"{swipes} answers that were not chosen are kept, too" if swipes else "",
    )
    for part, reason in (*_losses(chat, turns), *_odd_lines(chat)):
        draft.lose(part, reason)
    if chat.note.strip():
        draft.shown.append(f"author's note: {chat.note.strip()}")
    return ImportedConversation(id_of(name), tuple(turns), name)


def _own_names(chat: Chat, persona: Persona) -> frozenset[str]:
    """The names under which the persona speaks; of several who speak it has to be one."""
    if len(chat.speakers) <= 1:
        return frozenset(chat.speakers)
    own = {one for one in chat.speakers if persona.name == one or id_of(one) == persona.id}
    if not own:
        raise BadInput(
            f"{persona.name} does not speak in this chat, but {', '.join(chat.speakers)} do",
            hint="say with --as ID which of them the conversation belongs to",
        )
    return frozenset(own)


def _says(line: ChatLine) -> bool:
    return bool(line.text.strip())


def _turn(line: ChatLine, own: frozenset[str], plain: Callable[[str], str]) -> ImportedTurn:
    ours = not line.is_user and not line.narrator and (line.name in own or not line.name)
    return ImportedTurn(
        "assistant" if ours else "user",
        plain(line.text),
        name=line.name,
        time=line.time,
        guest=not ours and not line.is_user,
        hidden=line.is_system,
        others=tuple(map(plain, line.others)),
    )


def resolver(line: ChatLine, chat: Chat, persona: Persona) -> Callable[[str], str]:
    """Both names put in where they stand as macros; whatever else was said stays as it was."""
    user = chat.user or next((one.name for one in chat.lines if one.is_user and one.name), "")
    char = line.name if not line.is_user and line.name in chat.speakers else persona.name

    def plain(text: str) -> str:
        return _NAMES.sub(lambda m: user if (m[1] or m[2]).lower() == "user" else char, text)

    return plain


def _losses(chat: Chat, turns: list[ImportedTurn]) -> Iterator[tuple[str, str]]:
    if hidden := sum(one.hidden for one in turns):
        yield f"hidden messages ({hidden})", "kept and shown, and told to no model, as there"
    if narrated := sum(one.narrator and not one.is_system for one in chat.lines):
        yield f"messages of the narrator ({narrated})", "told as a guest's, not as the system's"
    if others := {one.name for one in turns if one.guest and not one.hidden}:
        yield f"what {', '.join(sorted(others))} say", "told as a guest's, under their names"
    if attached := sum(one.attached for one in chat.lines):
        yield f"attachments ({attached})", "the file names it, and does not hold it"
    if thoughts := sum(one.thought for one in chat.lines):
        yield f"thoughts of the model ({thoughts})", "kept in the original"
    if empty := sum(not _says(one) for one in chat.lines):
        yield f"empty messages ({empty})", "there is nothing to tell"
    if chat.note.strip():
        yield "author's note", "shown, and not told; make a block of it: mentis prompts new"
    names = dict.fromkeys(name for one in turns for name in macro_names(one.text))
    for name in names:
        yield f"{{{{{name}}}}} in what was said", "stays as it was said"


def _odd_lines(chat: Chat) -> Iterator[tuple[str, str]]:
    for one in chat.broken[:_SHOWN]:
        yield one, "passed over; kept in the original"
    if (more := len(chat.broken) - _SHOWN) > 0:
        yield f"{more} more lines that cannot be read", "passed over; kept in the original"
