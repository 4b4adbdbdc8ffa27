"""Losses of the cache between two calls: the byte, the place, the tokens, the money, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from mentis.ask.prices import input_rate
from mentis.facts.abilities import abilities
from mentis.record.foreign_calls import LossReason
from mentis.render.compare import Divergence
from mentis.values.json import JsonObject, json_object
from mentis.values.reply import Usage
from mentis.values.route import Route

from .prompts import (
    OWNERS,
    TALK,
    PromptDigest,
    describe_place,
    diverge,
    is_marked,
    items_at,
    lasts_an_hour,
    prompt_of,
    same_tools,
    short_pointer,
)
from .reading import ReadCall
from .repair import repair_for
from .sessions import CallPlace, PastCall

_SHORT_LIFE, _LONG_LIFE = 300, 3600  # seconds that a cache is kept where nothing else is said
_LEAST = 256  # tokens; less is what providers round away


@dataclass(frozen=True, slots=True)
class CacheComparison:
    """A call beside the one before it. `divergence` None: one is the beginning of the other's
    messages, or they are the same. `lost` tokens were read before and had to be read again;
    `repair` is the rule that would have kept them.
    """

    divergence: Divergence | None
    place: str = ""
    lost: int = 0
    usd: Decimal | None = None
    reason: LossReason | None = None
    idle: int = 0
    repair: str = ""


def compare_calls(
    call: ReadCall, past: PastCall, mark: PromptDigest, route: Route, *, before: JsonObject | None
) -> CacheComparison:
    """`past` is the call before, of the same format, and `before` its payload: None where the
    prompt goes on where that one ended, as most do.
    """
    if call.wire is None:
        return CacheComparison(None)
    share, broken = 1.0, None
    if before is not None:
        old, new = prompt_of(before, call.wire), prompt_of(call.payload, call.wire)
        found = diverge(old, new)
        share = 1.0 if found is None else min(1.0, found.byte / max(1, len(old.body())))
        broken = found if found is not None and found.lost else None
    idle = max(0, round((call.copy.time - past.time).total_seconds()))
    place = describe_place(broken.pointer, call.payload) if broken else ""
    made = CacheComparison(broken, place, idle=idle)
    usage = call.reply.usage if call.reply else None
    if usage is None or not call.tells_cache:
        return made
    own_thread = past.digest.shared(mark) == 0
    could = min(round(past.input * share) if own_thread else past.input, usage.input)
    lost = _lost(could, usage, route)
    if not lost:
        return made
    change = None if own_thread else broken
    reason = _reason(call, change, before or {}, idle)
    rule = _repair(call, change, before or {}) if reason in ("changed", "reordered") else ""
    return replace(made, lost=lost, usd=_money(lost, usage, route), reason=reason, repair=rule)


def _repair(call: ReadCall, broken: Divergence | None, before: JsonObject) -> str:
    if broken is None:
        return ""
    _, root, number, *_ = (*broken.pointer.split("/"), "", "")
    old, new = items_at(before, root), items_at(call.payload, root)
    if root == "tools" and same_tools(before, call.payload):
        return "tool-order"
    at = int(number) if number.isdecimal() else -1
    listed = 0 <= at < min(len(old), len(new))
    pair = (old[at], new[at]) if listed else (before.get(root), call.payload.get(root))
    if root in TALK.values() and json_object(pair[1]).get("role") not in OWNERS:
        return ""  # what was said is nobody's to change
    return repair_for(*pair, origin=call.copy.target.origin)


def _lost(could: int, usage: Usage, route: Route) -> int:
    """Tokens that a cache could have given and did not; nothing where there is none to give."""
    able = abilities(route)
    lost = could - usage.cache_read
    if able.cache == "none" or could < max(able.cache_minimum, 1):
        return 0
    return lost if lost > max(_LEAST, could // 20) else 0


def _reason(call: ReadCall, broken: Divergence | None, before: JsonObject, idle: int) -> LossReason:
    if call.wire == "anthropic" and not is_marked(call.payload):
        return "unmarked"  # first: without it nothing else helps
    if broken is not None:
        return _change(call, broken, before)
    life = _LONG_LIFE if lasts_an_hour(call.payload) else _SHORT_LIFE
    return "ended" if idle > life else "unknown"


def _change(call: ReadCall, broken: Divergence, before: JsonObject) -> LossReason:
    root = broken.pointer.split("/")[1] if "/" in broken.pointer else ""
    old, new = items_at(before, root), items_at(call.payload, root)
    if root == "tools" and same_tools(before, call.payload):
        return "reordered"
    if root in ("messages", "input", "contents") and len(new) < len(old):
        return "rewritten"
    return "changed"


def _money(lost: int, usage: Usage, route: Route) -> Decimal | None:
    """More than finding them would have cost: they were read in full, or written anew."""
    able, rate = abilities(route), input_rate(route, usage.input)
    if rate.usd is None:
        return None
    paid = able.cache_write_price if usage.cache_write else 1.0
    return Decimal(str(round(max(0.0, paid - able.cache_read_price) * lost * rate.usd / 1e6, 8)))


def cache_fields(made: CacheComparison, at: CallPlace, usage: Usage | None) -> JsonObject:
    """As the entry keeps it. No word of the prompt is in it."""
    told: dict[str, object] = {}
    if usage is not None:
        told |= {"read": usage.cache_read, "written": usage.cache_write}
    if at.before is not None:
        told |= {"before": at.before.entry, "idle": made.idle}
    if made.divergence is not None:
        told |= {"byte": made.divergence.byte, "place": made.place}
        told["pointer"] = short_pointer(made.divergence.pointer)
    if made.lost:
        told |= {"lost": made.lost, "reason": made.reason}
        told |= {} if made.usd is None else {"usd": format(made.usd, "f")}
        told |= {"repair": made.repair} if made.repair else {}
    return told
