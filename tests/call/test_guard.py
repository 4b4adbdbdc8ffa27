"""Retries, breaker and limits. Time is a number here: nothing waits for real."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial

import anyio
import pytest

from mentis.call.breaker import Breaker
from mentis.call.guard import GuardedProvider
from mentis.call.http import HttpProvider, key_of
from mentis.errors import (
    MentisError,
    ProviderPaused,
    ProviderRefused,
    ProviderUnreachable,
    RouteError,
)
from mentis.ports.provider import Provider
from mentis.ports.secrets import ListedSecrets
from mentis.values.entry import Uptime
from mentis.values.rendering import Rendering
from mentis.values.route import Route

from .conftest import Server

pytestmark = pytest.mark.anyio

RENDERING = Rendering("w", {})
ROUTE = Route("r", "openai", "m", url="http://127.0.0.1:1/v1", attempts=3)


class Time:
    """A clock that moves only when somebody sleeps."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []

    def now(self) -> datetime:
        return datetime(2026, 11, 15, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    def uptime(self) -> Uptime:
        return Uptime("fixed", round(self.seconds * 1000))

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds
        await anyio.lowlevel.checkpoint()


class Failing:
    """Plays failures, one per call; then it answers. `late` fails after the first event."""

    def __init__(self, *failures: Exception, late: bool = False) -> None:
        self._failures = list(failures)
        self._late = late
        self.calls = 0
        self.at_once = 0
        self.most = 0

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        self.calls += 1
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            yield self._events(self._failures.pop(0) if self._failures else None)
        finally:
            self.at_once -= 1

    async def _events(self, failure: Exception | None) -> AsyncIterator[str]:
        await anyio.lowlevel.checkpoint()
        if failure is not None and not self._late:
            raise failure
        yield "{}"
        if failure is not None:
            raise failure
        yield "{}"


def guarded(provider: Provider, time: Time) -> GuardedProvider:
    return GuardedProvider({"openai": provider}, time, sleep=time.sleep, chance=lambda: 1.0)


async def ask(guard: GuardedProvider, route: Route = ROUTE) -> int:
    async with guard.open(RENDERING, route) as events:
        return len([event async for event in events])


def busy(status: int = 429, retry_after: str | None = None) -> ProviderRefused:
    return ProviderRefused("busy", status=status, retry_after=retry_after)


async def test_a_passing_failure_is_tried_again_slower_each_time() -> None:
    time, failing = Time(), Failing(ProviderUnreachable("gone"), busy(503))
    assert await ask(guarded(failing, time)) == 2
    assert (failing.calls, time.slept) == (3, [0.5, 1.0])


@pytest.mark.parametrize(
    ("asked", "waited"),
    [("7", 7.05), ("0.25", 0.3), ("Sun, 15 Nov 2026 00:00:09 GMT", 9.05), ("soon", 0.5)],
)
async def test_what_the_server_asks_for_is_waited(asked: str, waited: float) -> None:
    time, failing = Time(), Failing(busy(retry_after=asked))
    await ask(guarded(failing, time))
    assert time.slept == [pytest.approx(waited)]


async def test_a_wait_past_the_deadline_is_not_begun() -> None:
    time, failing = Time(), Failing(busy(retry_after="3600"))
    with pytest.raises(ProviderRefused):
        await ask(guarded(failing, time))
    assert (failing.calls, time.slept) == (1, [])


async def test_a_storm_of_429_ends_after_the_attempts() -> None:
    time, failing = Time(), Failing(*(busy() for _ in range(99)))
    with pytest.raises(ProviderRefused, match="busy"):
        await ask(guarded(failing, time))
    assert failing.calls == 3


@pytest.mark.parametrize("failure", [busy(400), busy(401), busy(404), RouteError("no key")])
async def test_what_will_not_pass_is_not_tried_again(failure: MentisError) -> None:
    time, failing = Time(), Failing(failure)
    with pytest.raises(type(failure)):
        await ask(guarded(failing, time))
    assert (failing.calls, time.slept) == (1, [])


async def test_nothing_is_tried_again_after_the_first_output() -> None:
    failing = Failing(ProviderUnreachable("broke"), late=True)
    with pytest.raises(ProviderUnreachable, match="broke"):
        await ask(guarded(failing, Time()))
    assert failing.calls == 1


async def test_every_attempt_is_closed_before_the_next() -> None:
    failing = Failing(busy(), busy())
    await ask(guarded(failing, Time()))
    assert (failing.most, failing.at_once) == (1, 0)


async def test_a_real_server_that_is_busy_twice_answers_the_third_time(server: Server) -> None:
    server.statuses, server.headers = [429, 529], {"retry-after-ms": "1500"}
    server.body = b"data: {}\n\ndata: [DONE]\n\n"
    time, http = Time(), HttpProvider(partial(key_of, secrets=ListedSecrets({})))
    route = Route("r", "openai", "m", url=server.url)
    assert await ask(guarded(http, time), route) == 2
    await http.aclose()
    assert time.slept == [pytest.approx(1.55), pytest.approx(1.6)]
    assert len({sent.body for sent in server.received}) == 1, "the same bytes each time"


async def test_a_backend_that_keeps_failing_is_left_alone_for_a_while() -> None:
    time, failing = Time(), Failing(*(busy(500) for _ in range(5)))
    guard, once = guarded(failing, time), Route("r", "openai", "m", attempts=1)
    for _ in range(5):
        with pytest.raises(ProviderRefused):
            await ask(guard, once)
    with pytest.raises(ProviderPaused, match="5 times in a row, the last time with: busy"):
        await ask(guard, once)
    assert failing.calls == 5, "it was not asked"
    time.seconds += 30
    assert await ask(guard, once) == 2, "the probe finds it well"
    assert await ask(guard, once) == 2


async def test_another_server_of_the_same_kind_is_not_held_to_account() -> None:
    guard = guarded(Failing(*(busy(500) for _ in range(5))), Time())
    here = Route("a", "openai", "m", url="http://127.0.0.1/v1", attempts=1)
    for _ in range(5):
        with pytest.raises(ProviderRefused):
            await ask(guard, here)
    assert await ask(guard, Route("b", "openai", "m", url="http://127.0.0.2/v1")) == 2


def broken(time: Time) -> Breaker:
    breaker = Breaker("x", time.monotonic, failures=1, seconds=10)
    with pytest.raises(ProviderRefused), breaker.attempt():
        raise busy()
    time.seconds += 10
    return breaker


def test_only_one_probe_goes_at_a_time() -> None:
    breaker = broken(Time())
    with breaker.attempt(), pytest.raises(ProviderPaused), breaker.attempt():
        raise AssertionError
    assert not breaker.is_open


def test_a_probe_that_fails_opens_it_anew() -> None:
    breaker = broken(time := Time())
    with pytest.raises(ProviderRefused), breaker.attempt():
        raise busy()
    with pytest.raises(ProviderPaused), breaker.attempt():
        raise AssertionError
    time.seconds += 10
    with breaker.attempt():
        pass
    assert not breaker.is_open


@pytest.mark.parametrize("end", [KeyboardInterrupt, RouteError])
def test_a_probe_that_is_given_up_frees_its_place(end: type[BaseException]) -> None:
    breaker = broken(Time())
    with pytest.raises(end), breaker.attempt():
        raise end("stop")
    assert breaker.is_open, "nothing was learned"
    with breaker.attempt():
        pass
    assert not breaker.is_open


async def test_a_cancelled_probe_frees_its_place() -> None:
    breaker = broken(Time())
    with anyio.CancelScope() as scope:
        with breaker.attempt():
            scope.cancel()
            await anyio.lowlevel.checkpoint()
    with breaker.attempt():
        pass
    assert not breaker.is_open


async def test_no_more_calls_run_at_once_than_allowed() -> None:
    failing = Failing()
    guard = guarded(failing, Time())
    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(ask, guard, Route("r", "openai", "m", concurrency=2))
    assert (failing.calls, failing.most) == (10, 2)


async def test_no_more_requests_start_in_a_minute_than_allowed() -> None:
    time, failing = Time(), Failing()
    guard, route = guarded(failing, time), Route("r", "openai", "m", per_minute=2)
    for _ in range(5):
        await ask(guard, route)
    assert time.slept == [60.0, 60.0]


async def test_cancelling_a_call_that_waits_to_try_again_ends_it() -> None:
    failing = Failing(*(busy() for _ in range(9)))
    scope = anyio.CancelScope()

    async def stop(_: float) -> None:
        scope.cancel()
        await anyio.sleep_forever()

    guard = GuardedProvider({"openai": failing}, Time(), sleep=stop)
    with scope:
        await ask(guard)
    assert (scope.cancelled_caught, failing.calls, failing.at_once) == (True, 1, 0)


async def test_cancelling_the_first_attempt_is_no_failure_to_retry(server: Server) -> None:
    server.hangs = True
    http = HttpProvider(partial(key_of, secrets=ListedSecrets({})))
    guard, route = guarded(http, Time()), Route("r", "openai", "m", url=server.url)
    with anyio.move_on_after(0.2) as scope:
        await ask(guard, route)
    await guard.aclose()
    assert scope.cancelled_caught
    assert len(server.received) <= 1, "it was not asked again"


async def test_a_backend_that_is_not_there_is_named() -> None:
    with pytest.raises(RouteError, match="gemini is not there"):
        await ask(guarded(Failing(), Time()), Route("r", "gemini", "m"))


async def test_another_try_is_told_in_our_words_and_only_if_it_is_made() -> None:
    time, told = Time(), list[str]()
    slow = ProviderRefused("slow", status=429, retry_after="1")
    gone = ProviderUnreachable("gone")
    provider = GuardedProvider(
        {"openai": Failing(slow, gone, gone)},
        time,
        sleep=time.sleep,
        chance=lambda: 0.0,
        on_retry=told.append,
    )
    with pytest.raises(ProviderUnreachable):
        async with provider.open(RENDERING, ROUTE):
            pass
    assert told == [
        "route 'r': 429: trying again in 1.0 s (try 2 of 3)",
        "route 'r': no answer: trying again in 0.5 s (try 3 of 3)",
    ]
