"""Recorded calls of other people's agents, read from their entries (kind `call`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Literal, TypeAlias, cast, get_args

from mentis.values.entry import Entry
from mentis.values.json import JsonObject, json_object
from mentis.values.reply import Usage
from mentis.values.value import Value

from .call_bodies import CALL

GAP = "gap"  # the kind of an entry that says how many calls went by unrecorded
# Why a cache gave less than it could: the prompt changed; its tools stand in another order; older
# messages were replaced; nothing asked for a cache; it was kept too short; nobody can say.
LossReason: TypeAlias = Literal["changed", "reordered", "rewritten", "unmarked", "ended", "unknown"]
OriginKind: TypeAlias = Literal["spawn", "handoff"]
_FIXES: Mapping[LossReason, str] = {
    "changed": "keep {place} the same from call to call: put what changes behind it",
    "reordered": "declare the tools in one order",
    "rewritten": "older messages were replaced: do that seldom, and many at a time",
    "unmarked": "ask for the cache: put cache_control on the last tool, the system text and the"
    " last message",
    "ended": "calls were too far apart: ask for a longer life (ttl 1h), or keep it warm",
    "unknown": "the prompt did not change: the provider let go of it early",
}
# What a call is known by: its bytes, or what somebody told of it in a span.
Evidence: TypeAlias = Literal["wire", "span"]
_COUNTS = ("input", "output", "cache_read", "cache_write", "reasoning")


@dataclass(frozen=True, slots=True)
class CallOrigin(Value):
    """Why a thread began: `entry` is the call that asked for it, with which `tool`; None where
    only its session and thread are known. `by` says how that is known.
    """

    kind: OriginKind
    by: str
    session: str
    thread: int
    entry: int | None = None
    tool: str = ""


@dataclass(frozen=True, slots=True)
class ForeignCall(Value):
    """`route` is the name of the target. `usd` None: `priced` says why. `lost` tokens had to be
    read again, since the call `before` (an entry), for a `reason`, from `place` on (`byte`);
    `repair` is the rule that would have kept them.

    `parent` is the thread above it in its session, `origin` the call that asked for it. `what` is
    the kind of a call beside a conversation (`side_title`). `repairs` are the rules by which it
    was changed on its way. `agent` is the one among several that asked, where that was told. Calls
    of one `run` were recorded by one process.
    """

    entry: int
    time: str
    session: str
    thread: int
    parent: int | None
    route: str
    model: str
    status: int
    end: str
    usage: Usage | None
    usd: Decimal | None = None
    priced: str = ""
    lost: int = 0
    reason: LossReason | None = None
    place: str = ""
    pointer: str = ""
    lost_usd: Decimal | None = None
    before: int | None = None
    milliseconds: int = 0
    tools: tuple[str, ...] = ()
    flagged: tuple[str, ...] = ()
    what: str = ""
    origin: CallOrigin | None = None
    byte: int | None = None
    repair: str = ""
    repairs: tuple[str, ...] = ()
    agent: str = ""
    evidence: Evidence = "wire"
    run: str = ""

    @property
    def fix(self) -> str:
        """The cheapest thing to do about what it lost; "" where it lost nothing."""
        return loss_fix(self.reason, self.place, self.repair) if self.lost and self.reason else ""


def loss_fix(reason: LossReason, place: str, repair: str = "") -> str:
    told = _FIXES[reason].format(place=place)
    return f"{told}; or have it done: mentis record --repair={repair}" if repair else told


def foreign_call(entry: Entry) -> ForeignCall | None:
    """None of an entry that is no call of another agent, or of which that was erased."""
    call = json_object(entry.body.get("call") if entry.kind == CALL else None)
    if not isinstance(call.get("session"), str):
        return None
    body = entry.body
    route, price = json_object(body.get("route")), json_object(body.get("price"))
    cache = json_object(body.get("cache"))
    reason, notes = cache.get("reason"), _objects(body.get("results"))
    return ForeignCall(
        entry.index,
        entry.time,
        str(call["session"]),
        _count(call.get("thread")),
        _number(call.get("parent")),
        str(route.get("name", call.get("target", ""))),
        str(route.get("model", "")),
        _count(call.get("status")),
        str(call.get("end", "")),
        _usage(body.get("usage")),
        _money(price.get("usd")),
        str(price.get("told", "")),
        _count(cache.get("lost")),
        cast("LossReason", reason) if reason in get_args(LossReason) else None,
        str(cache.get("place", "")),
        str(cache.get("pointer", "")),
        _money(cache.get("usd")),
        _number(cache.get("before")),
        _count(call.get("milliseconds")),
        tuple(map(str, cast("list[object]", call.get("tools") or []))),
        tuple(str(n.get("tool", "")) for n in notes if n.get("screening") in _FLAGS),
        str(call.get("what", "")),
        _origin(call.get("origin")),
        _number(cache.get("byte")),
        str(cache.get("repair", "")),
        tuple(str(one.get("rule", "")) for one in _objects(body.get("repairs"))),
        agent=str(call.get("agent", "")),
        evidence="span" if call.get("evidence") == "span" else "wire",
        run=str(call.get("run", "")),
    )


def _origin(found: object) -> CallOrigin | None:
    told = json_object(found)
    kind = told.get("kind")
    if kind not in get_args(OriginKind):
        return None
    return CallOrigin(
        cast("OriginKind", kind),
        str(told.get("by", "")),
        str(told.get("session", "")),
        _count(told.get("thread")),
        _number(told.get("entry")),
        str(told.get("tool", "")),
    )


_FLAGS = ("suspicious", "dropped")


def foreign_calls(entries: Iterable[Entry]) -> Iterator[ForeignCall]:
    return (call for call in map(foreign_call, entries) if call is not None)


def missing_calls(entries: Iterable[Entry]) -> int:
    """How many calls the entries say went by without being recorded."""
    gaps = (json_object(entry.body.get("gap")) for entry in entries if entry.kind == GAP)
    return sum(_count(gap.get("calls")) for gap in gaps)


def _usage(found: object) -> Usage | None:
    told = json_object(found)
    return Usage(*(_count(told.get(name)) for name in _COUNTS)) if told else None


def _money(found: object) -> Decimal | None:
    try:
        return Decimal(found) if isinstance(found, str) else None
    except InvalidOperation:
        return None


def _count(found: object) -> int:
    return found if isinstance(found, int) else 0


def _number(found: object) -> int | None:
    return found if isinstance(found, int) else None


def _objects(found: object) -> list[JsonObject]:
    return (
        [json_object(one) for one in cast("list[object]", found)] if isinstance(found, list) else []
    )
