"""A field of the persona made by a model out of a few words: a draft, which its owner accepts.

It is asked beside every conversation and recorded like a title; nothing is written by it.
"""

from __future__ import annotations

import json
from typing import cast

from anyio import CancelScope

from mentis.codec.forms import from_json
from mentis.compose.built import BuiltText
from mentis.errors import BadInput, ReplyError, UsageError
from mentis.record.inputs import ComposedPrompt
from mentis.turn.agent_parts import AgentParts
from mentis.turn.beside import (
    SideAnswer,
    SideNote,
    ask_aside,
    builder_for,
    one_prompt,
    require_text,
)
from mentis.turn.snapshot import TurnSnapshot
from mentis.values.json import JsonObject
from mentis.values.persona_draft import DraftKind, PersonaDraft
from mentis.values.recalled import Stimulus
from mentis.values.route import Route

AUTOFILL = "autofill"
_BLOCK = "spec_autofill_"
_FIELDS = ("name", "description", "behaviours", "example", "characteristics")


async def draft_field(
    parts: AgentParts,
    present: TurnSnapshot,
    kind: DraftKind,
    wish: str,
    *,
    session: str,
    reading: CancelScope,
) -> PersonaDraft:
    """Ask for one field; an answer that is none is an error, and recorded as one that was not."""
    if not wish.strip():
        raise UsageError("say in a few words what the field should be", hint='such as "likes tea"')

    def compose(route: Route, _stimulus: Stimulus) -> ComposedPrompt:
        who, models = parts.who, parts.models.on(route)
        built = builder_for(who, models, present).build_spec_autofill_prompt(
            kind, wish, route.variant
        )
        require_text(built, f"{_BLOCK}{kind}")
        nothing = BuiltText()
        return ComposedPrompt(
            one_prompt(who, models, present, built, system=nothing, prefill=nothing)
        )

    def take(heard: SideAnswer) -> SideNote:
        return SideNote(None, {"field": kind, "drafted": read_draft(kind, heard.text) is not None})

    asked = await ask_aside(
        parts,
        Stimulus(wish, inner=AUTOFILL),
        compose,
        present=present,
        session=session,
        take=take,
        reading=reading,
    )
    if asked.failure is not None:
        raise asked.failure
    draft = read_draft(kind, asked.reply.text, entry=asked.entry.index)
    if draft is None or not asked.note.facts["drafted"]:
        raise ReplyError(
            f"no draft of {kind} was made: what came is not the object that was asked for",
            hint="ask again, ask another route with --route, or raise its max_tokens",
            stop=asked.reply.stop,
        )
    return draft


def read_draft(kind: DraftKind, text: str, *, entry: int | None = None) -> PersonaDraft | None:
    """The first object in an answer that is such a field; words and fences around it are none."""
    decoder, start = json.JSONDecoder(), text.find("{")
    while start >= 0:
        try:
            found, _ = decoder.raw_decode(text, start)
            return _draft(kind, cast("JsonObject", found), entry)
        except (ValueError, RecursionError, BadInput):
            start = text.find("{", start + 1)
    return None


def _draft(kind: DraftKind, found: JsonObject, entry: int | None) -> PersonaDraft:
    """What was not asked for is left out; a field of the wrong form is not guessed at."""
    known = {name: found[name] for name in _FIELDS if name in found}
    draft = from_json(PersonaDraft, json.dumps({**known, "kind": kind, "entry": entry}))
    if not draft.name.strip():
        raise BadInput("a draft needs a name")
    return draft
