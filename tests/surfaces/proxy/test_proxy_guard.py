"""Who may call the proxy, how much, and what is said of it: nothing of it reaches the target."""

from __future__ import annotations

import socket
from contextlib import suppress
from urllib.parse import urlsplit

import httpx2
import pytest
from tests.constants import constants_set

from mentis.recorder.call_copy import ListedCalls
from mentis.recorder.targets import make_target
from mentis.settings.recorder import RecorderSettings
from mentis.surfaces.proxy.guard import ProxyAccess
from mentis.web.guard import AccessRecord
from mentis.web.tokens import AccessToken, PersonTrust, Scope, TokenPerson

from .conftest import (
    PATIENCE,
    Proxied,
    ProxyChoice,
    running_proxy,
    upstream_server,
    wait_for_calls,
)

SECRET = "the-secret-of-this-run"  # noqa: S105  # of a test


def token(scope: Scope, trust: PersonTrust) -> AccessToken:
    return AccessToken("laptop", scope, TokenPerson("ada", "Ada", trust), "digest")


KNOWN = {
    "mine": token("chat", "owner"),
    "guest": token("admin", "guest"),
    "reader": token("read", "owner"),
}


def send_raw(base: str, data: bytes) -> bytes:
    split = urlsplit(base)
    with socket.create_connection((split.hostname, split.port)) as line:
        line.settimeout(PATIENCE)
        line.sendall(data)
        raw = b""
        while piece := line.recv(65536):
            raw += piece
    return raw


def test_the_secret_stands_in_the_path_and_does_not_go_on() -> None:
    calls, seen = ListedCalls(), list[AccessRecord]()
    choice = ProxyChoice(access=ProxyAccess(SECRET, KNOWN.get), on_access=seen.append)
    with upstream_server() as upstream:
        targets = {"stub": make_target("stub", upstream.url)}
        with running_proxy(targets, calls, choice) as base:
            for good in (SECRET, "mine"):
                url = f"{base}/t/{good}/stub/v1/messages?x=%2F"
                got = httpx2.post(url, content=b"{}", headers={"authorization": "Bearer theirs"})
                assert got.status_code == 200
            for bad in ("/t/wrong", "/t/guest", "/t/reader", "/t/", "/t", "", f"/{SECRET}"):
                got = httpx2.post(f"{base}{bad}/stub/v1/messages", content=b"{}")
                assert (got.status_code, got.json()["code"]) == (401, "access-denied"), bad
            assert httpx2.get(f"{base}/healthz").json() == {"status": "ok"}
            assert httpx2.get(f"{base}/metrics").status_code == 401
            figures = httpx2.get(f"{base}/t/{SECRET}/metrics").text
        lines = [one.line for one in upstream.received]
        sent = [one.headers for one in upstream.received]
        wait_for_calls(calls, 2)
    assert lines == ["POST /v1/messages?x=%2F HTTP/1.1"] * 2
    names = {name for name, _ in sent[0]}
    assert "x-request-id" not in names
    assert ("authorization", "Bearer theirs") in sent[0]
    assert [one.path for one in calls.calls] == ["/v1/messages?x=%2F"] * 2
    told = 'mentis_http_requests_total{method="POST",path="stub",status="200"} 2'
    assert told in figures
    logged = "".join(map(repr, seen))
    assert SECRET not in logged.replace(f"path='/{SECRET}/stub", "")
    assert "theirs" not in logged
    assert (seen[0].path, seen[0].status, seen[0].received) == ("/stub/v1/messages", 200, 2)


def test_guessing_the_secret_makes_the_address_wait_but_not_who_knows_it() -> None:
    settings = RecorderSettings(failures_per_minute=3, drain_seconds=1)
    choice = ProxyChoice(access=ProxyAccess(SECRET), settings=settings)
    with upstream_server() as upstream:
        targets = {"stub": make_target("stub", upstream.url)}
        with running_proxy(targets, ListedCalls(), choice) as base:
            codes = [httpx2.get(f"{base}/t/{n}/stub/v1/models").status_code for n in range(5)]
            good = httpx2.get(f"{base}/t/{SECRET}/stub/v1/models").status_code
    assert codes == [401, 401, 401, 429, 429]
    assert good == 200


@pytest.mark.parametrize("length", [True, False])
def test_a_request_that_is_too_large_is_refused_and_its_call_to_the_target_ended(
    length: bool,
) -> None:
    settings = RecorderSettings(request_bytes=1024, drain_seconds=1)
    calls, body = ListedCalls(), b"x" * 2000
    with upstream_server() as upstream:
        targets = {"stub": make_target("stub", upstream.url)}
        with running_proxy(targets, calls, ProxyChoice(settings=settings)) as base:
            content = body if length else iter([body])
            got = httpx2.post(f"{base}/stub/v1/messages", content=content)
        assert upstream.received == []
    assert (got.status_code, got.json()["code"]) == (413, "request-refused")
    assert "recorder.request_bytes" in got.json()["hint"]
    ends = [(one.end, one.reason) for one in calls.calls]
    assert ends == ([] if length else [("broken", "the body has more than 1024 bytes")])


def test_a_body_that_does_not_come_and_a_head_that_does_not_come_are_given_up() -> None:
    settings = RecorderSettings(body_seconds=0.05, drain_seconds=1)
    calls = ListedCalls()
    with constants_set(RecorderSettings, header_seconds=0.05), upstream_server() as upstream:
        targets = {"stub": make_target("stub", upstream.url)}
        with running_proxy(targets, calls, ProxyChoice(settings=settings)) as base:
            raw = send_raw(
                base,
                b"POST /stub/v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
            )
            assert send_raw(base, b"POST /stub/v1/mess") == b""
    assert raw.startswith(b"HTTP/1.1 408 ")
    assert b"recorder.body_seconds" in raw
    assert [(one.end, one.request.content()) for one in calls.calls] == [("broken", b"{")]


def test_a_head_that_is_too_long_is_refused(proxied: Proxied) -> None:
    lines = b"Host: localhost\r\nConnection: close\r\nX: %s\r\n\r\n" % (b"x" * 300_000)
    with suppress(ConnectionResetError, BrokenPipeError):  # it may be closed before all is sent
        raw = send_raw(proxied.base, b"GET /stub/v1 HTTP/1.1\r\n" + lines)
        assert raw.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 431 "))  # as its pieces came
    assert proxied.upstream.received == []


def test_more_requests_than_allowed_at_once_are_told_to_come_again() -> None:
    settings = RecorderSettings(at_once=1, drain_seconds=1)
    with upstream_server() as upstream:
        targets = {"stub": make_target("stub", upstream.url)}
        with running_proxy(targets, ListedCalls(), ProxyChoice(settings=settings)) as base:
            split = urlsplit(base)
            with socket.create_connection((split.hostname, split.port)) as line:
                line.sendall(
                    b"POST /stub/v1 HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
                    b"Content-Length: 9\r\n\r\n"
                )
                assert line.recv(100).startswith(b"HTTP/1.1 100 ")  # it is being answered
                got = httpx2.get(f"{base}/stub/v1/models")
    assert (got.status_code, got.headers["retry-after"]) == (503, "1")
