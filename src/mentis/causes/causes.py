"""Asks for the answer without each unit, and ranks the units by what it loses.

The fall of a unit is `log p(answer | everything) - log p(answer | everything but the unit)`, summed
over the tokens of the answer: how much likelier the unit makes it, beside all the others. It says
nothing about two units that say the same: without either, the other still does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeAlias

from mentis.ask.attempt import render_request
from mentis.ask.calls import total
from mentis.ask.lone_calls import LoneReply
from mentis.ask.prices import call_price
from mentis.values.cause import TokenFall, TurnCauses, UnitCause
from mentis.values.rendering import Rendering
from mentis.values.reply import Usage

from .leave_outs import LeaveOut
from .plan import PreparedCauses
from .resampling import mean, overlap, spread
from .scoring import ScoredToken, scored_tokens, scoring_rendering

_SHOWN = 3  # tokens of the answer that are told with each unit


# Sends a rendering to the route that judges, and reads all that comes back.
AskRoute: TypeAlias = Callable[[Rendering], Awaitable[LoneReply]]


async def find_causes(prepared: PreparedCauses, ask: AskRoute) -> TurnCauses:
    """Ask first with everything, then without each unit, from the last to the first: so each
    prompt begins as the one before it does, for as long as it can.
    """
    search = _Search(prepared, ask, [])
    made = await (search.score() if prepared.how else search.sample())
    usage = total(search.usages) or Usage()
    ordered = sorted(made.causes, key=lambda one: -one.fall)
    return replace(
        made,
        causes=tuple(ordered),
        prefilled=usage.input - usage.cache_read,
        reused=usage.cache_read,
        usage=usage,
        usd=search.paid(),
        notes=prepared.plan.notes,
    )


@dataclass(frozen=True, slots=True)
class _Search:
    prepared: PreparedCauses
    ask: AskRoute
    usages: list[Usage | None]

    async def score(self) -> TurnCauses:
        tokens = await self._scored(self.prepared.whole, ())
        value = _sum(tokens)
        causes: list[UnitCause] = []
        for one in reversed(self.prepared.units):
            without = await self._scored(self._rendering(one), tokens)
            left = _sum(without)
            causes.append(UnitCause(one.unit, left, value - left, _most_fallen(tokens, without)))
        answer = self.prepared.question.answer
        return TurnCauses(self.prepared.plan, answer, value, tuple(causes), len(tokens))

    async def sample(self) -> TurnCauses:
        whole = await self._overlaps(self.prepared.whole)
        value, causes = mean(whole), list[UnitCause]()
        for one in reversed(self.prepared.units):
            left = mean(await self._overlaps(self._rendering(one)))
            causes.append(UnitCause(one.unit, left, value - left))
        answer = self.prepared.question.answer
        return TurnCauses(self.prepared.plan, answer, value, tuple(causes), spread=spread(whole))

    def paid(self) -> Decimal | None:
        """What was reported, at the price of the route; None where one of them has none."""
        prices = [call_price(self.prepared.question.route, one or Usage()) for one in self.usages]
        known = [Decimal(str(one.usd)) for one in prices if one.usd is not None]
        return sum(known, Decimal(0)) if len(known) == len(prices) else None

    def _rendering(self, one: LeaveOut) -> Rendering:
        return render_request(one.request, self.prepared.question.route)

    async def _scored(
        self, rendering: Rendering, tokens: Sequence[ScoredToken]
    ) -> tuple[ScoredToken, ...]:
        answer, how = self.prepared.question.answer, self.prepared.how
        came = await self._asked(scoring_rendering(rendering, answer, how, tokens))
        return scored_tokens(came.events, answer, how)

    async def _overlaps(self, rendering: Rendering) -> list[float]:
        answer, samples = self.prepared.question.answer, self.prepared.question.samples
        came = [await self._asked(rendering) for _ in range(samples)]
        return [overlap(one.reply.text, answer) for one in came]

    async def _asked(self, rendering: Rendering) -> LoneReply:
        came = await self.ask(rendering)
        self.usages.append(came.reply.usage)
        return came


def _sum(tokens: Sequence[ScoredToken]) -> float:
    return sum(one.logprob for one in tokens)


def _most_fallen(
    tokens: Sequence[ScoredToken], without: Sequence[ScoredToken]
) -> tuple[TokenFall, ...]:
    """Only where both cut the answer into the same tokens."""
    if [one.text for one in tokens] != [one.text for one in without]:
        return ()
    falls = [
        TokenFall(one.text, one.logprob - other.logprob)
        for one, other in zip(tokens, without, strict=True)
    ]
    ranked = sorted(falls, key=lambda one: -one.fall)[:_SHOWN]
    return tuple(one for one in ranked if one.fall > 0)
