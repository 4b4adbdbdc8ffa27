"""Who asked for a conversation: the call that started a sub-agent, or handed over to another.

By what the program says itself (a header, its metadata), else by the prompt: a conversation that
begins with what a tool call of another one said was started by it. Where two may have, nobody is
named.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import cast

from mentis.record.foreign_calls import CallOrigin
from mentis.values.action import Action
from mentis.values.json import JsonObject

# Names of one thread inside a session, and of the one above it: Claude Code, then Codex.
_THREADS = ("x-claude-code-agent-id", "thread-id")
_PARENTS = ("x-claude-code-parent-agent-id", "x-codex-parent-thread-id", "x-parent-session-id")
_PARENT_METADATA = ("parent_session_id", "parent_thread_id", "parent_id")
_HANDOFF = re.compile(r"^(?:transfer_to_|hand_?off)|_handoff$", re.IGNORECASE)
_SPAWN = re.compile(r"task|agent|spawn|delegate|subagent|worker", re.IGNORECASE)
_LEAST, _LEAST_INSIDE = 8, 40  # characters that say something; inside of a longer text, more
_MOST_TEXT, _MOST_LONG = 200_000, 20_000
_MOST_SPAWNS = 2048


def thread_named(headers: Mapping[str, str]) -> str:
    """What a program calls the thread of a call; "" where it does not."""
    return next((headers[name] for name in _THREADS if headers.get(name)), "")


def parent_named(headers: Mapping[str, str], metadata: JsonObject) -> tuple[str, str] | None:
    """What it calls the thread or session that asked for it, and where it says so."""
    for name in _PARENTS:
        if told := headers.get(name):
            return f"header {name}", told
    for name in _PARENT_METADATA:
        if isinstance(told := metadata.get(name), str) and told:
            return f"metadata {name}", told
    return None


@dataclass(slots=True)
class SpawnBook:
    """What tool calls said of late, for conversations that begin with it."""

    _said: OrderedDict[str, list[CallOrigin]] = field(
        default_factory=OrderedDict[str, "list[CallOrigin]"]
    )
    _long: OrderedDict[str, list[CallOrigin]] = field(
        default_factory=OrderedDict[str, "list[CallOrigin]"]
    )

    def copy(self) -> SpawnBook:
        said, long = (
            OrderedDict((key, made.copy()) for key, made in book.items())
            for book in (self._said, self._long)
        )
        return SpawnBook(said, long)

    def add(self, session: str, thread: int, entry: int, action: Action) -> None:
        made = CallOrigin("spawn", "prompt", session, thread, entry, action.type)
        for text in _texts(action.payload):
            if not _LEAST <= len(text) <= _MOST_TEXT:
                continue
            _note(self._said, _digest(text), made)
            if _LEAST_INSIDE <= len(text) <= _MOST_LONG and _SPAWN.search(action.type):
                _note(self._long, text, made)

    def origin_of(self, opening: Iterable[str]) -> CallOrigin | None:
        """The newest call that said it, where all that did are of one thread."""
        texts = [text.strip() for text in opening]
        found = [one for text in texts for one in self._said.get(_digest(text), ())]
        if not found:
            whole = "\n".join(texts)
            found = [one for text, made in self._long.items() if text in whole for one in made]
        if len({(one.session, one.thread) for one in found}) != 1:
            return None
        return max(found, key=lambda one: one.entry or 0)


@dataclass(slots=True)
class Handoffs:
    """Calls whose answer handed the conversation over, with the tool that did."""

    _tools: OrderedDict[int, str] = field(default_factory=OrderedDict[int, str])

    def copy(self) -> Handoffs:
        return Handoffs(self._tools.copy())

    def add(self, entry: int, action: Action) -> None:
        if _HANDOFF.search(action.type):
            self._tools[entry] = action.type
        while len(self._tools) > _MOST_SPAWNS:
            self._tools.popitem(last=False)

    def tool_of(self, entry: int) -> str:
        return self._tools.get(entry, "")


def _note(book: OrderedDict[str, list[CallOrigin]], key: str, made: CallOrigin) -> None:
    book.setdefault(key, []).append(made)
    book.move_to_end(key)
    while len(book) > _MOST_SPAWNS:
        book.popitem(last=False)


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value.strip()
        case Mapping():
            for part in cast("JsonObject", value).values():
                yield from _texts(part)
        case list() | tuple():
            for part in cast("list[object]", value):
                yield from _texts(part)
        case _:
            return
