"""Exchanges recorded from a real server on loopback, and played without any network."""

from __future__ import annotations

import json
import socket
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.call.http import HttpProvider, key_of
from mentis.call.recorder import Recorder, RecordingProvider
from mentis.call.replay import ReplayProvider
from mentis.call.scripted import ScriptedProvider
from mentis.errors import (
    BadInput,
    HomeUnwritable,
    ProviderRefused,
    ProviderUnreachable,
    RouteError,
    StoreError,
)
from mentis.net.recording import Exchange, from_file, to_file
from mentis.net.redact import redact_bytes
from mentis.ports.provider import Provider
from mentis.ports.secrets import ListedSecrets
from mentis.values.rendering import Rendering
from mentis.values.route import Backend, Match, Route

from .conftest import Server

pytestmark = pytest.mark.anyio

KEY = "sk-very-secret-key"
STREAM = b'data: {"text":"Gr\xc3\xbc\xc3\x9fe"}\n\ndata: {"n":2}\n\ndata: [DONE]\n\n'


def rendering(text: str = "Hello") -> Rendering:
    return Rendering("w", {"text": text})


async def ask(provider: Provider, route: Route, text: str = "Hello") -> list[str]:
    async with provider.open(rendering(text), route) as events:
        return [event async for event in events]


async def record(server: Server, folder: Path, *texts: str) -> list[list[str]]:
    provider = HttpProvider(
        partial(key_of, secrets=ListedSecrets({"KEY": KEY})), recorder=Recorder(folder)
    )
    route = Route("r", "openai", "m", url=server.url, key_env="KEY", timeout_seconds=20)
    try:
        return [await ask(provider, route, text) for text in texts]
    finally:
        await provider.aclose()


def replay_of(folder: Path, replays: Backend = "openai", match: Match = "body") -> Route:
    return Route("p", "replay", "m", folder=str(folder), replays=replays, match=match)


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on a socket that is connected or looked up fails the test."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)


async def test_a_recorded_exchange_replays_the_same_events(
    server: Server, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server.body = STREAM
    told = await record(server, tmp_path / "tape", "One", "Two")
    request.getfixturevalue("no_network")
    provider, route = ReplayProvider(), replay_of(tmp_path / "tape")
    assert await ask(provider, route, "Two") == told[1]
    assert await ask(provider, route, "One") == told[0]


async def test_a_file_holds_the_bytes_and_no_key(server: Server, tmp_path: Path) -> None:
    server.body = STREAM + f'data: {{"echo":"{KEY}"}}\n\n'.encode()
    server.headers = {"set-cookie": "s=1", "x-request-id": "q-1"}
    await record(server, tmp_path, f"my key is {KEY} and Bearer abcdefghijklmnopqrstuvwxyz")
    ((name, data),) = files_in(tmp_path).items()
    assert KEY.encode() not in data
    assert b"abcdefghijklmnop" not in data
    exchange = from_file(data, name)
    assert exchange.answer.startswith(STREAM)
    assert exchange.headers == {"content-type": "text/event-stream", "x-request-id": "q-1"}
    assert json.loads(exchange.request)["text"] == "my key is [redacted] and Bearer [redacted]"


async def test_a_request_whose_secrets_were_removed_still_finds_its_recording(
    server: Server, tmp_path: Path
) -> None:
    server.body = STREAM
    told = await record(server, tmp_path, f"my key is {KEY}")
    assert await ask(ReplayProvider(), replay_of(tmp_path), f"my key is {KEY}") == told[0]


@pytest.mark.usefixtures("no_network")
async def test_what_was_not_recorded_is_refused_and_not_sent(tmp_path: Path) -> None:
    with pytest.raises(RouteError, match="no recordings"):
        await ask(ReplayProvider(), replay_of(tmp_path))
    scripted = RecordingProvider(ScriptedProvider(["Hi there"]), Recorder(tmp_path))
    await ask(scripted, Route("s", "scripted", "m"))
    provider, route = ReplayProvider(), replay_of(tmp_path, "scripted")
    with pytest.raises(RouteError, match="no recording is left"):
        await ask(provider, route, "Something else")
    await ask(provider, route)
    with pytest.raises(RouteError, match="no recording is left"):
        await ask(provider, route)


@pytest.mark.usefixtures("no_network")
async def test_a_backend_without_http_is_recorded_too(tmp_path: Path) -> None:
    route = Route("s", "scripted", "m")
    told = await ask(RecordingProvider(ScriptedProvider(["Grüße, du!"]), Recorder(tmp_path)), route)
    assert await ask(ReplayProvider(), replay_of(tmp_path, "scripted")) == told


async def test_recordings_can_be_played_in_their_order(server: Server, tmp_path: Path) -> None:
    server.body = STREAM
    told = await record(server, tmp_path, "One")
    assert await ask(ReplayProvider(), replay_of(tmp_path, match="order"), "Other") == told[0]


async def test_a_refusal_is_replayed_as_one(server: Server, tmp_path: Path) -> None:
    server.status, server.body = 429, b'{"error":{"message":"slow down"}}'
    server.headers = {"retry-after": "3"}
    with pytest.raises(ProviderRefused):
        await record(server, tmp_path, "One")
    with pytest.raises(ProviderRefused, match="429: slow down") as caught:
        await ask(ReplayProvider(), replay_of(tmp_path), "One")
    assert caught.value.facts["retry_after"] == "3"


async def test_an_answer_that_broke_off_breaks_off_again(server: Server, tmp_path: Path) -> None:
    server.body, server.declared_length = STREAM[:40], len(STREAM)
    with pytest.raises(ProviderUnreachable):
        await record(server, tmp_path, "One")
    with pytest.raises(ProviderUnreachable, match="breaks off"):
        await ask(ReplayProvider(), replay_of(tmp_path), "One")


async def test_a_folder_that_cannot_be_made_is_found_before_any_call(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises((StoreError, HomeUnwritable)):
        Recorder(tmp_path / "file" / "tape")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 2}', '{"format": 1}', "\x00"])
def test_a_file_that_is_no_recording_is_named(content: str) -> None:
    with pytest.raises(BadInput, match=r"tape\.json"):
        from_file(content.encode(), "tape.json")


@given(st.binary(), st.binary(), st.booleans())
def test_every_byte_survives_the_file(request_: bytes, answer: bytes, whole: bool) -> None:
    exchange = Exchange("openai", "m", "u", "d", request_, 200, answer, whole=whole)
    assert from_file(to_file(exchange), "x") == exchange


@given(st.binary(), st.binary())
def test_only_the_secret_is_taken_out_of_bytes(before: bytes, after: bytes) -> None:
    found = redact_bytes(before + b" " + KEY.encode() + b" " + after, [KEY])
    assert KEY.encode() not in found


async def test_no_form_of_the_key_gets_into_a_recording(server: Server, tmp_path: Path) -> None:
    """A canary in every place: header, address, body, answer, and a header of the answer."""
    canary = "canary+/key==1234567890"
    forms = ["canary+/key==1234567890", "canary%2Bkey", "canary%2B%2Fkey%3D%3D1234567890"]
    server.body = f'data: {{"echo":"{canary}","json":"canary+\\/key==1234567890"}}\n\n'.encode()
    server.headers = {"x-request-id": f"for {canary}"}
    route = Route(
        "r", "openai", "m", url=f"{server.url}?key={canary}", key_env="KEY", timeout_seconds=20
    )
    provider = HttpProvider(
        partial(key_of, secrets=ListedSecrets({"KEY": canary})), recorder=Recorder(tmp_path)
    )
    await ask(provider, route, f"it is {canary}, or {forms[2]}")
    await provider.aclose()
    assert server.received[0].headers["authorization"] == f"Bearer {canary}"
    ((_, data),) = files_in(tmp_path).items()
    assert b"canary" not in data
