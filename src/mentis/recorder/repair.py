"""Repairs of what wastes a cache and means nothing: off unless asked for, each rule by its name.

What cannot be read, or is not plainly one of these, is sent as it came. Nothing is withheld from
the model: a clock that is held still is told again at the end of the last message.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.resources import files
from threading import Lock
from typing import cast

from mentis.facts.ability import Wire
from mentis.net.targets import host_of
from mentis.record.call_bodies import BodyBlock, split_body
from mentis.render.compare import is_body
from mentis.settings.recorder import REPAIR_RULES, RepairRule
from mentis.values.json import JsonObject, json_object

from .call_copy import BodyRepair, CallCopy
from .prompts import OWNERS, SYSTEM, TALK, bare_value, items_at, opening_texts, texts_in, tool_lists
from .sessions import session_names
from .wires import wire_at

# Claude Code's billing line, with a checksum of each request: claude-code #68900.
_NONCE = re.compile(r'(x-anthropic-billing-header:[^"\\]{0,300}?\bcch=)([0-9A-Za-z]{1,64})(?=;)')
# Anthropic takes that line out of the prompt and looks at it: there it costs nothing, and stays.
_READS_NONCE = "anthropic.com"
_DAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_CLOCK = re.compile(
    r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
    r"|\b\d{1,2}:\d{2}(?::\d{2})?(?: ?[AaPp][Mm])?\b"
    r"|\b\d{1,2}/\d{1,2}/\d{2,4}\b"
    rf"|\b{_DAY}\b"
    rf"|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?\b"
    rf"|\b\d{{1,2}}\.? {_MONTH}(?: \d{{4}})?\b"
    r"|\b1[6-9]\d{8}(?:\d{3})?\b"
)
_HOLE = "\x00"  # where a time stood; no text of JSON says it so
_SENTENCE = re.compile(r"(?<=[.!?;]) |\n")
_MOST_TOLD = 600  # characters of what a clock is told anew with; more is no clock
_MOST_KNOWN = 4096
_MARK = "cache_control"
_ROLE = "user"  # of a message that does not say: Gemini's may leave it out


@dataclass(slots=True)
class _Body:
    """A body while it is repaired: its texts in order, and where each pointer's is."""

    wire: Wire
    payload: JsonObject
    texts: list[str]
    places: Mapping[str, int]
    session: str
    repairs: list[BodyRepair] = field(default_factory=list[BodyRepair])

    def text(self, pointer: str) -> str:
        return self.texts[self.places[pointer]]

    def change(self, rule: RepairRule, pointer: str, text: str) -> None:
        self.texts[self.places[pointer]] = text
        self.repairs.append(BodyRepair(rule, pointer))

    def system(self) -> Iterator[str]:
        """Pointers of what a program calls its system text."""
        for name in SYSTEM[self.wire]:
            if f"/{name}" in self.places:
                yield f"/{name}"
            yield from (p for p in self._items(name) if p in self.places)
        items = items_at(self.payload, TALK[self.wire])
        for pointer, item in zip(self.talk(), items, strict=True):
            if json_object(item).get("role") not in OWNERS or self.wire == "anthropic":
                return
            yield pointer

    def tools(self) -> Iterator[tuple[str, list[object]]]:
        """Lists of tools, as they came, and their pointers."""
        for pointer, tools in tool_lists(self.payload):
            if f"{pointer}/{len(tools) - 1}" in self.places:
                yield pointer, tools

    def talk(self) -> list[str]:
        """Pointers of the messages."""
        return self._items(TALK[self.wire])

    def _items(self, name: str) -> list[str]:
        return [f"/{name}/{number}" for number in range(len(items_at(self.payload, name)))]


class Repairer:
    """Repairs bodies of one run; it remembers what was seen first in each session."""

    def __init__(self, rules: Collection[RepairRule]) -> None:
        self._rules: tuple[RepairRule, ...] = tuple(one for one in REPAIR_RULES if one in rules)
        self._known: OrderedDict[tuple[str, ...], object] = OrderedDict()
        self._lock = Lock()

    def repair(self, call: CallCopy, body: bytes) -> tuple[bytes, tuple[BodyRepair, ...]] | None:
        """What to send instead, and what was changed; None to send it as it came. It blocks."""
        read = _read(call, body)
        if read is None:
            return None
        steps: Mapping[RepairRule, Callable[[_Body], None]] = {
            "nonce": self._pin_nonce,
            "clock": self._move_clock,
            "tool-order": self._order_tools,
            "key-order": self._order_keys,
        }
        with self._lock:
            for rule in self._rules:
                if rule != "nonce" or not reads_nonce(call.target.origin):
                    steps[rule](read)
        try:
            made = "".join(read.texts).encode()
        except UnicodeEncodeError:  # half a character, which JSON can say
            return None
        return (made, tuple(read.repairs)) if read.repairs and made != body else None

    def _first(self, key: tuple[str, ...], value: object) -> object:
        """What was seen first under a key."""
        found = self._known.setdefault(key, value)
        self._known.move_to_end(key)
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)
        return found

    def _pin_nonce(self, body: _Body) -> None:
        for pointer in body.system():
            text = body.text(pointer)
            if (found := _NONCE.search(text)) is None:
                continue
            first = str(self._first(("nonce", body.session), found[2]))
            if first != found[2]:
                body.change("nonce", pointer, text[: found.start(2)] + first + text[found.end(2) :])

    def _move_clock(self, body: _Body) -> None:
        """The prefix keeps the time that was told first, and the last message says what it is now:
        so the model is told both, in order, and nothing in front of the last message changes. What
        earlier messages were sent with, they are sent with again.
        """
        texts = {pointer: body.text(pointer) for pointer in body.system()}
        masked = {pointer: _CLOCK.sub(_HOLE, text) for pointer, text in texts.items()}
        place, system = _last_user(body), _digest("\n".join(masked.values()))
        self._tell_again(body, system, last=place)
        moved, told = dict[str, str](), list[str]()
        for pointer, text in texts.items():
            if masked[pointer] == text:
                continue
            first = str(self._first(("clock", body.session, _digest(masked[pointer])), text))
            if first != text:
                moved[pointer] = first
                told += _differences(first, text)
        if not moved or place is None or not 0 < sum(map(len, told)) <= _MOST_TOLD:
            return
        key, longer = _told_key(body, system, place), _with_text(body, place, "\n".join(told))
        if longer is None:
            return
        for pointer, first in moved.items():
            body.change("clock", pointer, first)
        body.change("clock", place, longer)
        self._known.pop(key, None)
        self._first(key, "\n".join(told))

    def _tell_again(self, body: _Body, system: str, *, last: str | None) -> None:
        """A message that was sent with a time keeps it: without, the cache would end there."""
        for pointer in body.talk():
            told = self._known.get(_told_key(body, system, pointer)) if pointer != last else None
            longer = _with_text(body, pointer, str(told)) if told is not None else None
            if longer is not None:
                body.change("clock", pointer, longer)

    def _order_tools(self, body: _Body) -> None:
        for place, tools in body.tools():
            names = [_canonical(tool) for tool in tools]
            key = ("tool-order", body.session, _digest("\n".join(sorted(names))))
            first = cast("tuple[str, ...]", self._first(key, tuple(names)))
            if list(first) == names or len(set(names)) != len(names):
                continue
            texts = [body.text(f"{place}/{number}") for number in range(len(tools))]
            for number, name in enumerate(first):
                at = names.index(name)
                text = _marked_as(tools[at], texts[at], tools[number])
                body.texts[body.places[f"{place}/{number}"]] = text
            body.repairs.append(BodyRepair("tool-order", place))

    def _order_keys(self, body: _Body) -> None:
        for place, tools in body.tools():
            for number in range(len(tools)):
                pointer = f"{place}/{number}"
                tool: object = json.loads(body.text(pointer))
                plain = json.dumps(bare_value(tool))
                key = ("key-order", body.session, _digest(_canonical(tool)))
                first, text = cast("tuple[str, str]", self._first(key, (plain, body.text(pointer))))
                if first != plain:
                    body.change("key-order", pointer, _marked_as(json.loads(text), text, tool))


def reads_nonce(origin: str) -> bool:
    host = host_of(origin)
    return host == _READS_NONCE or host.endswith(f".{_READS_NONCE}")


def repair_for(before: object, after: object, *, origin: str) -> str:
    """The rule that would have kept two parts of prompts the same; "" where none would."""
    old, new = (json.dumps(one, ensure_ascii=False) for one in (before, after))
    if old == new:
        return ""
    if not reads_nonce(origin) and _NONCE.sub(r"\1", old) == _NONCE.sub(r"\1", new):
        return "nonce"
    if _CLOCK.sub(_HOLE, old) == _CLOCK.sub(_HOLE, new):
        return "clock"
    return "key-order" if _canonical(before) == _canonical(after) else ""


def _read(call: CallCopy, body: bytes) -> _Body | None:
    """None of what is no question to a model, or cannot be taken apart without a doubt."""
    wire = wire_at(call.path) if call.method == "POST" else None
    packed = any(name.lower() == b"content-encoding" for name, _ in call.headers)
    if wire is None or packed:
        return None
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    split = split_body(text)
    payload = split.payload
    blocks = tuple(inner for block in split.blocks for inner in _declarations(block, wire))
    pointers = [block.pointer for block in blocks if block.pointer]
    if payload is None or not is_body(payload, wire) or len(set(pointers)) != len(pointers):
        return None
    headers = {
        name.decode("latin-1").lower(): value.decode("latin-1") for name, value in call.headers
    }
    named = next((told for _, told in session_names(payload, headers) if told), "")
    first = json.dumps(opening_texts(payload, wire)) if not named else ""
    places = {block.pointer: number for number, block in enumerate(blocks) if block.pointer}
    session = f"{call.target.name} {named or _digest(first)}"
    return _Body(wire, payload, [block.text for block in blocks], places, session)


def _declarations(block: BodyBlock, wire: Wire) -> Iterator[BodyBlock]:
    """Gemini's tools lie in a list inside the list of tools: each is a text of its own."""
    tool = None
    if wire == "gemini" and block.pointer.startswith("/tools/"):
        tool = split_body(block.text)
    if tool is None or tool.payload is None:
        yield block
        return
    for one in tool.blocks:
        yield BodyBlock(one.text, one.pointer and f"{block.pointer}{one.pointer}")


def _differences(before: str, after: str) -> list[str]:
    """What to say of two texts that differ in their times, sentence by sentence."""
    old, new = (texts_in(_system_content(json.loads(one))) for one in (before, after))
    told: list[str] = []
    for was, is_now in zip(old, new, strict=True):
        pairs = zip(_SENTENCE.split(was), _SENTENCE.split(is_now), strict=False)
        told += [
            _text("clock").format(before=a.strip(), after=b.strip()) for a, b in pairs if a != b
        ]
    return told


def _system_content(value: object) -> object:
    told = json_object(value)
    return told.get("content", told.get("text", value)) if told else value


def _last_user(body: _Body) -> str | None:
    """The pointer of the last message of the user."""
    name = TALK[body.wire]
    if f"/{name}" in body.places:
        return f"/{name}"  # a message that is a bare text
    items = [json_object(one) for one in items_at(body.payload, name)]
    found = [number for number, one in enumerate(items) if one.get("role", _ROLE) == "user"]
    if not found or any(_is_result(part) for part in items_at(items[found[-1]], "parts")):
        return None
    return f"/{name}/{found[-1]}"


def _is_result(part: object) -> bool:
    """Gemini counts the results of a message: nothing is put beside them."""
    return not {"functionResponse", "function_response"}.isdisjoint(json_object(part))


def _told_key(body: _Body, system: str, pointer: str) -> tuple[str, ...]:
    """What a time was told with: this message, as the program says it, at this place, below this
    system text.
    """
    items, number = items_at(body.payload, TALK[body.wire]), pointer.rpartition("/")[2]
    said = items[int(number)] if number.isdecimal() and int(number) < len(items) else ""
    return "clock-told", body.session, system, pointer, _digest(_canonical(said))


def _with_text(body: _Body, pointer: str, told: str) -> str | None:
    """A message with a text behind its own; None where that is not plain to say."""
    try:
        message: object = json.loads(body.text(pointer), object_pairs_hook=_once)
    except ValueError:
        return None
    if isinstance(message, str):
        return _dump(f"{message}\n\n{told}")
    name = "parts" if body.wire == "gemini" else "content"
    content = json_object(message).get(name)
    if isinstance(content, str):
        return _dump({**json_object(message), "content": f"{content}\n\n{told}"})
    if not isinstance(content, list):
        return None
    kind = {"type": "input_text" if body.wire == "openai-responses" else "text"}
    part = {**(kind if body.wire != "gemini" else {}), "text": told}
    return _dump({**json_object(message), name: [*cast("list[object]", content), part]})


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object that says each name once: what says one twice is not written anew."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name stands there twice")
    return made


def _marked_as(tool: object, text: str, place: object) -> str:
    """Marks of a cache stay where they stood, whatever tool stands there."""
    here, there = (json_object(one).get(_MARK) for one in (tool, place))
    if here == there:
        return text
    bare = {name: part for name, part in json_object(tool).items() if name != _MARK}
    return _dump({**bare, **({} if there is None else {_MARK: there})})


def _canonical(value: object) -> str:
    return json.dumps(bare_value(value), sort_keys=True)


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@cache
def _texts() -> Mapping[str, str]:
    found = files(__package__ or "").joinpath("repair.json").read_text("utf-8")
    return cast("Mapping[str, str]", json.loads(found))


def _text(name: str) -> str:
    return _texts()[name]
