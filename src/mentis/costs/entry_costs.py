"""Costs of the entries of one agent's record, in their order, and how they hang together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TypeAlias, cast

from mentis.ask.prices import call_price
from mentis.ask.recorded_calls import CALL, RecordedCall, calls_in, is_emptied, object_in, route_of
from mentis.values.cost import CallCost, TurnCost
from mentis.values.entry import Entry
from mentis.values.recalled import FIRST, RESUME
from mentis.values.route import Route

_TOKENS = 2  # the place of the tokens in a step of a footprint
_PICO = Decimal("1e-12")  # so that sums are exact, in whatever order
TALK = ("turn", RESUME, FIRST, "delivery")  # they go on with the same conversation
Place: TypeAlias = tuple[int, int]  # the index of an entry, and the step of its turn
CacheLine: TypeAlias = tuple[str, str, str, str]
Pricing: TypeAlias = Callable[[RecordedCall], CallCost]


@dataclass(slots=True)
class AgentCosts:
    """`asked` are the turns of other agents that an entry asked for, by agent and index. `before`
    is, for a step, the one that its cache goes on from: the last of the same session, route and
    model. `emptied` counts entries whose usage was erased. `partial`: there are older entries.
    """

    agent: str
    turns: dict[int, TurnCost] = field(default_factory=dict[int, TurnCost])
    asked: dict[int, list[tuple[str, int]]] = field(
        default_factory=dict[int, list[tuple[str, int]]]
    )
    before: dict[Place, Place] = field(default_factory=dict[Place, Place])
    emptied: int = 0
    partial: bool = False


def pricing_on(routes: Sequence[Route]) -> Pricing:
    """List prices of today, where an entry does not say what it cost."""

    def price(call: RecordedCall) -> CallCost:
        usd, told = call.usd, "as it was recorded"
        if usd is None:
            rate = call_price(route_of(call, routes), call.usage)
            usd, told = None if rate.usd is None else Decimal(str(rate.usd)), rate.told
        return CallCost(
            call.route,
            call.model,
            call.usage,
            None if usd is None else usd.quantize(_PICO),
            told,
            planned=call.planned,
            step=call.step,
            number=call.number,
            stage=call.stage,
            expected=_count(call, "expected"),
            counted=_counted(call),
        )

    return price


def _count(call: RecordedCall, name: str) -> int | None:
    found = None if call.cache is None else call.cache.get(name)
    return found if isinstance(found, int) else None


def _counted(call: RecordedCall) -> int | None:
    """Tokens of the prompt by our own count, as its footprint keeps them."""
    steps = None if call.cache is None else call.cache.get("steps")
    last = cast("list[list[object]]", steps)[-1] if isinstance(steps, list) and steps else []
    found = last[2] if len(last) > _TOKENS else None
    return found if isinstance(found, int) else None


def read_costs(agent: str, entries: Iterable[Entry], price: Pricing) -> AgentCosts:
    """One pass over a record, oldest first."""
    read, last = AgentCosts(agent), dict[CacheLine, Place]()
    waiting: dict[str, list[tuple[str, int]]] = {}
    for entry in entries:
        if entry.kind == "act":
            _note_asked(entry, waiting)
        elif entry.kind in ("turn", CALL):
            read.emptied += is_emptied(entry)
            _read_turn(read, entry, price, last=last, waiting=waiting)
    return read


def kind_of(entry: Entry) -> str:
    """What an entry with calls was: a turn, a tick, or what the turn was for."""
    if entry.kind == CALL:
        return str(object_in(entry.body.get("call")).get("what") or CALL)
    if "tick" in entry.fields and "turn" not in entry.fields:
        return "tick"
    turn = object_in(entry.body.get("turn"))
    return str(turn.get("inner") or turn.get("mode") or "turn")


def session_of(entry: Entry) -> str:
    """The conversation it was in; nothing where it was in none."""
    told = object_in(entry.body.get("turn" if entry.kind == "turn" else "call"))
    return str(told.get("session", ""))


def turn_cost(entry: Entry, price: Pricing) -> TurnCost:
    calls = tuple(price(call) for call in calls_in(entry))
    agent, kind = entry.agent, kind_of(entry)
    if entry.kind == CALL:
        calls = tuple(_with_forecast(call, entry) for call in calls)
    return TurnCost(agent, entry.index, entry.time, session_of(entry), kind, calls)


def _with_forecast(call: CallCost, entry: Entry) -> CallCost:
    """Another program's call could have found what the one before it had sent."""
    cache = object_in(entry.body.get("cache"))
    lost, before = cache.get("lost"), cache.get("before")
    if not isinstance(before, int):
        return call
    return replace(call, expected=call.usage.cache_read + (lost if isinstance(lost, int) else 0))


def cache_line(turn: TurnCost, call: CallCost) -> CacheLine:
    """Which calls go on from each other in a cache: of one session, one kind, route and model."""
    talk = "turn" if turn.kind in TALK else turn.kind
    return turn.session, talk, call.route, call.model


def _read_turn(
    read: AgentCosts,
    entry: Entry,
    price: Pricing,
    *,
    last: dict[CacheLine, Place],
    waiting: dict[str, list[tuple[str, int]]],
) -> None:
    turn = turn_cost(entry, price)
    if asked := waiting.pop(turn.session, None):
        read.asked[turn.entry] = asked
    elif not turn.calls:
        return
    read.turns[turn.entry] = turn
    for call in turn.calls:
        place, here = cache_line(turn, call), (turn.entry, call.step)
        if call.number == 1:  # what is said to correct an answer is not kept
            if place in last:
                read.before[here] = last[place]
            last[place] = here


def _note_asked(entry: Entry, waiting: dict[str, list[tuple[str, int]]]) -> None:
    """An act that asked another agent: the turn it is part of is recorded after it."""
    act = object_in(entry.body.get("act"))
    turn = object_in(act.get("turn"))
    if isinstance(index := turn.get("entry"), int):
        known = waiting.setdefault(str(act.get("session", "")), [])
        if (one := (str(turn.get("agent", "")), index)) not in known:
            known.append(one)
