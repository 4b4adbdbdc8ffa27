"""Tries again what may well succeed a little later: a few times, slower each time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from mentis.errors import Defect, MentisError
from mentis.ports.clock import Clock
from mentis.values.route import Route

from .faults import is_passing, wait_asked_for
from .gate import Sleep

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pace:
    """Where waiting and chance come from. `chance` gives 0 to 1 and spreads callers apart.

    `told` is told, in a line, why there is another try and when.
    """

    clock: Clock
    sleep: Sleep
    chance: Callable[[], float]
    told: Callable[[str], None] | None = None
    first_seconds: float = 0.5
    most_seconds: float = 20.0


async def with_retries(begin: Callable[[], Awaitable[T]], route: Route, pace: Pace) -> T:
    """What `begin` gives, after at most `route.attempts` tries within the route's time."""
    import stamina

    judge = _Judge(route, pace)
    # The waiting is ours: stamina counts the attempts and says how long each pause is.
    tries = stamina.retry_context(
        judge,
        attempts=route.attempts,
        timeout=None,
        wait_initial=pace.first_seconds,
        wait_max=pace.most_seconds,
        wait_jitter=0,
    )
    async for attempt in tries:
        if attempt.num > 1:
            judge.tell(attempt.num)
        if judge.pause:
            await pace.sleep(judge.pause)
        judge.backoff = attempt.next_wait
        with attempt:
            return await begin()
    raise Defect("the attempts of a call ended without a result or an error")


class _Judge:
    """Decides after a failure whether to go on, and how long to pause before."""

    def __init__(self, route: Route, pace: Pace) -> None:
        self._pace = pace
        self._end = pace.clock.monotonic() + route.timeout_seconds
        self._route = route
        self._reason = ""
        self.backoff = 0.0
        self.pause = 0.0

    def tell(self, number: int) -> None:
        if self._pace.told is None:
            return
        tries = f"try {number} of {self._route.attempts}"
        wait = f"trying again in {self.pause:.1f} s"
        self._pace.told(f"route {self._route.name!r}: {self._reason}: {wait} ({tries})")

    def __call__(self, error: BaseException) -> bool | float:
        if not isinstance(error, MentisError) or not is_passing(error):
            return False
        self._reason = str(error.facts.get("status") or "no answer")
        asked = wait_asked_for(error, self._pace.clock.now())
        # What the server asks for is a floor; chance keeps callers from coming back together.
        spread = self.backoff * (0.5 + 0.5 * self._pace.chance())
        self.pause = spread if asked is None else asked + 0.1 * spread
        if self._pace.clock.monotonic() + self.pause >= self._end:
            return False  # the deadline would end the wait, and hide why it was needed
        return 0.0  # stamina itself does not wait
