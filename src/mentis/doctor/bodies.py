"""Logs that hold the prompts themselves: which call came before, and the first byte that differs.

Sessions and comparisons are those of the recorder. Of prompts, the newest of each thread is kept
for the next call, up to a sum; where one had to go, only counts speak.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import orjson

from mentis.facts.ability import Wire
from mentis.net.redact import redact_forms
from mentis.record.foreign_calls import LossReason
from mentis.recorder.cache_loss import CacheComparison, compare_calls
from mentis.recorder.call_copy import BodyCopy, CallCopy
from mentis.recorder.prompts import (
    TALK,
    PromptDigest,
    bare_value,
    digest_prompt,
    items_at,
    prompt_of,
    short_digest,
)
from mentis.recorder.reading import ReadBody, ReadCall
from mentis.recorder.sessions import CallPlace, PastCall, SessionBook
from mentis.recorder.targets import CallTarget
from mentis.render.compare import context_of, find
from mentis.values.reply import Reply

from .breaks import LogBreak
from .calls import BreakCause, LogBody, LoggedCall
from .prices import log_route

MOST_KEPT = 16 * 1024 * 1024  # bytes of prompts
_MOST_COMPARED = 300  # times that two prompts are laid side by side byte by byte
_MARKS = (b'"cache_control"', b'"prompt_cache_breakpoint"')
_MOST_FIRST, _MOST_PARTS = 4096, 16
_HEADERS = ("anthropic-beta", "openai-beta", "anthropic-version")
# What is another one each time, and says nothing: ids and hashes.
_NONCE = re.compile(
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
    r"|\b(?=[0-9a-zA-Z_-]*\d)[0-9a-zA-Z_-]{12,}\b|\b[0-9a-fA-F]{8,}\b"
)
_CAUSES: Mapping[LossReason, BreakCause] = {
    "changed": "changed",
    "reordered": "reordered",
    "rewritten": "rewritten",
    "unmarked": "unmarked",
    "ended": "idle",
    "unknown": "unknown",
}
_REPAIRS: Mapping[str, BreakCause] = {
    "clock": "clock",
    "nonce": "nonce",
    "tool-order": "reordered",
    "key-order": "reordered",
}


@dataclass(frozen=True, slots=True)
class PlacedBody:
    """The session and the thread of a call by its prompt, and what it lost. `compared`: there is a
    call before it, so that the counts alone have nothing to add.
    """

    session: str
    thread: str
    broke: LogBreak | None = None
    compared: bool = False


@dataclass(slots=True)
class _PartDigests:
    """Digests of the parts of a prompt in their order, beside those of an earlier one."""

    before: list[tuple[object, str]]
    made: list[tuple[object, str]] = field(default_factory=list[tuple[object, str]])

    def __call__(self, part: object) -> str:
        place = len(self.made)
        if place < len(self.before) and self.before[place][0] == part:
            found = self.before[place][1]
        else:
            found = _digest(part)
        self.made.append((part, found))
        return found


@dataclass(slots=True)
class BodyBook:
    """The prompts of late."""

    _sessions: SessionBook = field(default_factory=SessionBook)
    _bodies: OrderedDict[int, LogBody] = field(default_factory=OrderedDict[int, LogBody])
    _threads: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    _first: OrderedDict[tuple[Wire, str], str] = field(
        default_factory=OrderedDict[tuple[Wire, str], str]
    )
    _parts: OrderedDict[str, list[tuple[object, str]]] = field(
        default_factory=OrderedDict[str, "list[tuple[object, str]]"]
    )
    _size: int = 0
    _number: int = 0
    _compared: int = 0

    def place(self, call: LoggedCall, body: LogBody) -> PlacedBody:
        mark = self._mark(body)
        read = _read_call(call, body)
        at = self._sessions.place(read, mark)
        session = self._same_session(at, body.wire, mark)
        broke, before = None, at.before
        if before is not None and call.usage.input:
            broke = self._compare(call, read, mark, before)
        self._keep(call, body, at, mark)
        return PlacedBody(session, str(at.thread or ""), broke, before is not None)

    def _mark(self, body: LogBody) -> PromptDigest:
        """A prompt mostly begins as the one before it: what is the same is not digested again."""
        talk = items_at(body.payload, TALK[body.wire])
        begins = _digest(talk[0]) if talk else ""
        parts = _PartDigests(self._parts.pop(begins, []))
        mark = digest_prompt(body.payload, body.wire, parts)
        self._parts[begins] = parts.made
        if len(self._parts) > _MOST_PARTS:
            self._parts.popitem(last=False)
        return mark

    def _same_session(self, at: CallPlace, wire: Wire, mark: PromptDigest) -> str:
        """One that goes on with another model begins with the same words."""
        if at.by != "prefix" or not mark.messages:
            return at.session
        key = wire, mark.messages[0]
        known = self._first.setdefault(key, at.session)
        self._first.move_to_end(key)
        if len(self._first) > _MOST_FIRST:
            self._first.popitem(last=False)
        return known

    def _keep(self, call: LoggedCall, body: LogBody, at: CallPlace, mark: PromptDigest) -> None:
        self._number += 1
        self._sessions.add(
            PastCall(
                self._number,
                at.session,
                at.thread,
                body.wire,
                call.model,
                mark,
                _moment(call.time),
                input=call.usage.input,
                reply_id=call.reply_id,
                agent=at.agent,
            )
        )
        thread = at.session, at.thread
        self._drop(self._threads.pop(thread, 0))
        self._threads[thread] = self._number
        self._bodies[self._number] = body
        self._size += body.size
        while self._size > MOST_KEPT and len(self._bodies) > 1:
            self._drop(next(iter(self._bodies)))
        while len(self._threads) > _MOST_FIRST:
            self._drop(self._threads.pop(next(iter(self._threads))))

    def _drop(self, number: int) -> None:
        body = self._bodies.pop(number, None)
        self._size -= body.size if body else 0

    def _compare(
        self, call: LoggedCall, read: ReadCall, mark: PromptDigest, past: PastCall
    ) -> LogBreak | None:
        goes_on = mark.goes_on(past.digest)
        before = None if goes_on else self._bodies.get(past.entry)
        closely = before is not None and self._compared < _MOST_COMPARED
        self._compared += closely
        route = log_route(call.backend, call.model)
        payload = before.payload if before is not None and closely else None
        made = compare_calls(read, past, mark, route, before=payload)
        if not made.lost or made.reason is None:
            return None
        told = _told(call, made)
        if goes_on:
            return _headed(told, before or self._bodies.get(past.entry), read)
        if before is None or not closely:
            return _part_that_differs(told, past.digest, mark)
        return _seen(told, made, before, read)


def _told(call: LoggedCall, made: CacheComparison) -> LogBreak:
    reason = made.reason or "unknown"
    return LogBreak(
        _REPAIRS.get(made.repair) or _CAUSES[reason],
        made.lost,
        "usage",
        call.place,
        call.session,
        call.model,
        call.time,
        idle=made.idle,
        kept=call.usage.cache_read,
        where=made.place,
        repair=made.repair,
    )


def _headed(told: LogBreak, before: LogBody | None, read: ReadCall) -> LogBreak:
    """The prompt goes on where the one before ended: if anything changed, it is beside it."""
    if before is None or before.transcript:
        return told
    told = replace(told, evidence="bytes")
    for name in _HEADERS:
        if told.cause == "unknown" and before.headers.get(name) != read.headers.get(name):
            return replace(told, cause="headers", where=f"header {name}")
    return told


def _part_that_differs(told: LogBreak, old: PromptDigest, new: PromptDigest) -> LogBreak:
    """By digests alone."""
    if told.cause in ("unmarked", "idle"):
        return told
    if old.tools != new.tools:
        return replace(told, cause="tools", where="the tools")
    if old.system != new.system:
        return replace(told, cause="changed", where="the system text")
    shared = old.shared(new)
    cut = len(new.messages) < len(old.messages) or told.cause == "rewritten"
    return replace(told, cause="rewritten" if cut else "changed", where=f"message {shared}")


def _seen(told: LogBreak, made: CacheComparison, before: LogBody, read: ReadCall) -> LogBreak:
    """With the byte and what stands around it, where the bytes of the wire are in the log."""
    apart = made.divergence
    if apart is None:
        return told
    old, new = (find(one.payload, _item(apart.pointer)) for one in (before, read))
    cause = told.cause
    if cause == "changed":
        cause = "nonce" if _is_nonce(old, new) else cause
        if cause == "changed" and before.payload.get("tools") != read.payload.get("tools"):
            at_tool = apart.pointer.startswith("/tools")
            cause, told = "tools", told if at_tool else replace(told, where="the tools")
    whole = max(1, len(orjson_bytes(read.payload)))
    changed = round(told.tokens and len(orjson_bytes(new)) / whole * (read_input(read) or 0))
    found = replace(told, cause=cause, pointer=apart.pointer, changed=min(changed, told.tokens))
    if before.transcript:
        return found  # somebody told of the texts: no byte of theirs was sent
    contexts = [
        redact_forms(context_of(prompt_of(one, before.wire), apart.byte).encode(), ()).decode()
        for one in (before.payload, read.payload)
    ]
    return replace(found, evidence="bytes", byte=apart.byte, before=contexts[0], after=contexts[1])


def read_input(read: ReadCall) -> int:
    usage = read.reply.usage if read.reply else None
    return usage.input if usage else 0


def _item(pointer: str) -> str:
    """Of a pointer into a tool, a system block or a message, the pointer of that."""
    return "/".join(pointer.split("/")[:3])


def _is_nonce(old: object, new: object) -> bool:
    before, after = (orjson_bytes(one).decode("utf-8", "replace") for one in (old, new))
    return before != after and _NONCE.sub("#", before) == _NONCE.sub("#", after)


def _read_call(call: LoggedCall, body: LogBody) -> ReadCall:
    target = CallTarget("log", body.origin)
    copies = BodyCopy(0), BodyCopy(0)
    copy = CallCopy(target, "POST", "", (), _moment(call.time), 0.0, *copies, status=200)
    return ReadCall(
        copy,
        "",
        ReadBody(body.size),
        ReadBody(0),
        body.headers,
        {},
        wire=body.wire,
        payload=body.payload,
        model=call.model,
        reply=Reply("", "end", usage=call.usage),
        reply_id=call.reply_id,
        tells_cache=call.tells_cache,
    )


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def orjson_bytes(value: object) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # half a character, or a number that is too large for it
        return repr(value).encode("utf-8", "replace")


def _digest(value: object) -> str:
    """As the recorder's, and faster: these are never kept."""
    if not value:
        return ""
    try:
        written = orjson.dumps(value)
        if any(mark in written for mark in _MARKS):
            written = orjson.dumps(bare_value(value))
    except TypeError:
        return short_digest(value)
    return f"{hash(written):x}"
