"""Losses of a cache: what a call had to be read again, from which byte on, and what that cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from mentis.ask.cache_verdict import why_not_cached
from mentis.ask.caching import span_name
from mentis.ask.footprint import CacheStep, Footprint, lifetime, read_footprint
from mentis.ask.prices import tariff_of
from mentis.ask.recorded_calls import RecordedCall, calls_in, route_of
from mentis.facts.abilities import abilities
from mentis.record.foreign_calls import ForeignCall, LossReason, foreign_call
from mentis.render.compare import compare, context_of
from mentis.turn.replay.replay import Replay
from mentis.values.cost import CacheLoss, LossCause
from mentis.values.entry import Entry
from mentis.values.route import Route

from .entry_costs import Place
from .record_reader import RecordReader

# Tokens that may be missing without a word: providers keep whole blocks, and counts are estimates.
_SLACK, _SHARE = 128, 0.1
_REGIONS = {"tools": "the tools", "stable": "the lasting part", "session": "the session's part"}
_MILLION = 1_000_000
_CAUSES: Mapping[LossReason, LossCause] = {
    "changed": "changed",
    "reordered": "changed",
    "rewritten": "changed",
    "unmarked": "off",
    "ended": "expired",
    "unknown": "dropped",
}
_REASONS: Mapping[LossReason, str] = {
    "changed": "the prompt changed",
    "reordered": "the tools came in another order",
    "rewritten": "older messages were replaced",
    "unmarked": "nothing asked for a cache",
    "ended": "the cache had ended",
    "unknown": "what was sent before is the same, and was not found",
}


@dataclass(frozen=True, slots=True)
class _Sighting:
    """The first call of a step, as its entry tells it."""

    entry: Entry
    call: RecordedCall
    footprint: Footprint | None

    @property
    def planned(self) -> tuple[CacheStep, ...]:
        """The places up to which it may be met again."""
        steps = () if self.footprint is None else self.footprint.steps
        return tuple(step for step in steps if step.region != "turn")

    @property
    def sent(self) -> int:
        """Tokens that a later call may find, in the provider's own count."""
        if self.footprint is None or not self.planned:
            return 0
        counted = self.footprint.steps[-1].tokens
        return round(self.planned[-1].tokens * self.call.usage.input / counted) if counted else 0


def find_loss(reader: RecordReader, place: Place, before: Place | None) -> CacheLoss | None:
    """None where nothing was lost, or nobody reported what the cache gave. It blocks."""
    if (foreign := foreign_call(reader.find(place[0]))) is not None:
        return _foreign_loss(foreign)
    now = _sighting(reader, place)
    if now is None or now.call.planned or not now.call.usage.input:
        return None
    route = route_of(now.call, reader.routes)
    earlier = None if before is None else _sighting(reader, before)
    read = now.call.usage.cache_read
    if before is None or earlier is None:
        nothing = "nothing was sent there before it in this session"
        return None if read else CacheLoss("first", place[1], reason=nothing)
    if not route.caching or (abilities(route).cache == "none" and not read):
        off = "routes." + route.name + ".caching is off" if not route.caching else ""
        why = off or f"nothing is known of a cache for {route.model}"
        return CacheLoss("off", place[1], reason=why)
    lost = earlier.sent - read
    if lost <= max(earlier.sent * _SHARE, min(_SLACK, earlier.sent / 2)):
        return None
    found = find_change(reader, place, before) or _changed_part(now, earlier)
    if found is None or not _breaks(found, earlier):
        found = _unchanged(now, earlier, route)
    return replace(found, tokens=lost, usd=_extra(lost, now.call, route))


def _foreign_loss(call: ForeignCall) -> CacheLoss | None:
    """As it was found when the call was recorded."""
    usage = call.usage
    if usage is None or not usage.input:
        return None
    if call.before is None and not usage.cache_read:
        return CacheLoss("first", 1, reason="nothing was sent there before it in this session")
    if not call.lost or call.reason is None:
        return None
    cause = _CAUSES[call.reason]
    changed = cause == "changed" and call.byte is not None
    return CacheLoss(
        cause if changed or cause != "changed" else "dropped",
        1,
        call.place,
        call.pointer,
        call.byte if changed and call.byte is not None else -1,
        tokens=call.lost,
        usd=call.lost_usd,
        reason=_REASONS[call.reason],
        fix=call.fix,
    )


def change_context(reader: RecordReader, place: Place, before: Place) -> tuple[str, str] | None:
    """What stands around the first byte in which two prompts of ours differ. It blocks."""
    old, new = reader.rebuild(*before), reader.rebuild(*place)
    if not isinstance(old, Replay) or not isinstance(new, Replay):
        return None
    apart = compare(old.rendering, new.rendering)
    if apart is None:
        return None
    return context_of(old.rendering, apart.byte), context_of(new.rendering, apart.byte)


def find_change(reader: RecordReader, place: Place, before: Place) -> CacheLoss | None:
    """The first byte that the two prompts do not share; None where nobody can say. It blocks."""
    old, new = reader.rebuild(*before), reader.rebuild(*place)
    if not isinstance(old, Replay) or not isinstance(new, Replay):
        return None
    if not old.payload or not new.payload or old.rendering.wire != new.rendering.wire:
        return None
    apart = compare(old.rendering, new.rendering)
    if apart is None:
        return None
    named = f" ({{{{{apart.span.placeholder}}}}})" if apart.span and apart.span.placeholder else ""
    where = span_name(apart.span) + named
    return CacheLoss("changed", place[1], where, apart.pointer, apart.byte)


def _sighting(reader: RecordReader, place: Place) -> _Sighting | None:
    entry, step = reader.find(place[0]), place[1]
    for call in calls_in(entry):
        if (call.step, call.number) == (step, 1):
            found = None if call.cache is None else read_footprint(call.cache, entry)
            return _Sighting(entry, call, None if found is None else found[0])
    return None


def _breaks(change: CacheLoss, earlier: _Sighting) -> bool:
    """Whether something that may have been kept lies behind the change."""
    return not change.exact or any(step.end > change.byte for step in earlier.planned)


def _changed_part(now: _Sighting, earlier: _Sighting) -> CacheLoss | None:
    """By the prints in the entries alone: which part is another. What was said grows, and so its
    prints cannot be compared.
    """
    known, same = {step.region: step for step in now.planned}, 0
    for step in earlier.planned:
        other = known.get(step.region)
        if step.region not in _REGIONS or other is None:
            continue
        if (other.end, other.digest) != (step.end, step.digest):
            where = _REGIONS[step.region]
            return CacheLoss("changed", now.call.step, where, byte=same, exact=False)
        same = step.end
    return None


def _unchanged(now: _Sighting, earlier: _Sighting, route: Route) -> CacheLoss:
    able, last = abilities(route), earlier.planned[-1] if earlier.planned else None
    step = now.call.step
    if last is None:
        return CacheLoss("off", step, reason="no part of the prompt was planned to be kept")
    here, then = now.footprint, earlier.footprint
    blocks = max((one.blocks for one in now.planned if one.marked), default=0)
    same_turn = now.entry.index == earlier.entry.index
    times = (then.time, then.time if same_turn or here is None else here.time) if then else None
    why = times and why_not_cached(last, *times, able=able, blocks=blocks)
    if why and last.tokens < able.cache_minimum:
        return CacheLoss("short", step, reason=why)
    if why and lifetime(last.ttl):
        return CacheLoss("expired", step, reason=why)
    gone = "what was sent before is the same, and was not found"
    if able.cache_here:
        gone = "its cache ends with the process, or held something else by then"
    return CacheLoss("dropped", step, reason=why or gone)


def _extra(lost: int, call: RecordedCall, route: Route) -> Decimal | None:
    """What reading it anew cost more than finding it would have."""
    tariff = tariff_of(route, call.usage)
    if tariff.input is None:
        return None
    wrote = min(lost, call.usage.cache_write)
    units = wrote * (tariff.write - tariff.read) + (lost - wrote) * (1 - tariff.read)
    return Decimal(str(max(units, 0.0) * tariff.input / _MILLION)).quantize(Decimal("1e-12"))
