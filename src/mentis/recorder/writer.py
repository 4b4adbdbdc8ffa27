"""Makes entries of calls: reads a copy, finds its place, compares, prices, keeps and appends it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import cast, get_args

from mentis.ask.prices import call_price
from mentis.codec.forms import to_object
from mentis.errors import MentisError, StoreConflict
from mentis.facts.abilities import abilities, is_known_model
from mentis.facts.ability import Wire
from mentis.facts.presets import PRESETS
from mentis.net.redact import redact_bytes
from mentis.net.targets import origin_of
from mentis.ports.blob_store import BlobStore
from mentis.ports.entries import Stamp
from mentis.ports.screener import Screener
from mentis.record.agent_record import AgentRecord
from mentis.record.call_bodies import CALL, KnownBlocks, keep_body, read_body
from mentis.record.foreign_calls import GAP
from mentis.values.digest import digest
from mentis.values.entry import Before, Draft, Entry
from mentis.values.json import JsonObject, json_object
from mentis.values.reply import Usage
from mentis.values.route import Backend, Route

from .cache_loss import CacheComparison, cache_fields, compare_calls
from .call_copy import CallCopy
from .prompts import PromptDigest, digest_prompt, short_digest
from .reading import KnownBodies, ReadBody, ReadCall, read_call
from .sessions import CallPlace, PastCall, SessionBook
from .span_calls import AgentThreads, source_fields
from .tool_notes import screen_results
from .wires import BACKENDS

SOURCE = "recorder"
# Where the providers themselves are, by what is spoken to them.
_ORIGINS: Mapping[Backend, frozenset[str]] = {
    backend: frozenset(
        origin_of(one.url) for one in PRESETS.values() if one.url and one.backend == backend
    )
    for backend in get_args(Backend)
}
_LOOK_BACK = 300  # entries that tell which sessions there were


@dataclass(frozen=True, slots=True)
class _PlacedCall:
    """A call that was read, where it belongs, and what only a question to a model has."""

    call: ReadCall
    at: CallPlace
    mark: PromptDigest | None = None
    question: JsonObject = field(default_factory=dict[str, object])


@dataclass(slots=True)
class CallWriter:
    """One recorded agent. Its methods block, and are called by one thread. `screener` is opened
    when there is something to look at. `secrets` never reach the disk. `run` names this recording.
    """

    record: AgentRecord
    blobs: BlobStore
    screener: Callable[[], Screener]
    secrets: tuple[str, ...] = ()
    on_entry: Callable[[Entry], None] | None = None
    run: str = ""
    _book: SessionBook = field(default_factory=SessionBook)
    _agents: AgentThreads = field(default_factory=AgentThreads)
    _bodies: KnownBodies = field(default_factory=KnownBodies)
    _screener: Screener | None = None
    _begun: bool = False

    def write(self, copy: CallCopy) -> Entry:
        self._begin()
        placed = self._placed(copy)
        # Nobody who erases a call takes a body in between that this one has, too.
        with self.blobs.held():
            draft = self._draft(placed)
            entry = self._append([draft], self.record.stamp())[0]
        self._learn(placed, draft, entry.index)
        return entry

    def write_together(self, copies: Sequence[CallCopy]) -> bool:
        """Several calls in one transaction. False where it did not come to that: then none of them
        is in the record, and which one was the reason turns out when each is written alone. What it
        raises went wrong afterwards: they are there.
        """
        known = self._book.copy(), self._agents.copy()
        stamped = dict[int, Entry]()
        try:
            self._begin()
            with self.blobs.held():
                head = self.record.ledger.head(self.record.agent)
                first = head.index + 1 if head else 0
                drafts = list[Draft]()
                for number, copy in enumerate(copies, first):
                    placed = self._placed(copy)
                    drafts.append(self._draft(placed))
                    self._learn(placed, drafts[-1], number)  # the next may go on with it
                self._append(drafts, self._numbered(drafts, first, stamped))
        except Exception:
            if self._stands(stamped.get(len(copies) - 1)):
                raise
            self._book, self._agents = known
            return False
        return True

    def _stands(self, entry: Entry | None) -> bool:
        if entry is None:
            return False
        try:
            found = self.record.ledger.find(self.record.agent, entry.index)
        except MentisError:
            return False
        return found is not None and found.hash == entry.hash

    def _numbered(self, drafts: Sequence[Draft], first: int, stamped: dict[int, Entry]) -> Stamp:
        """They name each other by their numbers: where somebody else took those, nothing stands."""
        own = self.record.stamp()
        places = {id(draft): place for place, draft in enumerate(drafts)}

        def stamp(agent: str, head: Before | None, draft: Draft) -> Entry:
            entry, place = own(agent, head, draft), places.get(id(draft))
            if place is not None:
                if entry.index != first + place:
                    raise StoreConflict("another recorder wrote just now", hint="try again")
                stamped[place] = entry
            return entry

        return stamp

    def write_gap(self, calls: int, reasons: Mapping[str, int], since: datetime) -> Entry:
        told = {"calls": calls, "reasons": dict(reasons), "since": _time(since)}
        return self._append([Draft(GAP, SOURCE, {"gap": told})], self.record.stamp())[0]

    def _begin(self) -> None:
        """Earlier calls say which sessions there are; what was erased of them teaches nothing."""
        if self._begun:
            return
        for entry in self.record.latest(_LOOK_BACK, kind=CALL):
            if (past := _read_past(entry)) is not None:
                self._book.add(past)
            self._agents.learn(entry)
        self._begun = True

    def _placed(self, copy: CallCopy) -> _PlacedCall:
        call = read_call(copy, self.secrets, self._bodies)
        if call.wire is None:
            by, session = copy.source.named if copy.source else ("", "")
            return _PlacedCall(call, CallPlace(session, by))
        mark = _mark(call, call.wire)
        at = self._book.place(call, mark)
        if copy.source is not None:
            at = self._agents.place(at, copy.source)
        return _PlacedCall(call, at, mark, self._question(call, at, mark))

    def _draft(self, placed: _PlacedCall) -> Draft:
        return Draft(CALL, SOURCE, _plain(self._body(placed)))

    def _learn(self, placed: _PlacedCall, draft: Draft, number: int) -> None:
        call, mark = placed.call, placed.mark
        past = _past(call, placed.at, mark, draft=draft, number=number) if mark else None
        if past is not None:
            self._book.add(past, call.reply.actions if call.reply else ())

    def _append(self, drafts: Sequence[Draft], stamp: Stamp) -> tuple[Entry, ...]:
        entries = self.record.ledger.append(
            self.record.agent, drafts, stamp, lease=self.record.lease
        )
        if self.on_entry is not None:
            for entry in entries:
                self.on_entry(entry)
        return entries

    def _question(self, call: ReadCall, at: CallPlace, mark: PromptDigest) -> JsonObject:
        """What only a question to a model has: whom it asked, what it used, what the cache did."""
        route = _route(call)
        usage = call.reply.usage if call.reply else None
        told: dict[str, object] = {
            "route": {"name": route.name, "backend": route.backend, "model": route.model}
        }
        if usage is not None:
            price = call_price(_with_writes(route, usage, call.long_writes), usage)
            paid = {} if price.usd is None else {"usd": format(Decimal(str(price.usd)), "f")}
            told |= {"usage": to_object(usage), "price": {**paid, "told": price.told}}
        compared = self._compared(call, at, mark, route)
        if fields := cache_fields(compared, at, usage):
            told["cache"] = _without_bytes(fields) if call.copy.source else fields
        since = mark.head + at.before.digest.shared(mark) if at.before else 0
        if notes := self._notes(call, since):
            told["results"] = notes
        return told

    def _compared(
        self, call: ReadCall, at: CallPlace, mark: PromptDigest, route: Route
    ) -> CacheComparison:
        past = at.before
        if past is None:
            return CacheComparison(None)
        if mark.goes_on(past.digest):
            return compare_calls(call, past, mark, route, before=None)
        before = self._payload(past)
        if before is None:
            return CacheComparison(None)  # it was erased: nobody can say what is different
        return compare_calls(call, past, mark, route, before=before)

    def _payload(self, past: PastCall) -> JsonObject | None:
        content = read_body(self.blobs, past.body) if past.body else None
        try:
            found: object = json.loads(content) if content else None
        except ValueError:
            return None
        return json_object(found) or None

    def _notes(self, call: ReadCall, since: int) -> list[JsonObject]:
        if call.wire is None:
            return []
        self._screener = self._screener or self.screener()
        return screen_results(self._screener, call.payload, call.wire, since=since)

    def _body(self, placed: _PlacedCall) -> JsonObject:
        call, at, mark = placed.call, placed.at, placed.mark
        keep = partial(_kept, self.blobs, call.known)
        request = keep(call.request, call.headers)
        answer = keep(call.answer, call.answer_headers)
        if mark is not None:
            request["prefix"] = to_object(mark)
        if call.reply_id:
            answer["id"] = call.reply_id
        repaired: dict[str, object] = {}
        if call.original is not None:
            repaired = {"original": keep(call.original, {}), "repairs": list(_repairs(call))}
        head = _head(call, at)
        if (source := call.copy.source) is not None:
            head = json_object(_redacted({**head, **source_fields(source)}, self.secrets))
        return {
            "call": {**head, **({"run": self.run} if self.run else {})},
            "request": request,
            "answer": answer,
            **placed.question,
            **repaired,
        }


def _mark(call: ReadCall, wire: Wire) -> PromptDigest:
    """By what the program said a message is known again, whatever was told at the end of it."""
    short = partial(call.known.remember, "short", make=short_digest)
    mark = digest_prompt(call.payload, wire, short)
    return replace(mark, messages=digest_prompt(call.said, wire).messages) if call.said else mark


def _repairs(call: ReadCall) -> Iterator[JsonObject]:
    """Each with digests of what stood there and what stands there now, both without secrets."""
    said, sent = (
        {block.pointer: block.text for block in body.blocks or ()} if body else {}
        for body in (call.original, call.request)
    )
    for one in call.copy.repairs:
        texts = (_below(said, one.pointer), _below(sent, one.pointer))
        before, after = (digest(text.encode()) for text in texts)
        yield {"rule": one.rule, "pointer": one.pointer, "before": before, "after": after}


def _below(texts: Mapping[str, str], pointer: str) -> str:
    """What stands at a pointer, or everything in the list that it leads to; else what it is in."""
    found = texts.get(pointer)
    inner = [text for place, text in texts.items() if place.startswith(f"{pointer}/")]
    if found is None and not inner and pointer:
        return _below(texts, pointer.rpartition("/")[0])
    return found if found is not None else "\n".join(inner)


def _without_bytes(cache: JsonObject) -> JsonObject:
    """No byte of the wire was seen, so none is named."""
    return {name: told for name, told in cache.items() if name not in ("byte", "pointer")}


def _redacted(value: object, secrets: tuple[str, ...]) -> object:
    """Text by text: a secret of digits may stand in a number as well, which says nothing of it."""
    if isinstance(value, str):
        return redact_bytes(value.encode("utf-8", "replace"), secrets).decode()
    if isinstance(value, Mapping):
        return {n: _redacted(one, secrets) for n, one in cast("JsonObject", value).items()}
    if isinstance(value, list):
        return [_redacted(one, secrets) for one in cast("list[object]", value)]
    return value


def _head(call: ReadCall, at: CallPlace) -> dict[str, object]:
    copy = call.copy
    told: dict[str, object] = {
        "session": at.session,
        "by": at.by,
        "thread": at.thread,
        "target": copy.target.name,
        "method": copy.method,
        "path": call.path,
        "wire": call.wire or "",
        "status": copy.status,
        "end": copy.end,
        "began": _time(copy.time),
        "milliseconds": _milliseconds(copy.ended - copy.began),
    }
    if call.side:
        told["what"] = call.side
    if at.agent:
        told["agent"] = at.agent
    if copy.over != "http":
        told["over"] = copy.over
    if at.parent is not None:
        told["parent"] = at.parent
    if at.origin is not None:
        told["origin"] = to_object(at.origin)
    if copy.first_byte is not None:
        told["first_byte_milliseconds"] = _milliseconds(copy.first_byte - copy.began)
    if call.reason:
        told["reason"] = call.reason
    if call.reply is not None:
        told |= {"stop": call.reply.stop, "tools": [one.type for one in call.reply.actions]}
    return told


def _kept(
    blobs: BlobStore, known: KnownBlocks, body: ReadBody, headers: Mapping[str, str]
) -> dict[str, object]:
    told: dict[str, object] = {"bytes": body.length, "headers": dict(headers)}
    if body.redacted:
        told["redacted"] = True
    if body.left_out:
        told["left_out"] = body.left_out
    elif body.content:
        told["body"] = keep_body(blobs, body.content, body.blocks, known)
        told["digest"] = digest(body.content)
    return told


def _route(call: ReadCall) -> Route:
    target, wire = call.copy.target, cast("Wire", call.wire)
    source = call.copy.source
    backend = source.backend if source else BACKENDS[wire]
    route = Route(target.name, backend, call.model or "?", url=target.origin, facts=target.facts)
    # Elsewhere than at the provider, a name that is not in the table may be anybody's.
    own = source is not None or "priced_as" in target.facts or is_known_model(route)
    if not own and abilities(route).priced_as and target.origin not in _ORIGINS[backend]:
        return replace(route, facts={**target.facts, "priced_as": ""})
    return route


def _with_writes(route: Route, usage: Usage, long_writes: int) -> Route:
    """Where the provider says how much of it is kept for an hour, that much costs more."""
    able = abilities(route)
    if not usage.cache_write or "1h" not in able.cache_ttls:
        return route
    share = min(long_writes, usage.cache_write) / usage.cache_write
    more = able.cache_long_write_price - able.cache_write_price
    facts = {**route.facts, "cache_long_write_price": able.cache_write_price + share * more}
    return replace(route, facts=facts)


def _past(
    call: ReadCall, at: CallPlace, mark: PromptDigest, *, draft: Draft, number: int
) -> PastCall | None:
    """Only what was answered can be in a cache."""
    if call.wire is None or call.reply is None:
        return None
    usage = call.reply.usage
    request = json_object(draft.body["request"])
    return PastCall(
        number,
        at.session,
        at.thread,
        call.wire,
        call.model,
        mark,
        call.copy.time,
        body=str(request.get("body", "")),
        input=usage.input if usage else 0,
        reply_id=call.reply_id,
        agent=at.agent,
        parent=at.parent,
        side=bool(call.side),
    )


def _read_past(entry: Entry) -> PastCall | None:
    try:
        call, route = json_object(entry.body.get("call")), json_object(entry.body.get("route"))
        request = json_object(entry.body.get("request"))
        usage = json_object(entry.body.get("usage"))
        prefix = json_object(request["prefix"])
        mark = PromptDigest(
            str(prefix["tools"]),
            str(prefix["system"]),
            tuple(cast("list[str]", prefix["messages"])),
            int(cast("int", prefix.get("head", 0))),
        )
        return PastCall(
            entry.index,
            str(call["session"]),
            int(cast("int", call["thread"])),
            cast("Wire", call["wire"]),
            str(route["model"]),
            mark,
            datetime.fromisoformat(str(call["began"])),
            body=str(request["body"]),
            input=int(cast("int", usage["input"])),
            reply_id=str(json_object(entry.body.get("answer")).get("id", "")),
            agent=str(call.get("agent", "")),
            parent=cast("int | None", call.get("parent")),
            side=bool(call.get("what")),
        )
    except (KeyError, TypeError, ValueError):
        return None


def _plain(body: JsonObject) -> JsonObject:
    """Without lone surrogates, which JSON can say and a canonical form cannot."""
    text = json.dumps(body, ensure_ascii=False)
    return json_object(json.loads(text.encode("utf-8", "replace")))


def _milliseconds(seconds: float) -> int:
    return max(0, round(seconds * 1000))


def _time(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds")
