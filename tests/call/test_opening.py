"""Errors and silence inside an answer that began with a 200: tried again, ended, or told."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from mentis.call.guard import GuardedProvider
from mentis.call.http import HttpProvider, key_of
from mentis.call.recorder import Recorder
from mentis.call.replay import ReplayProvider
from mentis.errors import ProviderRefused, ProviderUnreachable
from mentis.ports.provider import Provider
from mentis.ports.secrets import ListedSecrets
from mentis.settle.readers import reader_for
from mentis.values.rendering import Rendering
from mentis.values.route import Backend, Route

from .conftest import Server
from .test_guard import Time

pytestmark = pytest.mark.anyio


def sse(*events: object) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def typed(*events: dict[str, object]) -> bytes:
    told = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return "".join(told).encode()


HI = sse({"choices": [{"delta": {"content": "Hi"}}]}) + b"data: [DONE]\n\n"
ROLE = {"choices": [{"delta": {"role": "assistant", "content": ""}}]}
OVERLOADED: dict[str, object] = {
    "type": "error",
    "error": {"type": "overloaded_error", "message": "Overloaded"},
}
BUSY: dict[str, tuple[Backend, bytes, int]] = {
    "chat, at once": ("openai", sse({"error": {"code": 503, "message": "busy"}}), 503),
    "chat, after the role": (
        "openai",
        sse(ROLE, {"error": {"type": "server_error", "message": "busy"}}),
        500,
    ),
    "anthropic, after its start": (
        "anthropic",
        typed({"type": "message_start"}, {"type": "ping"}, OVERLOADED),
        529,
    ),
    "responses, an error event": (
        "openai-responses",
        typed({"type": "error", "code": "rate_limit_exceeded", "message": "slow down"}),
        429,
    ),
    "responses, failed": (
        "openai-responses",
        typed(
            {"type": "response.created"},
            {
                "type": "response.failed",
                "response": {"error": {"code": "server_error", "message": "oh"}},
            },
        ),
        500,
    ),
    "gemini, in a list": (
        "gemini",
        sse([{"error": {"code": 503, "status": "UNAVAILABLE", "message": "busy"}}]),
        503,
    ),
}


def route_to(server: Server, backend: Backend = "openai", **more: object) -> Route:
    base = {"timeout_seconds": 20, **more}
    return Route("r", backend, "m", url=server.url, **base)  # pyright: ignore[reportArgumentType]  # its own fields


async def ask(time: Time, route: Route, heard: list[str] | None = None) -> list[str]:
    heard = [] if heard is None else heard
    backends: dict[Backend, Provider] = {
        route.backend: HttpProvider(partial(key_of, secrets=ListedSecrets({})))
    }
    guard = GuardedProvider(backends, time, sleep=time.sleep, chance=lambda: 1.0)
    try:
        async with guard.open(Rendering("w", {}), route) as events:
            async for event in events:
                heard.append(event)
        return heard
    finally:
        await guard.aclose()


@pytest.mark.parametrize("name", BUSY)
async def test_a_busy_server_that_says_so_inside_a_200_is_asked_again(
    server: Server, name: str
) -> None:
    backend, busy, status = BUSY[name]
    server.bodies, server.body = [busy], HI
    time = Time()
    route = route_to(server, backend)
    await ask(time, route)
    assert len(server.received) == 2
    server.body = busy
    with pytest.raises(ProviderRefused) as caught:
        await ask(Time(), route)
    assert caught.value.facts["status"] == status
    assert len(server.received) == 5


async def test_the_wait_it_asks_for_is_kept(server: Server) -> None:
    time = Time()
    server.headers = {"retry-after": "7"}
    server.bodies, server.body = [BUSY["chat, at once"][1]], HI
    await ask(time, route_to(server))
    assert time.slept[0] >= 7
    server.headers = {}
    detail = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "11s"}
    error = {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "m", "details": [detail]}
    server.bodies = [sse({"error": error})]
    time = Time()
    await ask(time, route_to(server, "gemini"))
    assert time.slept[0] >= 11


@pytest.mark.parametrize(
    "body",
    [
        sse({"error": {"type": "invalid_request_error", "message": "no such model"}}),
        sse({"choices": [{"delta": {"content": "Hi"}}]}, {"error": {"code": 503}}),
    ],
    ids=["what will not pass", "after the first words"],
)
async def test_other_errors_inside_a_stream_go_to_settle(server: Server, body: bytes) -> None:
    server.body = body
    events = await ask(Time(), route_to(server))
    reader = reader_for("openai-chat")
    for event in events:
        reader.feed(event)
    assert reader.finish().stop == "error"
    assert len(server.received) == 1


async def test_a_storm_of_429_from_a_real_server_ends_after_the_attempts(server: Server) -> None:
    server.status, server.body = 429, b'{"error": {"message": "slow down"}}'
    server.content_type = "application/json"
    with pytest.raises(ProviderRefused, match="slow down"):
        await ask(Time(), route_to(server, attempts=4))
    assert len(server.received) == 4


async def test_a_body_that_is_no_json_has_no_answer_in_it(server: Server) -> None:
    server.content_type, server.body = "application/json", b"\xff\xfe not json"
    (event,) = await ask(Time(), route_to(server))
    reader = reader_for("openai-chat")
    reader.feed(event)
    reply = reader.finish()
    assert (reply.stop, reply.text) == ("cut_off", "")
    assert reply.errors


async def test_a_stream_that_stops_dead_is_ended_long_before_the_deadline(server: Server) -> None:
    server.hangs, server.body = True, sse({"choices": [{"delta": {"content": "Hi"}}]})
    heard = list[str]()
    route = route_to(server, timeout_seconds=300.0, idle_seconds=0.05, attempts=1)
    with pytest.raises(ProviderUnreachable, match="nothing more came for"):
        await ask(Time(), route, heard)
    assert len(heard) == 1
    assert server.let_go.wait(5)  # and the connection is free


async def test_a_replay_behaves_like_the_exchange_it_was(server: Server, tmp_path: Path) -> None:
    folder = tmp_path / "tape"
    server.body = BUSY["chat, at once"][1]
    provider = HttpProvider(partial(key_of, secrets=ListedSecrets({})), recorder=Recorder(folder))
    with pytest.raises(ProviderRefused):
        async with provider.open(Rendering("w", {}), route_to(server)):
            pass
    await provider.aclose()
    route = Route("p", "replay", "m", folder=str(folder), replays="openai")
    with pytest.raises(ProviderRefused, match="before it said anything"):
        async with ReplayProvider().open(Rendering("w", {}), route):
            pass
