"""Which conversation a call belongs to, and which call came before it there.

By what the program says itself: `prompt_cache_key`, `metadata`, `previous_response_id`, a header;
else by how the prompt begins. Inside a session a prompt that begins with other messages is a
thread of its own (a sub-agent, a title), below the one it branches from.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from mentis.facts.ability import Wire
from mentis.values.json import JsonObject, json_object

from .prompts import PromptDigest
from .reading import ReadCall

_HEADERS = (
    "session_id",
    "x-session-id",
    "x-claude-code-session-id",
    "conversation_id",
    "thread_id",
)
_METADATA = ("session_id", "conversation_id", "thread_id")
_SESSION = re.compile(r"session_([0-9a-zA-Z-]{8,64})")
_MOST_NAME = 80
_MOST_SESSIONS, _MOST_CALLS = 256, 32


@dataclass(frozen=True, slots=True)
class PastCall:
    """One that is recorded: `entry` is its index, `body` the blob of its request."""

    entry: int
    session: str
    thread: int
    wire: Wire
    model: str
    digest: PromptDigest
    time: datetime
    body: str = ""
    input: int = 0
    reply_id: str = ""


@dataclass(frozen=True, slots=True)
class CallPlace:
    """`by` says what the session was told by. `parent` is the thread this one branches from."""

    session: str
    by: str
    thread: int = 0
    parent: int | None = None
    before: PastCall | None = None


@dataclass(slots=True)
class SessionBook:
    """The calls of late, by session. The oldest sessions are forgotten first."""

    _sessions: OrderedDict[str, deque[PastCall]] = field(
        default_factory=OrderedDict[str, "deque[PastCall]"]
    )
    _threads: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, call: PastCall) -> None:
        calls = self._sessions.setdefault(call.session, deque(maxlen=_MOST_CALLS))
        calls.append(call)
        self._sessions.move_to_end(call.session)
        self._threads[call.session] = max(self._threads.get(call.session, 0), call.thread + 1)
        while len(self._sessions) > _MOST_SESSIONS:
            gone, _ = self._sessions.popitem(last=False)
            self._threads.pop(gone, None)

    def place(self, call: ReadCall, digest: PromptDigest) -> CallPlace:
        by, name = self._named(call)
        if not name:
            alike = _closest(call, digest, self._all())
            by, name = "prefix", alike.session if alike else self._new_name(call.copy.time)
        before = _closest(call, digest, self._sessions.get(name, ()))
        if before is None:
            thread = self._threads.get(name, 0)
            last = self._sessions.get(name)
            return CallPlace(name, by, thread, last[-1].thread if last else None)
        if before.digest.shared(digest):
            return CallPlace(name, by, before.thread, before=before)
        return CallPlace(name, by, self._threads[name], before.thread, before)

    def _named(self, call: ReadCall) -> tuple[str, str]:
        for by, told in _names(call):
            if by == "previous_response_id":
                known = next((one for one in self._all() if one.reply_id == told), None)
                return by, known.session if known else told[:_MOST_NAME]
            if told:
                return by, told[:_MOST_NAME]
        return "", ""

    def _all(self) -> Iterator[PastCall]:
        for calls in self._sessions.values():
            yield from calls

    def _new_name(self, time: datetime) -> str:
        name = time.strftime("%Y%m%d-%H%M%S")
        taken = (f"{name}-{number}" for number in range(1, _MOST_SESSIONS + 2))
        return next(one for one in (name, *taken) if one not in self._sessions)


def _closest(
    call: ReadCall, digest: PromptDigest, calls: Iterator[PastCall] | deque[PastCall] | tuple[()]
) -> PastCall | None:
    """The one whose prompt begins most alike, the newest of several; of the same model, since no
    cache is shared between two.
    """
    best, score = None, (0, False)
    for one in calls:
        if (one.wire, one.model) != (call.wire, call.model):
            continue
        same = bool(digest.system or digest.tools) and (
            (one.digest.system, one.digest.tools) == (digest.system, digest.tools)
        )
        found = (one.digest.shared(digest), same)
        if any(found) and found >= score:
            best, score = one, found
    return best


def _names(call: ReadCall) -> Iterator[tuple[str, str]]:
    payload, metadata = call.payload, call.payload.get("metadata")
    if isinstance(key := payload.get("prompt_cache_key"), str) and key:
        yield "prompt_cache_key", key
    yield "metadata", _of_metadata(json_object(metadata))
    talk = payload.get("conversation")
    inner = json_object(talk).get("id", talk)
    if isinstance(inner, str) and inner:
        yield "conversation", inner
    if isinstance(before := payload.get("previous_response_id"), str) and before:
        yield "previous_response_id", before
    for name in _HEADERS:
        if told := call.headers.get(name):
            yield f"header {name}", told


def _of_metadata(metadata: JsonObject) -> str:
    """A session, never a user: one user has many of them."""
    for name in _METADATA:
        if isinstance(told := metadata.get(name), str) and told:
            return told
    user = metadata.get("user_id")
    if not isinstance(user, str):
        return ""
    try:
        inner: object = json.loads(user)
    except ValueError:
        inner = None
    if isinstance(told := json_object(inner).get("session_id"), str):
        return told
    found = _SESSION.search(user)
    return found[1] if found else ""
