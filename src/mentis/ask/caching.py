"""The worth of a provider's cache: forecast before a call, reconciled with its usage after it.

What was sent before is known from the record: each turn's entry says, as digests, up to where its
payload may be met again. So it survives a restart, and nothing else has to be kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from threading import RLock

from mentis.engines.counters import counter_for, learn
from mentis.engines.estimate import EstimatingCounter
from mentis.facts.abilities import abilities
from mentis.facts.ability import Abilities
from mentis.ports.token_counter import TokenCounter
from mentis.render.compare import Divergence, compare, is_kept
from mentis.render.cuts import PrefixCut, cuts_of, digests_at
from mentis.settle.diagnosis import reply_id_in
from mentis.values.caching import CacheBreak, CacheReconciliation, Forecast
from mentis.values.calibration import Calibration
from mentis.values.entry import Entry
from mentis.values.json import JsonObject
from mentis.values.memo import IdentityMemo
from mentis.values.part import MediaPart
from mentis.values.rendering import Rendering
from mentis.values.reply import Reply, Usage
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.span import Span
from mentis.values.trace import TokenCount
from mentis.values.value import Value

from .cache_costs import costs_of, write_price
from .cache_diagnosis import hear_provider
from .cache_verdict import possible_causes, verdict_of, why_not_cached
from .calls import ModelCall
from .footprint import CacheStep, Footprint, footprints_in
from .named_caches import NamedCaches
from .prices import Rate, input_rate

REMEMBERED = 64  # turns of the record that are read for what was sent before
_KEPT = 8  # of each route; a provider's cache knows no conversations, only beginnings
_STEP = 20  # corrections move in twentieths, so that a counter stays the same for a while


@dataclass(frozen=True, slots=True)
class CacheReport(Value):
    """What a call came to, and what the entry of its turn keeps of it."""

    reconciled: CacheReconciliation
    recorded: JsonObject


class Caching:
    """The caches behind one agent's routes, as far as it can know them."""

    def __init__(self, recent: Callable[[], Iterable[Entry]]) -> None:
        self._recent = recent
        self._sent: tuple[Footprint, ...] | None = None
        self._calibrations: dict[str, Calibration] = {}
        self._last: dict[tuple[str, str, str], Rendering] = {}
        self._lock = RLock()  # turns side by side learn at once
        self.named = NamedCaches()

    def counter(self, route: Route) -> TokenCounter:
        """The tokenizer of the route's model where it is there, else a corrected estimate."""
        return counter_for(route.model, self.applied_calibration(route))

    def applied_calibration(self, route: Route) -> Calibration:
        """What was learned, in the steps in which it is applied."""
        learned = self.calibration(route.model)
        return _APPLIED.remember(_in_steps, learned)

    def calibration(self, model: str) -> Calibration:
        self._footprints()
        return self._calibrations.get(model, Calibration(model))

    def forecast(
        self, rendering: Rendering, route: Route, *, now: datetime, before: Rendering | None = None
    ) -> Forecast:
        """The plan counted and priced; with `before`, also where the two part, and its cost."""
        steps, able = self._steps(rendering, route), abilities(route)
        ratio = self._ratio(steps, route)
        prompt = _scaled(steps[-1], ratio) if steps else TokenCount(0)
        rate = input_rate(route, prompt.tokens)
        planned = zip(rendering.cache_plan.boundaries, steps, strict=False)
        costs = costs_of([(each, _scaled(step, ratio)) for each, step in planned], able, rate)
        expected, _ = self._expected(rendering, steps, route, now=now)
        apart = None if before is None else compare(before, rendering)
        return Forecast(
            costs,
            prompt,
            able.cache_minimum,
            rate.told,
            key=rendering.cache_plan.key,
            expected=_scaled(expected, ratio) if expected else TokenCount(0, prompt.exact),
            broken=self._broken(apart, route, able, rate) if apart else None,
        )

    def reconcile(
        self,
        rendering: Rendering,
        route: Route,
        usage: Usage,
        *,
        session: str,
        now: datetime,
        media: bool = False,
        reply: Reply | None = None,
    ) -> CacheReport:
        """Hold the expectation against what was reported, and learn from it. With the `reply`, also
        against what the provider itself found changed, where it was asked.
        """
        steps = self._steps(rendering, route)
        ratio = self._ratio(steps, route)
        found, reasons = self._expected(rendering, steps, route, now=now)
        expected = _scaled(found, ratio) if found else TokenCount(0)
        prompt = _scaled(steps[-1], ratio) if steps else TokenCount(0)
        if held := self.named.cache_of(rendering):
            expected = TokenCount(math.ceil(held.tokens * ratio))
            prompt = TokenCount(prompt.tokens + expected.tokens)
        place = (session, route.name, route.model)
        before = self._last.get(place)
        apart = _broken_off(before, rendering)
        verdict = verdict_of(expected, usage.cache_read)
        if apart is not None:
            reasons = [*reasons, self._changed(apart, route)]
        if verdict == "less":
            reasons = [*reasons, *possible_causes(expected, abilities(route))]
        if verdict == "unforeseen":
            more = "the provider knew more of it than finished calls of this agent had sent"
            reasons = [*reasons, more]
        asked = reply if reply is not None and route.options.cache_diagnostics else None
        lost = None if before is None else apart.lost if apart else ()
        word = hear_provider(asked, rendering, verdict, lost=lost)
        footprint = Footprint(
            route.name,
            route.model,
            now,
            steps,
            expected.tokens,
            here=True,
            session=session,
            reply="" if asked is None else reply_id_in(asked.raw),
        )
        taught = 0 if media else usage.input  # what a picture costs says nothing about words
        self._remember(footprint, taught)
        self._keep(place, rendering)
        reported = (usage.cache_read, usage.cache_write, prompt, usage.input)
        made = CacheReconciliation(
            route.name,
            expected,
            *reported,
            verdict,
            (*reasons, *word.reasons),
            diagnosis=word.diagnosis,
            disagreement=word.disagreement,
        )
        return CacheReport(made, {**footprint.entry_fields(taught), **word.entry_fields()})

    def _keep(self, place: tuple[str, str, str], rendering: Rendering) -> None:
        with self._lock:
            self._last[place] = rendering
            if len(self._last) > _KEPT:
                del self._last[next(iter(self._last))]

    def last_reply(self, session: str, route: Route) -> str:
        """The provider's id of the last answer there, where one was kept."""
        place = (route.name, route.model)
        for each in reversed(self._footprints()):
            if each.reply and each.place == place and each.session == session:
                return each.reply
        return ""

    def _footprints(self) -> tuple[Footprint, ...]:
        with self._lock:
            if self._sent is None:
                self._sent = ()
                for footprint, reported in footprints_in(self._recent()):
                    self._remember(footprint, reported)
            return self._sent

    def _remember(self, footprint: Footprint, reported: int) -> None:
        with self._lock:
            sent = [*self._footprints(), footprint]
            same = [each for each in sent if each.place == footprint.place]
            if len(same) > _KEPT:
                sent.remove(same[0])
            self._sent = tuple(sent)
            last = footprint.steps[-1] if footprint.steps else None
            if last is None or last.counted:
                return
            model = footprint.model
            known = self._calibrations.get(model, Calibration(model))
            self._calibrations[model] = learn(known, estimated=last.tokens, reported=reported)

    def _steps(self, rendering: Rendering, route: Route) -> tuple[CacheStep, ...]:
        """Tokens are kept as they were counted, without correction, which may change."""
        counter = counter_for(route.model)
        steps = list[CacheStep]()
        tokens, exact, counted = 0, True, not isinstance(counter, EstimatingCounter)
        for cut in cuts_of(rendering):
            number = counter.count(cut.text)
            tokens, exact = tokens + number.tokens, exact and number.exact and not cut.written
            steps.append(_step(cut, tokens, exact=exact, counted=counted))
        return tuple(steps)

    def _ratio(self, steps: Sequence[CacheStep], route: Route) -> float:
        return 1.0 if not steps or steps[-1].counted else self.calibration(route.model).ratio

    def _expected(
        self, rendering: Rendering, steps: Sequence[CacheStep], route: Route, *, now: datetime
    ) -> tuple[CacheStep | None, list[str]]:
        """The longest beginning that was sent before and may still be kept; and what is not."""
        able, place = abilities(route), (route.name, route.model)
        if not rendering.cache_plan.boundaries:
            return None, []
        sent = [each for each in self._footprints() if each.place == place]
        if able.cache_here:
            sent = [each for each in sent if each.here]
        digests = digests_at(rendering, {step.end for each in sent for step in each.steps})
        blocks = max((step.blocks for step in steps if step.marked), default=0)
        best: CacheStep | None = None
        why: dict[str, None] = {}
        for each in sent:
            for step in each.steps:
                if digests.get(step.end) != step.digest:
                    continue
                reason = why_not_cached(step, each.time, now, able=able, blocks=blocks)
                if reason is None and (best is None or step.end > best.end):
                    best = step
                elif reason:
                    why[reason] = None
        return best, list(why) if best is None else []

    def _broken(self, apart: Divergence, route: Route, able: Abilities, rate: Rate) -> CacheBreak:
        tokens = self._lost(apart, route)
        dearer = sum(write_price(cut.ttl, able) for cut in apart.lost) / max(len(apart.lost), 1)
        cost = rate.price(tokens.tokens * max(dearer - able.cache_read_price, 0.0))
        return CacheBreak(
            apart.byte, apart.pointer, apart.span, apart.kept, len(apart.lost), tokens, cost
        )

    def _lost(self, apart: Divergence, route: Route) -> TokenCount:
        counter = self.counter(route)
        counts = [counter.count(cut.text) for cut in apart.lost]
        exact = all(count.exact for count in counts) and not any(c.written for c in apart.lost)
        return TokenCount(sum(count.tokens for count in counts), exact)

    def _changed(self, apart: Divergence, route: Route) -> str:
        tokens = self._lost(apart, route).tokens
        return f"{span_name(apart.span)} changed: {tokens} tokens could not be found again"


def _in_steps(learned: Calibration) -> Calibration:
    ratio = math.ceil(learned.ratio * _STEP - 1e-9) / _STEP
    return replace(learned, ratio=ratio, seen=min(learned.seen, 1))


_APPLIED = IdentityMemo[Calibration](64)


def _broken_off(before: Rendering | None, after: Rendering) -> Divergence | None:
    """Where they part, if something that was planned is lost by that."""
    return None if before is None or is_kept(before, after) else compare(before, after)


def settle_calls(
    caching: Caching, calls: Iterable[ModelCall], *, session: str, now: Callable[[], datetime]
) -> tuple[CacheReport, ...]:
    """Every call of a turn whose provider reported what it used."""
    return tuple(
        caching.reconcile(
            call.rendering,
            call.route,
            call.reply.usage,
            session=session,
            now=call.asked_at or now(),
            media=_has_media(call.composed.request),
            reply=call.reply,
        )
        for call in calls
        if call.reply.usage is not None and call.reply.usage.input
    )


def _has_media(request: PromptRequest) -> bool:
    turns = (*request.conversation_history, *request.continuation)
    told = (part for turn in turns for part in turn.parts)
    return bool(request.attachments) or any(isinstance(part, MediaPart) for part in told)


def span_name(span: Span | None) -> str:
    """A span in the words a person knows it by."""
    if span is None:
        return "the form of the payload"
    return f"block {span.block}" if span.block else span.source or "a text"


def _step(cut: PrefixCut, tokens: int, *, exact: bool, counted: bool) -> CacheStep:
    return CacheStep(
        cut.region,
        cut.end,
        tokens,
        cut.digest,
        ttl=cut.ttl,
        marked=cut.marked,
        blocks=cut.blocks,
        exact=exact,
        counted=counted,
    )


def _scaled(step: CacheStep, ratio: float) -> TokenCount:
    return TokenCount(math.ceil(step.tokens * ratio - 1e-9), step.exact)
