"""The calls that an entry of the record tells of: whom they asked, and what they used.

The one reader of them, for budgets and for costs. A `turn` (a tick too) has one or several; a
`call` is one that was made outside of any turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import cast

from mentis.values.entry import Entry
from mentis.values.json import JsonObject
from mentis.values.reply import Usage
from mentis.values.route import Backend, Route
from mentis.values.value import Value

CALL = "call"  # the kind of an entry that is one call, outside of any turn
_COUNTS = ("input", "output", "cache_read", "cache_write", "reasoning")
_FIELDS = ("usage", "planned", "calls")  # without them nobody can say what an entry used


@dataclass(frozen=True, slots=True)
class RecordedCall(Value):
    """`planned`: nothing was reported, and `usage` is the most that it may have come to. `step` and
    `number` say which call of which answer of a turn it was, counted from 1; `number` 0: nobody
    answered it. `stage` is that of a tick. `usd` is the price that the entry itself tells, if it
    does. `cache` is its footprint, as the entry keeps it.
    """

    route: str
    backend: str
    model: str
    usage: Usage
    planned: bool = False
    step: int = 1
    number: int = 1
    stage: str = ""
    usd: Decimal | None = None
    cache: JsonObject | None = None


def calls_in(entry: Entry) -> Iterator[RecordedCall]:
    """Each call that was paid for, or may have been."""
    if entry.kind not in ("turn", CALL):
        return
    body, places = entry.body, _places(entry.body)
    footprints = iter(objects_in(body.get("cache")))
    for place, told in enumerate(objects_in(body.get("calls")) or (body,)):
        step, number = places[place] if place < len(places) else (1, place + 1)
        call = _call(told, step=step, number=number)
        if call is None:
            continue
        if not call.planned and call.usage.input:  # those whose cache was looked at
            call = _with_footprint(call, next(footprints, None))
        yield call
    for told in objects_in(body.get("unanswered")):
        call = _call(told, number=0)
        if call is not None:
            yield call


def is_emptied(entry: Entry) -> bool:
    """Whether what it used was erased from it."""
    if entry.kind not in ("turn", CALL):
        return False
    return any(name in entry.fields and name not in entry.body for name in _FIELDS)


def route_of(call: RecordedCall, routes: Sequence[Route]) -> Route:
    """The route of today that was meant: of the same name and model, else of the same model."""
    same = [one for one in routes if (one.backend, one.model) == (call.backend, call.model)]
    named = (one for one in same if one.name == call.route)
    made = Route(call.route, cast("Backend", call.backend), call.model)
    return next(named, same[0] if same else made)


def _call(told: JsonObject, *, step: int = 1, number: int = 1) -> RecordedCall | None:
    usage, planned = _usage(told.get("usage")), _usage(told.get("planned"))
    used = usage or planned
    if used is None:
        return None
    route = object_in(told.get("route"))
    return RecordedCall(
        str(route.get("name", "")),
        str(route.get("backend", "embedded")),
        str(route.get("model", "")),
        used,
        planned=usage is None,
        step=step,
        number=number,
        stage=str(told.get("stage", "")),
        usd=_money(object_in(told.get("price")).get("usd")),
    )


def _with_footprint(call: RecordedCall, told: JsonObject | None) -> RecordedCall:
    if told is None or (told.get("route"), told.get("model")) != (call.route, call.model):
        return call
    return replace(call, cache=told)


def _places(body: JsonObject) -> list[tuple[int, int]]:
    """Step and number of each call; a turn that says nothing of steps had one."""
    found: list[tuple[int, int]] = []
    for step, told in enumerate(objects_in(body.get("steps")), 1):
        count = told.get("calls")
        found += [(step, n + 1) for n in range(count if isinstance(count, int) else 0)]
    return found


def _usage(found: object) -> Usage | None:
    if not isinstance(found, Mapping):
        return None
    told = cast("JsonObject", found)
    counts = (told.get(name) for name in _COUNTS)
    return Usage(*(count if isinstance(count, int) else 0 for count in counts))


def _money(found: object) -> Decimal | None:
    if not isinstance(found, (str, int, float)):
        return None
    try:
        usd = Decimal(str(found))
    except InvalidOperation:
        return None
    return usd if usd.is_finite() and usd >= 0 else None


def object_in(found: object) -> JsonObject:
    """A member of an entry that should be an object; an empty one where it is none."""
    return cast("JsonObject", found) if isinstance(found, Mapping) else {}


def objects_in(found: object) -> list[JsonObject]:
    """The same of a list of them."""
    listed = cast("list[object]", found) if isinstance(found, list) else []
    return [object_in(one) for one in listed]
