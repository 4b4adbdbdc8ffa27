"""Predictions: what was expected of caches beside what providers reported, over many calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mentis.ask.cache_verdict import verdict_of
from mentis.values.caching import CacheVerdict
from mentis.values.cost import CallCost, TurnCost
from mentis.values.trace import TokenCount
from mentis.values.value import Value


@dataclass(frozen=True, slots=True)
class PredictedCall(Value):
    """A call with an expectation, and how that came out."""

    turn: TurnCost
    call: CallCost
    verdict: CacheVerdict


@dataclass(frozen=True, slots=True)
class Predictions(Value):
    """Sums over the calls of which both are known: tokens `expected` in the cache and `read` from
    it; and tokens `counted` by us beside those `reported`, of the calls that we counted.
    """

    calls: tuple[PredictedCall, ...] = ()
    counted: int = 0
    reported: int = 0

    @property
    def expected(self) -> int:
        return sum(one.call.expected or 0 for one in self.calls)

    @property
    def read(self) -> int:
        return sum(one.call.usage.cache_read for one in self.calls)

    def with_verdict(self, verdict: CacheVerdict) -> tuple[PredictedCall, ...]:
        return tuple(one for one in self.calls if one.verdict == verdict)


def predictions_of(turns: Iterable[TurnCost]) -> Predictions:
    """Of every call whose provider reported what it used."""
    found, counted, reported = list[PredictedCall](), 0, 0
    for turn in turns:
        for call in turn.calls:
            if call.planned or call.expected is None:
                continue
            verdict = verdict_of(TokenCount(call.expected), call.usage.cache_read)
            found.append(PredictedCall(turn, call, verdict))
            if call.counted is not None:
                counted, reported = counted + call.counted, reported + call.usage.input
    return Predictions(tuple(found), counted, reported)
