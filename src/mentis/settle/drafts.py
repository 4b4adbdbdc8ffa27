"""The three sections as data: acts, changes of the goals, changes of the memory.

The contract is a bare array; where a wire needs an object around it, its one member is `items`. A
body that is not exactly that does not fit, and a helper may be asked to put it into form; what can
be read of it anyway is read element by element, and every element that cannot is told.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from mentis.values.json import JsonObject
from mentis.values.tick import (
    ActDraft,
    Append,
    DroppedElement,
    GoalPatchOp,
    Insert,
    MemoryPatchOp,
    Prune,
    Remove,
    Section,
    Sprout,
    Tilt,
)
from mentis.values.value import Value

from .arguments import DEEPEST, is_recordable
from .found import FoundJson, find_json
from .lenient import DoubledKeys, mark_doubled, printable

T = TypeVar("T")
ITEMS = "items"
_SHOWN = 400


def _integer(digits: str) -> int | float:
    """More digits than are read are no number either; only the element with it is lost for it."""
    try:
        return int(digits)
    except ValueError:
        return math.inf


# NaN and the like are read, so that only the element that has one is refused for it.
_DECODER = json.JSONDecoder(object_pairs_hook=mark_doubled, parse_int=_integer)


@dataclass(frozen=True, slots=True)
class SectionContent(Value, Generic[T]):
    """What a section holds. `fits`: it is exactly what the contract asks for."""

    items: tuple[T, ...] = ()
    dropped: tuple[DroppedElement, ...] = ()
    fits: bool = True


class _Unfit(Exception):
    """Why an element is not what the contract has there."""


def read_acts(body: str) -> SectionContent[ActDraft]:
    return _read("acts", body, _draft)


def read_goal_ops(body: str) -> SectionContent[GoalPatchOp]:
    return _read("goal-tree-patch", body, _goal_op)


def read_memory_ops(body: str) -> SectionContent[MemoryPatchOp]:
    return _read("l1-memory-patch", body, _memory_op)


def _read(section: Section, body: str, take: Callable[[_Members], T]) -> SectionContent[T]:
    if not body.strip():
        return SectionContent()
    elements, exact = _elements(body)
    if elements is None:
        dropped = DroppedElement(section, 0, "shape", "this is not a JSON array", _shown(body))
        return SectionContent(dropped=(dropped,), fits=False)
    items, lost = list[T](), list[DroppedElement]()
    for index, element in enumerate(elements):
        try:
            items.append(_taken(element, take))
        except _Unfit as error:
            raw = _shown(json.dumps(element, ensure_ascii=False))
            lost.append(DroppedElement(section, index, "shape", str(error), raw))
    return SectionContent(tuple(items), tuple(lost), fits=exact and not lost)


def _elements(body: str) -> tuple[list[object] | None, bool]:
    """The elements, and whether there was nothing around them."""
    try:
        whole: object = _DECODER.decode(body.strip())
    except (ValueError, RecursionError):
        found = find_json(body)
        return (_list_in(found.value) if isinstance(found, FoundJson) else None), False
    return _list_in(whole), True


def _list_in(value: object) -> list[object] | None:
    if type(value) is dict:
        members = cast("dict[str, object]", value)
        value = members[ITEMS] if members.keys() == {ITEMS} else None
    return cast("list[object]", value) if type(value) is list else None


def _taken(element: object, take: Callable[[_Members], T]) -> T:
    if isinstance(element, DoubledKeys):
        raise _Unfit(f"{element.key!r} stands twice")
    if not isinstance(element, dict):
        raise _Unfit("an object is needed here")
    members = _Members(cast("dict[str, object]", element))
    item = take(members)
    members.refuse_rest()
    return item


class _Members:
    """The members of one element; each is taken once, and none may be left over."""

    def __init__(self, members: Mapping[str, object]) -> None:
        self._members = dict(members)

    def text(self, name: str) -> str:
        value = self._take(name)
        if not isinstance(value, str):
            raise _Unfit(f"{name}: a text is needed")
        return printable(value)

    def whole(self, name: str) -> int:
        value = self._take(name)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if type(value) is not int:
            raise _Unfit(f"{name}: a whole number is needed")
        return value

    def payload(self) -> JsonObject:
        """An object, the same written as a text (where a wire has no free objects), or null."""
        value = self._take("payload")
        if isinstance(value, str):
            try:
                value = _DECODER.decode(value.strip())
            except (ValueError, RecursionError):
                raise _Unfit("payload: this text is not a JSON object") from None
        if value is None:
            return {}
        if not isinstance(value, dict) or _doubled(cast("object", value)):
            raise _Unfit("payload: a JSON object is needed, with every key once")
        if not is_recordable(cast("object", value)):
            raise _Unfit(
                f"payload: it holds half a character or no number, or is deeper than {DEEPEST}"
            )
        return cast("JsonObject", value)

    def has(self, name: str) -> bool:
        """A member that is null counts as left out."""
        if self._members.get(name, 0) is None:
            del self._members[name]
        return name in self._members

    def refuse_rest(self) -> None:
        if self._members:
            names = printable(", ".join(sorted(self._members))[:100])
            raise _Unfit(f"{names}: nothing of that name is known")

    def _take(self, name: str) -> object:
        if name not in self._members:
            raise _Unfit(f"{name}: it is missing")
        return self._members.pop(name)


def _draft(given: _Members) -> ActDraft:
    endpoint, name = given.text("endpoint_id"), given.text("neural_signal_descriptor_id")
    return ActDraft(endpoint, name, given.payload())


def _goal_op(given: _Members) -> GoalPatchOp:
    match op := given.text("op"):
        case "sprout":
            parent, name = given.text("parent_node_id"), given.text("node_id")
            return Sprout(parent, name, given.text("summary"), given.whole("weight"))
        case "prune":
            return Prune(given.text("node_id"))
        case "tilt":
            return Tilt(given.text("node_id"), given.whole("weight"))
        case _:
            raise _Unfit(f"op: {op[:40]!r} is none of sprout, prune, tilt")


def _memory_op(given: _Members) -> MemoryPatchOp:
    match op := given.text("op"):
        case "append":
            return Append(given.text("value"))
        case "insert":
            index, named = _named(given)
            return Insert(given.text("value"), index, named)
        case "remove":
            return Remove(*_named(given))
        case _:
            raise _Unfit(f"op: {op[:40]!r} is none of append, insert, remove")


def _named(given: _Members) -> tuple[int | None, str]:
    """An entry by its place, by the hash of its words, or by both."""
    index = given.whole("index") if given.has("index") else None
    named = given.text("hash") if given.has("hash") else ""
    if index is None and not named:
        raise _Unfit("index or hash: one of them is needed")
    if index is not None and index < 0:
        raise _Unfit("index: it counts from 0")
    return index, named


def _doubled(value: object) -> bool:
    """Whether a key stands twice anywhere in it."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, DoubledKeys):
            return True
        if isinstance(one, dict):
            waiting.extend(cast("dict[str, object]", one).values())
        elif isinstance(one, list):
            waiting.extend(cast("list[object]", one))
    return False


def _shown(text: str) -> str:
    short = text.strip()
    return printable(short if len(short) <= _SHOWN else f"{short[: _SHOWN - 1]}…")
