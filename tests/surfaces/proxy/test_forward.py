"""Programs that pin their address go through the forward proxy: targets are recorded, all else is
passed through or refused.
"""

from __future__ import annotations

import base64
import json
import socket
import ssl
import threading
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

import httpx2
import openai
import pytest
from websockets.sync.client import connect
from websockets.sync.server import ServerConnection, serve

from mentis.recorder.authority import LocalAuthority, open_authority
from mentis.recorder.call_copy import ListedCalls
from mentis.recorder.targets import CallTarget, make_target
from mentis.settings.recorder import RecorderSettings
from mentis.surfaces.proxy.guard import ProxyAccess

from .conftest import (
    PATIENCE,
    ProxyChoice,
    Received,
    Upstream,
    json_answer,
    running_proxy,
    upstream_server,
    wait_for_calls,
)

SECRET = "the-secret-of-this-run"  # noqa: S105  # of a test
ANSWER = {
    "id": "c", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop",
                 "message": {"role": "assistant", "content": "Hello"}}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
}  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> LocalAuthority:
    """The authority that every server of the world has its certificate from."""
    return open_authority(tmp_path_factory.mktemp("world") / "ca", {"localhost"})[0]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> LocalAuthority:
    """The recorder's own."""
    return open_authority(tmp_path_factory.mktemp("local") / "ca", {"localhost"})[0]


@dataclass
class Forwarded:
    """A target and another server, both with TLS, and the forward proxy in front of them."""

    base: str
    target: Upstream
    other: Upstream
    local: LocalAuthority
    world: LocalAuthority
    targets: dict[str, CallTarget]
    calls: ListedCalls = field(default_factory=ListedCalls)
    told: list[str] = field(default_factory=list[str])

    @property
    def proxy(self) -> str:
        return self.base.replace("http://", f"http://anybody:{SECRET}@")

    def client(self, trusts: LocalAuthority, proxy: str = "") -> httpx2.Client:
        context = ssl.create_default_context(cadata=trusts.pem().decode())
        return httpx2.Client(proxy=proxy or self.proxy, verify=context, trust_env=False)


@contextmanager
def forwarded_through(
    world: LocalAuthority,
    local: LocalAuthority,
    **more: Any,  # noqa: ANN401  # settings
) -> Generator[Forwarded]:
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("SSL_CERT_FILE", str(world.file))
        for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            patch.delenv(name, raising=False)
        context = world.context("localhost")
        target = stack.enter_context(upstream_server(context))
        other = stack.enter_context(upstream_server(context))
        named: dict[str, Any] = {
            "tunnel_hosts": (urlsplit(other.url).netloc,),
            "drain_seconds": 5,
            **more,
        }
        told: list[str] = []
        choice = ProxyChoice(
            settings=RecorderSettings(**named),
            access=ProxyAccess(SECRET),
            authority=local,
            tell=told.append,
        )
        targets, calls = {"stub": make_target("stub", target.url)}, ListedCalls()
        base = stack.enter_context(running_proxy(targets, calls, choice))
        yield Forwarded(base, target, other, local, world, targets, calls, told)


@pytest.fixture
def forwarded(world: LocalAuthority, local: LocalAuthority) -> Iterator[Forwarded]:
    with forwarded_through(world, local) as made:
        yield made


def ask(base: str, head: str, *, secret: str = SECRET) -> bytes:
    """What is answered to a raw request."""
    key = base64.b64encode(f"u:{secret}".encode()).decode()
    split = urlsplit(base)
    with socket.create_connection((split.hostname, split.port)) as line:
        line.settimeout(PATIENCE)
        more = f"Connection: close\r\nProxy-Authorization: Basic {key}\r\n\r\n"
        line.sendall(f"{head}{more}".encode())
        raw = b""
        while piece := line.recv(65536):
            raw += piece
    return raw


def test_calls_to_a_target_are_recorded_byte_for_byte(forwarded: Forwarded) -> None:
    sent = b'{ "model":"m", "odd" : 1.50 }\n'
    forwarded.target.answer = json_answer(sent[::-1])
    with forwarded.client(forwarded.local) as client:
        for number in range(2):
            got = client.post(
                f"{forwarded.target.url}/v1/messages?n={number}&x=%2F",
                content=sent,
                headers={"x-api-key": "theirs"},
            )
            assert got.content == sent[::-1]
    copies = wait_for_calls(forwarded.calls, 2)
    assert [one.path for one in copies] == [f"/v1/messages?n={n}&x=%2F" for n in range(2)]
    assert [one.request.content() for one in copies] == [sent, sent]
    assert {one.target.name for one in copies} == {"stub"}
    for got in forwarded.target.received:
        assert got.header("host") == urlsplit(forwarded.target.url).netloc
        assert got.header("x-api-key") == "theirs"
        assert got.header("proxy-authorization") == ""
    assert forwarded.told == []


@pytest.mark.slow
def test_the_official_client_goes_through_it(forwarded: Forwarded) -> None:
    forwarded.target.answer = json_answer(json.dumps(ANSWER).encode())
    with openai.OpenAI(
        base_url=f"{forwarded.target.url}/v1",
        api_key="k",
        max_retries=0,
        http_client=cast("Any", forwarded.client(forwarded.local)),
    ) as client:
        got = client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "hi"}]
        )
    assert got.choices[0].message.content == "Hello"
    (copy,) = wait_for_calls(forwarded.calls, 1)
    assert copy.path == "/v1/chat/completions"


def test_a_socket_inside_is_recorded_too(forwarded: Forwarded) -> None:
    def talk(connection: ServerConnection) -> None:
        for message in connection:
            told = {"type": "response.completed", "response": {"id": "resp_1"}}
            connection.send(json.dumps(told) if "create" in str(message) else message)

    with serve(talk, "127.0.0.1", 0, ssl=forwarded.world.context("localhost")) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        port = server.socket.getsockname()[1]
        target = make_target("socket", f"https://localhost:{port}")
        forwarded.targets["socket"] = target
        trusted = ssl.create_default_context(cadata=forwarded.local.pem().decode())
        opened = cast("Any", connect)
        url = f"wss://localhost:{port}/v1/responses"
        with opened(url, proxy=forwarded.proxy, ssl=trusted) as line:
            line.send(json.dumps({"type": "response.create", "model": "m", "input": "hi"}))
            assert json.loads(line.recv(PATIENCE))["type"] == "response.completed"
        copies = wait_for_calls(forwarded.calls, 2)
        server.shutdown()
        thread.join()
    assert [(one.over, one.status) for one in copies] == [("websocket", 200), ("websocket", 101)]


def test_another_server_is_passed_through_unread(forwarded: Forwarded) -> None:
    with forwarded.client(forwarded.world) as client:
        got = client.get(f"{forwarded.other.url}/telemetry")
        assert got.content == b"{}"
    with forwarded.client(forwarded.local) as client, pytest.raises(httpx2.ConnectError):
        client.get(f"{forwarded.other.url}/telemetry")  # we do not speak in its name
    assert forwarded.calls.calls == []


INSIDE = (
    "169.254.169.254:443",
    "2852039166:443",
    "[fe80::1]:443",
    "[::ffff:169.254.169.254]:443",
    "10.0.0.5:443",
    "127.0.0.1:443",
    "localhost:443",
    "[::1]:443",
    "0x7f.1:443",
    "rebound.example:443",
    "1.1.1.1:25",
)
UNREADABLE = ("user@host:443", "host:443:443", ":443", "h\xe9:443", "a/b:443", "*", "host:99999")


def test_no_tunnel_leads_into_the_local_network_or_to_odd_ports(
    forwarded: Forwarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = socket.getaddrinfo

    def look_up(host: str | bytes, *more: Any, **named: Any) -> Any:  # noqa: ANN401  # as the library has it
        asked = host if isinstance(host, str) else host.decode()
        return real("127.0.0.1" if asked == "rebound.example" else host, *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    for place in INSIDE:
        raw = ask(forwarded.base, f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n")
        assert raw.startswith(b"HTTP/1.1 403 "), (place, raw)
        plain = place.replace(":443", ":80")
        raw = ask(forwarded.base, f"GET http://{plain}/latest HTTP/1.1\r\nHost: {plain}\r\n")
        assert raw.startswith(b"HTTP/1.1 403 "), (plain, raw)
    assert forwarded.calls.calls == []


def test_a_place_that_cannot_be_read_in_one_way_only_is_refused(forwarded: Forwarded) -> None:
    for place in UNREADABLE:
        raw = ask(forwarded.base, f"CONNECT {place} HTTP/1.1\r\nHost: x\r\n")
        assert raw.split(b" ")[1:2] in ([b"403"], [b"400"]), (place, raw)


@pytest.mark.slow
def test_tunnels_can_be_closed(world: LocalAuthority, local: LocalAuthority) -> None:
    with forwarded_through(world, local, tunnels="none", tunnel_hosts=()) as forwarded:
        raw = ask(forwarded.base, "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n")
        assert raw.startswith(b"HTTP/1.1 403 ")
        assert b"recorder.tunnel_hosts" in raw
        with forwarded.client(local) as client:
            assert client.get(f"{forwarded.target.url}/v1/models").status_code == 200


def test_without_the_secret_nobody_goes_through(forwarded: Forwarded) -> None:
    where = urlsplit(forwarded.target.url).netloc
    for secret in ("wrong", ""):
        head = f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n"
        raw = ask(forwarded.base, head, secret=secret)
        assert raw.startswith(b"HTTP/1.1 407 ")
        assert b'proxy-authenticate: Basic realm="mentis record"' in raw
    with forwarded.client(forwarded.local, proxy=forwarded.base) as client:
        with pytest.raises(httpx2.ProxyError, match="407"):
            client.get(f"{forwarded.target.url}/v1/models")
        plain = client.get("http://example.org/")
    assert plain.status_code == 407
    assert forwarded.target.received == []


def test_a_program_that_does_not_trust_us_is_told_about_once(forwarded: Forwarded) -> None:
    for _ in range(2):
        with forwarded.client(forwarded.world) as client, pytest.raises(httpx2.ConnectError):
            client.get(f"{forwarded.target.url}/v1/models")
    with forwarded.client(forwarded.local) as client:
        assert client.get(f"{forwarded.target.url}/v1/models").status_code == 200
    assert len(forwarded.told) == 1
    assert "broke off its connection to localhost" in forwarded.told[0]
    assert forwarded.target.received[0].line == "GET /v1/models HTTP/1.1"


def test_requests_without_encryption_name_their_server(forwarded: Forwarded) -> None:
    with upstream_server() as plain, upstream_server() as named:
        forwarded.targets["plain"] = make_target("plain", plain.url)
        with forwarded.client(forwarded.local) as client:
            got = client.post(f"{plain.url}/v1/messages?a=%2F", content=b"{}")
            assert got.status_code == 200
            assert client.get(f"{named.url}/x").status_code == 403
        assert plain.received[0].line == "POST /v1/messages?a=%2F HTTP/1.1"
        assert plain.received[0].header("host") == urlsplit(plain.url).netloc
        assert named.received == []
        (copy,) = wait_for_calls(forwarded.calls, 1)
    assert (copy.target.name, copy.path) == ("plain", "/v1/messages?a=%2F")


@pytest.mark.slow
def test_a_plain_request_to_a_named_host_is_passed_on_and_leaves_no_copy(
    world: LocalAuthority, local: LocalAuthority
) -> None:
    with upstream_server() as named:
        place = urlsplit(named.url).netloc
        with forwarded_through(world, local, tunnel_hosts=(place,)) as forwarded:
            with forwarded.client(local) as client:
                got = client.get(f"{named.url}/x?y", headers={"cookie": "c=1"})
                assert got.status_code == 200
            assert forwarded.calls.calls == []
        assert named.received[0].line == "GET /x?y HTTP/1.1"
        assert (named.received[0].header("host"), named.received[0].header("cookie")) == (
            place,
            "c=1",
        )


def test_a_redirect_to_another_place_is_for_the_program_to_follow(forwarded: Forwarded) -> None:
    def answer(_request: Received, out: BinaryIO) -> None:
        out.write(
            b"HTTP/1.1 307 There\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n"
        )

    forwarded.target.answer = answer
    with forwarded.client(forwarded.local) as client:
        got = client.get(f"{forwarded.target.url}/v1/models", follow_redirects=True)
    assert got.status_code == 403
    assert [one.header("location") for one in forwarded.target.received] == [""]


def test_tunnels_go_through_the_proxy_that_the_recorder_was_given(
    forwarded: Forwarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def refuse(request: Received, out: BinaryIO) -> None:
        asked.append(f"{request.line} {request.header('proxy-authorization')}")
        out.write(b"HTTP/1.1 503 No\r\n\r\n")

    with upstream_server() as corporate:
        corporate.answer = refuse
        monkeypatch.setenv("HTTPS_PROXY", corporate.url.replace("http://", "http://a:b@"))
        monkeypatch.setenv("NO_PROXY", "")
        monkeypatch.setenv("no_proxy", "")
        raw = ask(forwarded.base, "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n")
        metadata = ask(forwarded.base, "CONNECT 169.254.169.254:443 HTTP/1.1\r\nHost: m\r\n")
    assert raw.startswith(b"HTTP/1.1 502 ")
    assert metadata.startswith(b"HTTP/1.1 403 ")
    assert asked == ["CONNECT example.org:443 HTTP/1.1 Basic YTpi"]


def test_without_forward_it_is_no_proxy() -> None:
    with running_proxy({}, ListedCalls()) as base:
        raw = ask(base, "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n")
        assert raw.startswith(b"HTTP/1.1 405 ")
        raw = ask(base, "GET http://example.org/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n")
        assert raw.startswith(b"HTTP/1.1 405 ")


def test_a_program_that_leaves_in_the_middle_ends_the_call_inside_too(forwarded: Forwarded) -> None:
    ended = threading.Event()

    def answer(request: Received, out: BinaryIO) -> None:
        out.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n")
        request.connection.settimeout(PATIENCE)
        if request.connection.recv(1) == b"":
            ended.set()

    forwarded.target.answer = answer
    with (
        forwarded.client(forwarded.local) as client,
        client.stream("POST", f"{forwarded.target.url}/v1/messages", content=b"{}") as response,
    ):
        assert next(response.iter_raw()) == b"half"
    assert ended.wait(PATIENCE)
    (copy,) = wait_for_calls(forwarded.calls, 1)
    assert (copy.end, copy.answer.content()) == ("left", b"half")
