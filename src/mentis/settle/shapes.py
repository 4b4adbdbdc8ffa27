"""The shapes in which models without native calls say what they want done.

An envelope (`actions`, `tool_calls`, `recovery_actions`) says plainly that actions are meant, so
every name in it counts. Anything barer counts only when it names a tool that was offered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from .expected import Expectation
from .lenient import DoubledKeys, list_in, object_in, text_in

NAME_KEYS = (
    "type",
    "function",
    "name",
    "plugin",
    "action",
    "command",
    "method",
    "tool",
    "tool_name",
)
PAYLOAD_KEYS = (
    *("payload", "arguments", "parameters", "args", "schema", "input"),
    *("action_input", "tool_input"),
)
_ID_KEYS = ("id", "call_id", "tool_call_id")
_SPOKEN_KEYS = ("text", "message", "reply", "response")
ENVELOPES = ("actions", "tool_calls", "recovery_actions")
_INPUT_KEYS = ("action_input", "content", "text", "message")


@dataclass(frozen=True, slots=True)
class WantedAction:
    """One action as it was written; `payload` may still be a text of JSON."""

    name: str
    payload: object
    id: str = ""


@dataclass(slots=True)
class Shape:
    """What a JSON value was recognised as. `name` says which shape; empty when it is none."""

    name: str = ""
    wanted: list[WantedAction] = field(default_factory=list[WantedAction])
    said: list[str] = field(default_factory=list[str])
    wrong: str = ""
    unknown: tuple[str, ...] = ()


def recognise(value: object, expected: Expectation) -> Shape:
    """The first shape that fits, in the order the origin system tries them."""
    shape = _recognise(value, expected)
    if isinstance(value, DoubledKeys) and shape.name not in ("", "text", "blocked"):
        wrong = f"the key {value.key!r} stands twice in one object, so nobody knows which is meant"
        return replace(shape, wanted=[], wrong=wrong)
    return shape


def names_offered(text: str, expected: Expectation) -> bool:
    """Whether a tool that was offered stands where the name of a call stands."""
    wire = {own: sent for sent, own in expected.names.items()}
    names = {name for tool in expected.tools or () for name in (tool.name, wire.get(tool.name, ""))}
    told = "|".join(re.escape(name) for name in sorted(filter(None, names)))
    keys = "|".join(NAME_KEYS)
    return bool(told) and bool(
        re.search(rf"""["']?(?:{keys})["']?\s*:\s*["'](?:{told})["']""", text)
    )


def _recognise(value: object, expected: Expectation) -> Shape:
    if isinstance(value, list):
        return _recognise_list(cast("list[object]", value), expected)
    members = object_in(value)
    if "system_message" in members:
        return Shape("blocked", wrong="it speaks with the voice of the program")
    for key in ("tool_calls", "actions"):
        if key in members:
            return _envelope(members, key, expected)
    for attempt in (_action_input, _single, _recovery, _addressed, _spoken, _mapping):
        shape = attempt(members, expected)
        if shape is not None:
            return shape
    return Shape()


def _recognise_list(items: list[object], expected: Expectation) -> Shape:
    first = object_in(items[0] if items else None)
    if len(items) == 1 and any(key in first for key in (*ENVELOPES, "text")):
        return recognise(first, expected)
    wanted = [_wanted(object_in(item)) for item in items]
    if wanted and all(one and _meant(one, expected) for one in wanted):
        return Shape("list", [one for one in wanted if one])
    return Shape()


def _envelope(members: Mapping[str, object], key: str, expected: Expectation) -> Shape:
    items = members[key]
    if not isinstance(items, list):
        return Shape(key, wrong=f"{key!r} is not a list")
    shape = Shape(key, said=_speech(members))
    beside = [k for k in members if k not in ENVELOPES and not _is_spoken(k, members[k])]
    named = [
        k for k in beside if isinstance(members[k], dict) and _names_one(k, members[k], expected)
    ]
    shape.unknown = tuple(k for k in beside if k not in named)
    for number, item in enumerate(cast("list[object]", items)):
        one = _wanted(object_in(item))
        if one is None:
            shape.wrong = f"{key}[{number}] does not say which action it is"
        else:
            shape.wanted.append(one)
    shape.wanted += [WantedAction(name, members[name]) for name in named]
    return shape


def _single(members: Mapping[str, object], expected: Expectation) -> Shape | None:
    one = _wanted(members) if any(key in members for key in NAME_KEYS) else None
    if one is None or not _meant(one, expected):
        return None
    explicit = expected.tools is not None or any(key in members for key in PAYLOAD_KEYS)
    return Shape("action", [one]) if explicit else None


def _recovery(members: Mapping[str, object], expected: Expectation) -> Shape | None:
    if "recovery_actions" not in members:
        return None
    items = [object_in(item) for item in list_in(members["recovery_actions"])]
    renamed = [{"type": item.get("action_type"), **item} for item in items]
    rest = {**members, "recovery_actions": renamed}
    return _envelope(rest, "recovery_actions", expected)


def _action_input(members: Mapping[str, object], expected: Expectation) -> Shape | None:
    name = text_in(members.get("action"))
    key = next((key for key in _INPUT_KEYS if key in members), None)
    if not expected.offers(expected.resolve_name(name)) or key is None:
        return None
    given = members[key]
    whole = key == "action_input" or bool(object_in(given))
    payload: object = given if whole else {key: given}
    return Shape("action_input", [WantedAction(name, payload, _id(members))])


def _addressed(members: Mapping[str, object], expected: Expectation) -> Shape | None:
    """A bare message with the place it goes to."""
    place = text_in(members.get("interface_path"))
    name = f"message_{place.partition('/')[0]}"
    if not place or not text_in(members.get("text")) or not expected.offers(name):
        return None
    return Shape("message", [WantedAction(name, dict(members))])


def _spoken(members: Mapping[str, object], expected: Expectation) -> Shape | None:
    """Only words: they are the answer itself."""
    said = _speech(members)
    if not said or any(_names_one(key, given, expected) for key, given in members.items()):
        return None
    rest = tuple(key for key in members if key not in _SPOKEN_KEYS)
    return Shape("text", said=said, unknown=rest)


def _mapping(members: Mapping[str, object], expected: Expectation) -> Shape | None:
    """An object from the names of actions to their payloads."""
    if not members or not all(_names_one(*member, expected) for member in members.items()):
        return None
    return Shape("mapping", [WantedAction(name, given) for name, given in members.items()])


def _wanted(item: Mapping[str, object]) -> WantedAction | None:
    """The name and the payload of one action, under any of the keys that are in use."""
    function = item.get("function")
    if isinstance(function, dict):
        inner = _wanted(cast("Mapping[str, object]", function))
        return inner and WantedAction(inner.name, inner.payload, _id(item))
    if len(item) == 1:
        ((name, given),) = item.items()
        if isinstance(given, dict) and name not in PAYLOAD_KEYS:
            return WantedAction(name, cast("object", given))
    key = next((key for key in NAME_KEYS if text_in(item.get(key))), None)
    if key is None:
        return None
    if isinstance(item, DoubledKeys):
        return WantedAction(text_in(item[key]), item, _id(item))  # which is refused, with its words
    held = next((name for name in PAYLOAD_KEYS if name in item and name != key), None)
    if held is not None:
        return WantedAction(text_in(item[key]), item[held], _id(item))
    swept = {name: given for name, given in item.items() if name not in (key, *_ID_KEYS)}
    return WantedAction(text_in(item[key]), swept, _id(item))


def _meant(one: WantedAction, expected: Expectation) -> bool:
    return (
        expected.offers(expected.resolve_name(one.name))
        if expected.tools is not None
        else isinstance(one.payload, dict)
    )


def _names_one(name: str, given: object, expected: Expectation) -> bool:
    """Whether it is an action that was offered, or, with a payload, an invented kind of message."""
    return expected.offers(name) or (
        bool(object_in(given)) and expected.offers(expected.resolve_name(name))
    )


def _is_spoken(key: str, given: object) -> bool:
    return key in _SPOKEN_KEYS and not object_in(given)


def _id(item: Mapping[str, object]) -> str:
    return next((text_in(item[key]) for key in _ID_KEYS if text_in(item.get(key))), "")


def _speech(members: Mapping[str, object]) -> list[str]:
    said = [text_in(members.get(key)) for key in _SPOKEN_KEYS]
    return list(dict.fromkeys(text for text in said if text))
