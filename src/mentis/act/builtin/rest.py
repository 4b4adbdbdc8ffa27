"""`sleep`: the agent says that it has nothing to do for a while. Whoever runs it keeps the time."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, timedelta

from mentis.ports.clock import Clock
from mentis.values.act import ActCall
from mentis.values.action import Outcome
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust

from .arguments import Arguments
from .kind import SOURCE, BuiltIn, Kind

MOST_SECONDS = 86_400
SLEEP = Kind("sleep", "control", limits="1 to 86,400 seconds; nothing waits inside the act")


class Sleep(BuiltIn):
    def __init__(self, words: ToolDeclaration, clock: Clock) -> None:
        super().__init__(SLEEP.spec(words))
        self._clock = clock

    async def _act(self, call: ActCall, given: Arguments) -> Outcome:
        seconds = given.number("seconds", 1, MOST_SECONDS)
        until = self._clock.now().astimezone(UTC) + timedelta(seconds=seconds)
        result = {"seconds": seconds, "until": until.isoformat(timespec="seconds")}
        return self._done(call, result, Trust.RUNTIME)


def asked_rest(outcomes: Iterable[Outcome]) -> float | None:
    """How long the agent wants to rest, by its last word on that; None if it does not.

    An act of your own may be called `sleep` too: what it means by that is its own affair.
    """
    rests = [
        Arguments(outcome.action.payload).number("seconds", 1, MOST_SECONDS)
        for outcome in outcomes
        if outcome.action.type == SLEEP.name and _is_ours(outcome) and outcome.state == "done"
    ]
    return rests[-1] if rests else None


def _is_ours(outcome: Outcome) -> bool:
    return outcome.source.partition(":")[0] == SOURCE
