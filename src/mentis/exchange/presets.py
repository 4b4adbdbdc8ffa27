"""Files of SillyTavern beside cards and chats: presets, personas of the user, regex scripts.

docs/design/formats.md says where each field is written down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from mentis.errors import BadInput
from mentis.values.json import JsonObject
from mentis.values.value import Value

from .cards import RegexScript, read_script
from .fields import text_of

# Where a prompt stands: before the character, after it, or after the history.
PresetPlace: TypeAlias = Literal["before", "after", "end"]
_CHARACTER = frozenset(
    {"charDescription", "charPersonality", "scenario", "dialogueExamples", "personaDescription"}
)
_HISTORY = "chatHistory"
_ORDERS = (100001, 100000)  # the list for all characters: of newer versions, and of older ones
_MOST = 2_000
_HINT = "export the preset anew"
SAMPLING = (
    "temperature",
    "top_p",
    "top_k",
    "top_a",
    "min_p",
    "frequency_penalty",
    "presence_penalty",
    "repetition_penalty",
    "openai_max_tokens",
    "openai_max_context",
    "seed",
)
# Where else than in the prompt who the user is may be told.
_USER_PLACES = {
    1: "after the character",
    2: "above the author's note",
    3: "below the author's note",
}


@dataclass(frozen=True, slots=True)
class PresetPrompt(Value):
    """`depth` is how many messages before the end it is told; -1 where it has a place of its own.
    One that is not `listed` is in no order, and never told.
    """

    identifier: str
    name: str
    content: str
    role: str = "system"
    place: PresetPlace = "before"
    depth: int = -1
    enabled: bool = True
    listed: bool = True


@dataclass(frozen=True, slots=True)
class Preset(Value):
    """`prompts` in the order in which they are told; `sampling` by the names of the file."""

    prompts: tuple[PresetPrompt, ...]
    sampling: Mapping[str, int | float]
    prefill: str = ""
    scripts: tuple[RegexScript, ...] = ()
    program_prompts: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UserPersona(Value):
    """Who the user is, in one of several ways; `told` is whether it is put into prompts, and
    `place` in words where, if that is not the place in the prompt itself.
    """

    name: str
    description: str
    default: bool = False
    told: bool = True
    place: str = ""


def is_preset(document: object) -> bool:
    members = _members(document)
    prompts = members.get("prompts")
    known = any(name in members for name in ("prompt_order", "chat_completion_source", *SAMPLING))
    return isinstance(prompts, list) and known


def read_preset(document: JsonObject) -> Preset:
    """The preset that a document holds; BadInput where it holds none."""
    rows = [_object(one) for one in _items(document.get("prompts"))]
    if len(rows) > _MOST:
        raise BadInput(f"the preset has more than {_MOST} prompts", hint="split it")
    numbers = {name: document.get(name) for name in SAMPLING}
    extensions = _object(document.get("extensions"))
    ours = [name for name in document if name.endswith(("_prompt", "_format"))]
    reached = ("reverse_proxy", "proxy_password", "custom_url", "custom_include_headers")
    return Preset(
        _prompts(rows, preset_order(document)),
        {n: v for n, v in numbers.items() if isinstance(v, int | float) and v is not True},
        text_of(document, "assistant_prefill"),
        tuple(read_script(_object(one)) for one in _items(extensions.get("regex_scripts"))),
        tuple(name for name in ours if text_of(document, name).strip()),
        tuple(name for name in reached if document.get(name)),
    )


def is_user_personas(document: object) -> bool:
    """Whether it is a backup of personas, or settings that hold them."""
    return _held_personas(document) is not None


def read_user_personas(document: JsonObject) -> tuple[UserPersona, ...]:
    held = _held_personas(document) or {}
    told, chosen = _object(held.get("persona_descriptions")), held.get("default_persona")
    found: list[UserPersona] = []
    for avatar, name in _object(held.get("personas")).items():
        row = told.get(avatar)
        members: JsonObject = {"description": row} if isinstance(row, str) else _object(row)
        called = " ".join(name.split()) if isinstance(name, str) else ""
        found.append(
            UserPersona(
                called or avatar.rpartition(".")[0] or avatar,
                text_of(members, "description"),
                default=avatar == chosen,
                told=members.get("position") != 9,  # the number for nowhere
                place=_user_place(members),
            )
        )
    if not found or len(found) > _MOST:
        raise BadInput(f"it holds {len(found)} personas", hint="back them up anew")
    return tuple(found)


def _user_place(members: JsonObject) -> str:
    number, depth = members.get("position"), members.get("depth")
    if number == 4:
        return f"{depth if type(depth) is int else 2} messages before the end"
    return _USER_PLACES.get(number, "") if isinstance(number, int) else ""


def is_scripts(document: object) -> bool:
    rows = _items(document) or (document,)
    return all(
        isinstance(one, Mapping)
        and {"findRegex", "replaceString"} <= cast("JsonObject", one).keys()
        for one in rows
    )


def read_scripts(document: object) -> tuple[RegexScript, ...]:
    rows = _items(document) or (document,)
    return tuple(read_script(_object(one)) for one in rows)


def preset_order(document: JsonObject) -> Sequence[tuple[str, bool]]:
    """The identifiers as they are told, and whether they are switched on."""
    rows = [_object(one) for one in _items(document.get("prompts"))]
    lists = [_object(one) for one in _items(document.get("prompt_order"))]
    by_id = {one.get("character_id"): one for one in lists if "order" in one}
    known = next((by_id[one] for one in _ORDERS if one in by_id), next(iter(by_id.values()), None))
    if known is None:
        return [(text_of(one, "identifier"), one.get("enabled") is not False) for one in rows]
    order = [_object(one) for one in _items(known.get("order"))]
    return [(text_of(one, "identifier"), one.get("enabled") is not False) for one in order]


def _prompts(
    rows: Sequence[JsonObject], order: Sequence[tuple[str, bool]]
) -> tuple[PresetPrompt, ...]:
    by_id = {text_of(row, "identifier"): row for row in rows}
    place: PresetPlace = "before"
    found: list[PresetPrompt] = []
    for identifier, enabled in dict(order).items():
        row = by_id.pop(identifier, None)
        if identifier == _HISTORY:
            place = "end"
        elif identifier in _CHARACTER and place == "before":
            place = "after"
        if row is not None and row.get("marker") is not True:
            found.append(_prompt(row, place, enabled=enabled, listed=True))
    rest = (row for row in by_id.values() if row.get("marker") is not True)
    found += [_prompt(row, "before", enabled=False, listed=False) for row in rest]
    return tuple(found)


def _prompt(row: JsonObject, place: PresetPlace, *, enabled: bool, listed: bool) -> PresetPrompt:
    depth = row.get("injection_depth")
    absolute = row.get("injection_position") == 1
    return PresetPrompt(
        text_of(row, "identifier"),
        text_of(row, "name") or text_of(row, "identifier"),
        text_of(row, "content"),
        text_of(row, "role") or "system",
        "end" if absolute else place,
        (depth if type(depth) is int else 4) if absolute else -1,
        enabled,
        listed,
    )


def _held_personas(document: object) -> JsonObject | None:
    members = _members(document)
    held = _members(members.get("power_user")) or members
    ours = isinstance(held.get("personas"), dict) and "persona_descriptions" in held
    return held if ours else None


def _members(value: object) -> JsonObject:
    """An object; nothing where it is something else."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def _items(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, list) else ()


def _object(value: object) -> JsonObject:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadInput("a part of the file is no object", hint=_HINT)
    return cast("JsonObject", value)
