"""The prompt inside a foreign payload: what a prefix cache compares, in the order it does.

Tools come first, then the system text, then messages, wherever a program writes them. Marks for the
cache are no part of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import takewhile
from typing import cast

from mentis.facts.ability import Wire
from mentis.render.compare import Divergence, compare, read_before
from mentis.render.cuts import strip_marks
from mentis.render.reads import READS
from mentis.values.json import JsonObject, json_object
from mentis.values.rendering import Boundary, CachePlan, Rendering
from mentis.values.source_map import Walk
from mentis.values.value import Value

SYSTEM: Mapping[Wire, tuple[str, ...]] = {
    "openai-chat": (),
    "openai-responses": ("instructions",),
    "anthropic": ("system",),
    "gemini": ("systemInstruction", "system_instruction"),
    "ollama": ("system",),
}
TALK: Mapping[Wire, str] = {
    "openai-chat": "messages",
    "openai-responses": "input",
    "anthropic": "messages",
    "gemini": "contents",
    "ollama": "messages",
}
OWNERS = ("system", "developer")
_HEADED = ("openai-chat", "ollama")  # their first messages may be the system text
_ANSWERERS = ("assistant", "model", "tool")
_MARKS = ("cache_control", "prompt_cache_breakpoint")
_MARK_BYTES = tuple(f'"{mark}"'.encode() for mark in _MARKS)
_MOST_STEPS = 4
_DECLARED = ("functionDeclarations", "function_declarations")
_WORDS = {"tools": "tool", "messages": "message", "input": "message", "contents": "message"}


@dataclass(frozen=True, slots=True)
class PromptDigest(Value):
    """Digests of a prompt's parts: enough to see which prompts begin alike. The first messages of
    Chat Completions and of Ollama are the system text: `head` says how many they are.
    """

    tools: str
    system: str
    messages: tuple[str, ...]
    head: int = 0

    def shared(self, other: PromptDigest) -> int:
        """How many messages both begin with."""
        most = min(len(self.messages), len(other.messages))
        if self.messages[:most] == other.messages[:most]:
            return most
        pairs = zip(self.messages, other.messages, strict=False)
        return next(number for number, (a, b) in enumerate(pairs) if a != b)

    def goes_on(self, earlier: PromptDigest) -> bool:
        """Whether it is that prompt with nothing but more messages after it."""
        same = (self.tools, self.system, self.head) == (earlier.tools, earlier.system, earlier.head)
        return same and self.shared(earlier) == len(earlier.messages)


def digest_prompt(
    payload: JsonObject, wire: Wire, short: Callable[[object], str] | None = None
) -> PromptDigest:
    """`short` makes the digest of a part; what is kept in a record has our own."""
    short = short or short_digest
    talk = items_at(payload, TALK[wire])
    owned = takewhile(lambda one: json_object(one).get("role") in OWNERS, talk)
    head = list(owned) if wire in _HEADED else []
    system = [*(payload.get(name) for name in SYSTEM[wire]), *head]
    return PromptDigest(
        short(payload.get("tools")),
        short(system) if any(system) else "",
        tuple(map(short, talk[len(head) :])),
        len(head),
    )


def system_texts(payload: JsonObject, wire: Wire) -> tuple[str, ...]:
    """The texts of the system, block by block; of Chat Completions, of its first messages."""
    found = [payload.get(name) for name in SYSTEM[wire]]
    for message in _messages(payload, wire):
        if message.get("role") not in OWNERS:
            break
        found.append(message.get("content"))
    return tuple(text for one in found for text in texts_in(one))


def opening_texts(payload: JsonObject, wire: Wire) -> tuple[str, ...]:
    """What a conversation begins with: the texts of its user before anybody answered."""
    found: list[str] = []
    for message in _messages(payload, wire):
        if message.get("role") in _ANSWERERS or message.get("type", "message") != "message":
            break
        if message.get("role", "user") == "user":
            found += texts_in(message.get("content", message.get("parts")))
    return tuple(found)


def last_texts(payload: JsonObject, wire: Wire) -> tuple[str, ...]:
    """The texts of the last message, where it is one of a user."""
    listed = _messages(payload, wire)
    if not listed or listed[-1].get("role", "user") != "user":
        return ()
    return tuple(texts_in(listed[-1].get("content", listed[-1].get("parts"))))


def _messages(payload: JsonObject, wire: Wire) -> list[JsonObject]:
    return [json_object(one) for one in items_at(payload, TALK[wire])]


def texts_in(content: object) -> list[str]:
    """The texts of a message or a system, however its format writes them down."""
    if isinstance(content, str):
        return [content]
    if isinstance(content, Mapping):
        inner = cast("JsonObject", content)
        return texts_in(inner.get("parts", inner.get("text")))
    if isinstance(content, list):
        return [text for one in cast("list[object]", content) for text in texts_in(one)]
    return []


def prompt_of(payload: JsonObject, wire: Wire) -> Rendering:
    """As a rendering, with a boundary behind the tools, the system text and the last message."""
    order = ("tools", *SYSTEM[wire], TALK[wire])
    ordered = {name: payload[name] for name in order if payload.get(name)}
    marked = is_marked(ordered)
    plan = CachePlan(tuple(_boundaries(ordered, wire, marked=marked)))
    bare = Rendering(wire, ordered, cache_plan=plan, reads=READS.get(wire, {}))
    return replace(read_before(ordered, bare), cache_plan=plan)


def is_marked(payload: JsonObject) -> bool:
    """Whether the program asks for a cache by name."""
    written = _dump(payload)
    return any(mark in written for mark in _MARK_BYTES)


def lasts_an_hour(payload: JsonObject) -> bool:
    return b'"ttl":"1h"' in _dump(payload)


def diverge(before: Rendering, after: Rendering) -> Divergence | None:
    """None when both say the same. The pointer leads to the tool, system block or message that the
    byte is in, and into it where its text is known.
    """
    found = compare(before, after)
    if found is None:
        return None
    bare = strip_marks(after)
    items = [*_items(bare.payload)]
    ends = Walk(bare.sources, bare.reads, items).through(bare.payload).ends
    item = next((one for one in items if ends.get(one, 0) > found.byte), "")
    inside = found.pointer == item or found.pointer.startswith(f"{item}/")
    return found if not item or inside else replace(found, pointer=item, span=None)


def _items(payload: JsonObject) -> Iterator[str]:
    for name in payload:
        listed = items_at(payload, name)
        yield from (f"/{name}/{number}" for number in range(len(listed)))
        if not listed:
            yield f"/{name}"


def _boundaries(payload: JsonObject, wire: Wire, *, marked: bool) -> Iterator[Boundary]:
    if tools := items_at(payload, "tools"):
        yield Boundary(f"/tools/{len(tools) - 1}", "tools", marked=marked)
    for name in SYSTEM[wire]:
        if name in payload:
            blocks = items_at(payload, name)
            place = f"/{name}/{len(blocks) - 1}" if blocks else f"/{name}"
            yield Boundary(place, "stable", marked=marked)
    if talk := items_at(payload, TALK[wire]):
        yield Boundary(f"/{TALK[wire]}/{len(talk) - 1}", "history", marked=marked)


def describe_place(pointer: str, payload: JsonObject) -> str:
    """What stands there, in words: tool `bash`, system block 0, message 3 (user)."""
    _, root, number, declared, place = [*pointer.split("/"), "", "", "", ""][:5]
    if root not in _WORDS:
        return f"system block {number}" if number.isdecimal() else "the system text"
    told = _member(items_at(payload, root), number)
    if root == "tools":
        if declared in _DECLARED and place:
            told, number = _member(items_at(told, declared), place), place
        inner = json_object(told.get("function")) or told
        return f"tool `{inner.get('name') or inner.get('type') or number}`"
    who = told.get("role") or told.get("type") or ""
    return f"message {number} ({who})" if who else f"message {number}"


def _member(listed: list[object], number: str) -> JsonObject:
    there = number.isdecimal() and int(number) < len(listed)
    return json_object(listed[int(number)] if there else None)


def short_pointer(pointer: str) -> str:
    """Down to the part of a message: what is deeper may tell words of the prompt."""
    return "/".join(pointer.split("/")[: _MOST_STEPS + 1])


def items_at(payload: JsonObject, name: str) -> list[object]:
    found = payload.get(name)
    return cast("list[object]", found) if isinstance(found, list) else []


def tool_lists(payload: JsonObject) -> Iterator[tuple[str, list[object]]]:
    """Lists of tools and their pointers. Gemini's lie inside the members of one more list."""
    listed = items_at(payload, "tools")
    inner = [
        (f"/tools/{number}/{name}", found)
        for number, tool in enumerate(listed)
        for name in _DECLARED
        if (found := items_at(json_object(tool), name))
    ]
    yield from inner or ([("/tools", listed)] if listed else [])


def same_tools(before: JsonObject, after: JsonObject) -> bool:
    """Whether both declare the same tools, in whatever order."""
    old, new = (sorted(map(str, _declared(payload))) for payload in (before, after))
    return old == new


def _declared(payload: JsonObject) -> Iterator[object]:
    for tool in items_at(payload, "tools"):
        told = json_object(tool)
        inner = [one for name in _DECLARED for one in items_at(told, name)]
        rest = {name: part for name, part in told.items() if name not in _DECLARED}
        yield from inner or (tool,)
        if inner and rest:
            yield rest


def short_digest(value: object) -> str:
    if not value:
        return ""
    written = _dump(value)
    if any(mark in written for mark in _MARK_BYTES):
        written = _dump(bare_value(value))
    return sha256(written).hexdigest()[:16]


def bare_value(value: object) -> object:
    """Without marks for the cache."""
    if isinstance(value, Mapping):
        members = cast("JsonObject", value).items()
        return {name: bare_value(part) for name, part in members if name not in _MARKS}
    if isinstance(value, list):
        return [bare_value(item) for item in cast("list[object]", value)]
    return value


def _dump(value: object) -> bytes:
    # A lone surrogate is JSON, and no text: it is compared like any other.
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")
