"""Which conversation a call belongs to, and which call came before it there.

By what the program says itself: `prompt_cache_key`, `metadata`, `previous_response_id`, a header;
else by how the prompt begins. Inside a session a prompt that begins with other messages is a
thread of its own (a sub-agent, a title). Who asked for a thread is in `lineage`.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from mentis.facts.ability import Wire
from mentis.record.foreign_calls import CallOrigin
from mentis.values.action import Action
from mentis.values.json import JsonObject, json_object

from .lineage import Handoffs, SpawnBook, parent_named, thread_named
from .prompts import PromptDigest, opening_texts
from .reading import ReadCall

_HEADERS = (
    "session_id",
    "session-id",
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
    """One that is recorded: `entry` is its index, `body` the blob of its request. `agent` is the
    program's own name of the thread, where it has one. `side`: it is beside a conversation.
    """

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
    agent: str = ""
    parent: int | None = None
    side: bool = False


@dataclass(frozen=True, slots=True)
class CallPlace:
    """`by` says what the session was told by. `parent` is the thread, of the same session, that
    this one is below; `origin` the call that asked for it, where that is known.
    """

    session: str
    by: str
    thread: int = 0
    parent: int | None = None
    before: PastCall | None = None
    agent: str = ""
    origin: CallOrigin | None = None


# What calls that may begin alike have in common: whom they asked, and the first message, or the
# tools and the system text.
_Beginning: TypeAlias = tuple[Wire | None, str, str | tuple[str, str]]


@dataclass(slots=True)
class SessionBook:
    """The calls of late, by session. The oldest sessions are forgotten first. `_begins` says which
    sessions have a call that begins so: nobody looks through all calls for it.
    """

    _sessions: OrderedDict[str, deque[PastCall]] = field(
        default_factory=OrderedDict[str, "deque[PastCall]"]
    )
    _threads: dict[str, int] = field(default_factory=dict[str, int])
    _mains: dict[str, int] = field(default_factory=dict[str, int])
    _spawns: SpawnBook = field(default_factory=SpawnBook)
    _handoffs: Handoffs = field(default_factory=Handoffs)
    _begun: OrderedDict[tuple[str, PromptDigest], str] = field(
        default_factory=OrderedDict[tuple[str, PromptDigest], str]
    )
    _begins: dict[_Beginning | None, set[str]] = field(
        default_factory=dict[_Beginning | None, set[str]]
    )

    def copy(self) -> SessionBook:
        """One that learns by itself, for what may come to nothing."""
        return SessionBook(
            OrderedDict((name, calls.copy()) for name, calls in self._sessions.items()),
            self._threads.copy(),
            self._mains.copy(),
            self._spawns.copy(),
            self._handoffs.copy(),
            self._begun.copy(),
            {begins: some.copy() for begins, some in self._begins.items()},
        )

    def add(self, call: PastCall, actions: Iterable[Action] = ()) -> None:
        """`actions` are the tools that its answer asked for."""
        calls = self._sessions.setdefault(call.session, deque(maxlen=_MOST_CALLS))
        calls.append(call)
        self._sessions.move_to_end(call.session)
        for key_of in (_first_message, _system):
            if begins := key_of(call.wire, call.model, call.digest):
                self._begins.setdefault(begins, set()).add(call.session)
        self._threads[call.session] = max(self._threads.get(call.session, 0), call.thread + 1)
        if not call.side:
            self._mains.setdefault(call.session, call.thread)
        for action in actions:
            self._spawns.add(call.session, call.thread, call.entry, action)
            self._handoffs.add(call.entry, action)
        while len(self._sessions) > _MOST_SESSIONS:
            gone, _ = self._sessions.popitem(last=False)
            self._threads.pop(gone, None)
            self._mains.pop(gone, None)
            for sessions in self._begins.values():
                sessions.discard(gone)
            self._begins = {begins: some for begins, some in self._begins.items() if some}

    def place(self, call: ReadCall, digest: PromptDigest) -> CallPlace:
        by, name = self._named(call)
        if not name:
            # By a message at least: many conversations begin with the same system and tools.
            alike = self._alike(call, digest)
            known = alike is not None and alike.digest.shared(digest) > 0
            by, name = "prefix", alike.session if alike and known else self._begin(call, digest)
            if alike is not None and not known:
                return self._branched(call, CallPlace(name, by, before=alike))
        before = _closest(call, digest, self._sessions.get(name, ()))
        agent = thread_named(call.headers)
        at = CallPlace(name, by, self._threads.get(name, 0), before=before, agent=agent)
        if agent:
            return self._by_agent(call, at)
        follows = self._followed(call, at, digest)
        if follows is None:
            return self._branched(call, at)
        if tool := self._handoffs.tool_of(follows.entry):
            return self._handed_over(at, follows, digest, tool)
        return CallPlace(name, by, follows.thread, before=before, agent=follows.agent)

    def _alike(self, call: ReadCall, digest: PromptDigest) -> PastCall | None:
        """The closest of all calls: one that shares a message, or else the newest that has the same
        system and tools.
        """
        sharing = self._begins.get(_first_message(call.wire, call.model, digest), frozenset[str]())
        calls = (one for name in self._sessions if name in sharing for one in self._sessions[name])
        found = _closest(call, digest, calls)
        if found is not None and found.digest.shared(digest):
            return found
        key = _system(call.wire, call.model, digest)
        there = self._begins.get(key, frozenset[str]())
        names = (name for name in reversed(self._sessions) if name in there)
        newest = (one for name in names for one in reversed(self._sessions[name]))
        return next(
            (one for one in newest if _system(one.wire, one.model, one.digest) == key), None
        )

    def _followed(self, call: ReadCall, at: CallPlace, digest: PromptDigest) -> PastCall | None:
        """The call of its session whose thread it goes on with."""
        told = call.payload.get("previous_response_id")
        after = self._answered(told) if isinstance(told, str) else None
        if after is not None and after.session == at.session:
            return after  # such a call tells only what is new
        return at.before if at.before and at.before.digest.shared(digest) else None

    def _by_agent(self, call: ReadCall, at: CallPlace) -> CallPlace:
        """A thread that the program names itself."""
        own = [one for one in self._sessions.get(at.session, ()) if one.agent == at.agent]
        if not own:
            return self._branched(call, at)
        return CallPlace(at.session, at.by, own[-1].thread, before=at.before, agent=at.agent)

    def _branched(self, call: ReadCall, at: CallPlace) -> CallPlace:
        """A thread that begins: below the one that asked for it; where nobody can say which that
        is, below the first conversation of its session, or below none.
        """
        origin = self._origin(call, at.session)
        parent = self._mains.get(at.session)
        if origin is not None:
            parent = origin.thread if origin.session == at.session else None
        return CallPlace(at.session, at.by, at.thread, parent, at.before, at.agent, origin)

    def _origin(self, call: ReadCall, session: str) -> CallOrigin | None:
        wire = call.wire
        told = parent_named(call.headers, _with_user(json_object(call.payload.get("metadata"))))
        opening = () if wire is None else opening_texts(call.payload, wire)
        found = self._spawns.origin_of(opening)
        if told is None:
            return found
        by, name = told
        inside = [one for one in self._sessions.get(session, ()) if one.agent == name]
        if inside:
            thread, above = inside[-1].thread, session
        elif name in self._mains:
            thread, above = self._mains[name], name
        else:
            return found  # of whom nothing was recorded
        if found is not None and (found.session, found.thread) == (above, thread):
            return found
        return CallOrigin("spawn", by, above, thread)

    def _handed_over(
        self, at: CallPlace, giver: PastCall, digest: PromptDigest, tool: str
    ) -> CallPlace:
        """The same conversation under another system text is the one it was handed to: beside the
        thread it came from, and the same again when it is handed back.
        """
        ours = (digest.system, digest.tools)
        if ours == (giver.digest.system, giver.digest.tools):
            return CallPlace(at.session, at.by, giver.thread, before=at.before, agent=giver.agent)
        origin = CallOrigin("handoff", "tool", giver.session, giver.thread, giver.entry, tool)
        calls = self._sessions.get(at.session, ())
        known = [one for one in calls if (one.digest.system, one.digest.tools) == ours]
        known = [one for one in known if one.parent == giver.parent]
        thread = known[-1].thread if known else at.thread
        return CallPlace(at.session, at.by, thread, giver.parent, at.before, origin=origin)

    def _named(self, call: ReadCall) -> tuple[str, str]:
        source = call.copy.source
        own = (source.named,) if source else ()
        for by, told in (*own, *session_names(call.payload, call.headers)):
            if by == "previous_response_id":
                known = self._answered(told)
                return by, known.session if known else told[:_MOST_NAME]
            if told:
                return by, told[:_MOST_NAME]
        return "", ""

    def _answered(self, reply: str) -> PastCall | None:
        return next((one for one in self._all() if one.reply_id == reply), None)

    def _all(self) -> Iterator[PastCall]:
        for calls in self._sessions.values():
            yield from calls

    def _begin(self, call: ReadCall, digest: PromptDigest) -> str:
        """The name of a new session: the same once more for a question that was not answered, and
        is asked again.
        """
        key = call.model, digest
        name = (self._begun.get(key) if digest.messages else None) or self._new_name(call)
        self._begun[key] = name
        self._begun.move_to_end(key)
        if len(self._begun) > _MOST_SESSIONS:
            self._begun.popitem(last=False)
        return name

    def _new_name(self, call: ReadCall) -> str:
        name = call.copy.time.strftime("%Y%m%d-%H%M%S")
        taken = {*self._sessions, *self._begun.values()}
        more = (f"{name}-{number}" for number in range(1, len(taken) + 1))
        return next(one for one in (name, *more) if one not in taken)


def _first_message(wire: Wire | None, model: str, digest: PromptDigest) -> _Beginning | None:
    return (wire, model, digest.messages[0]) if digest.messages else None


def _system(wire: Wire | None, model: str, digest: PromptDigest) -> _Beginning | None:
    said = digest.tools or digest.system
    return (wire, model, (digest.tools, digest.system)) if said else None


def _closest(call: ReadCall, digest: PromptDigest, calls: Iterable[PastCall]) -> PastCall | None:
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


def session_names(payload: JsonObject, headers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What a program itself calls the session of a call, and where it says so."""
    if isinstance(key := payload.get("prompt_cache_key"), str) and key:
        yield "prompt_cache_key", key
    yield "metadata", _of_metadata(json_object(payload.get("metadata")))
    talk = payload.get("conversation")
    inner = json_object(talk).get("id", talk)
    if isinstance(inner, str) and inner:
        yield "conversation", inner
    if isinstance(before := payload.get("previous_response_id"), str) and before:
        yield "previous_response_id", before
    for name in _HEADERS:
        if told := headers.get(name):
            yield f"header {name}", told


def _of_metadata(metadata: JsonObject) -> str:
    """A session, never a user: one user has many of them."""
    told = _with_user(metadata)
    for name in _METADATA:
        if isinstance(found := told.get(name), str) and found:
            return found
    session = _SESSION.search(str(metadata.get("user_id", "")))
    return session[1] if session else ""


def _with_user(metadata: JsonObject) -> JsonObject:
    """Claude Code writes an object into the text of `user_id`."""
    user = metadata.get("user_id")
    try:
        inner: object = json.loads(user) if isinstance(user, str) else None
    except ValueError:
        inner = None
    return {**json_object(inner), **metadata}
