"""Calls pass through the proxy as if it was not there, and leave a copy."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

import anthropic
import httpx2
import openai
import pytest

from mentis.recorder.call_copy import ListedCalls
from mentis.recorder.targets import make_target

from .conftest import (
    PATIENCE,
    Answer,
    Proxied,
    ProxyChoice,
    Received,
    json_answer,
    running_proxy,
    upstream_server,
    wait_for_calls,
)

GOLDEN = Path(__file__).parents[2] / "render" / "golden"
PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages?beta=true",
    "gemini": "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
}
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def bodies(wire: str) -> list[bytes]:
    files = sorted(GOLDEN.glob(f"{wire}.*.json"))
    payloads = [json.loads(file.read_text("utf-8"))["payload"] for file in files]
    # As programs write them: close, spread out, and with a key that nobody knows.
    written = [json.dumps(one, ensure_ascii=number % 2 == 0) for number, one in enumerate(payloads)]
    odd = '{ "unknown_field" : 1.50, "a":"\\u00e9\\/", "model":"m" }\n'
    return [text.encode() for text in (*written, json.dumps(payloads[0], indent=3), odd)]


@pytest.mark.parametrize("wire", PATHS)
def test_bodies_of_every_format_arrive_byte_for_byte_in_both_directions(
    proxied: Proxied, wire: str
) -> None:
    sent = bodies(wire)
    assert len(sent) > 3
    for body in sent:
        proxied.upstream.answer = json_answer(body[::-1])
        answer = httpx2.post(f"{proxied.url}{PATHS[wire]}", content=body)
        assert answer.content == body[::-1]
        got = proxied.upstream.received[-1]
        assert got.body == body
        assert got.line == f"POST {PATHS[wire]} HTTP/1.1"
    copies = wait_for_calls(proxied.calls, len(sent))
    assert [copy.request.content() for copy in copies] == sent
    assert [copy.answer.content() for copy in copies] == [body[::-1] for body in sent]


def test_headers_that_nobody_knows_are_kept_and_those_of_one_connection_are_not(
    proxied: Proxied,
) -> None:
    def answer(_request: Received, out: BinaryIO) -> None:
        out.write(
            b"HTTP/1.1 418 Odd\r\nX-New: a\r\nX-New: b\r\nSet-Cookie: c=1\r\nServer: theirs\r\n"
            b"Keep-Alive: timeout=5\r\nContent-Length: 2\r\n\r\nok"
        )

    proxied.upstream.answer = answer
    split = urlsplit(proxied.url)
    with socket.create_connection((split.hostname, split.port)) as line:
        line.sendall(
            b"POST /stub/v1/messages?beta=true&x=%2F HTTP/1.1\r\nHost: localhost\r\n"
            b"anthropic-beta: one-2026,two-2026\r\nanthropic-beta: three\r\nX-Unknown: \xe9\r\n"
            b"Connection: close, X-Private\r\nX-Private: no\r\nTE: trailers\r\n"
            b"Accept-Encoding: br\r\nContent-Length: 2\r\n\r\n{}"
        )
        raw = b""
        while piece := line.recv(65536):
            raw += piece
    got = proxied.upstream.received[0]
    assert got.line == "POST /v1/messages?beta=true&x=%2F HTTP/1.1"
    assert got.headers == [
        ("host", urlsplit(proxied.upstream.url).netloc),
        ("anthropic-beta", "one-2026,two-2026"),
        ("anthropic-beta", "three"),
        ("x-unknown", "\xe9"),
        ("accept-encoding", "br"),
        ("content-length", "2"),
    ]
    head, _, body = raw.partition(b"\r\n\r\n")
    lines = [one.lower() for one in head.split(b"\r\n")]
    assert lines[0].startswith(b"http/1.1 418")
    assert lines[1:-1] == [
        b"x-new: a",
        b"x-new: b",
        b"set-cookie: c=1",
        b"server: theirs",
        b"content-length: 2",
    ]
    assert lines[-1] == b"connection: close"
    assert body == b"ok"


def test_a_cookie_of_one_answer_is_not_sent_with_the_next_call(proxied: Proxied) -> None:
    def answer(_request: Received, out: BinaryIO) -> None:
        out.write(b"HTTP/1.1 200 OK\r\nSet-Cookie: c=1\r\nContent-Length: 0\r\n\r\n")

    proxied.upstream.answer = answer
    for _ in range(2):
        httpx2.get(f"{proxied.url}/v1/models")
    assert [one.header("cookie") for one in proxied.upstream.received] == ["", ""]
    assert [one.header("content-length") for one in proxied.upstream.received] == ["", ""]


def test_a_packed_answer_is_passed_on_as_it_is(proxied: Proxied) -> None:
    packed = gzip.compress(b'{"text": "hello"}')

    def answer(_request: Received, out: BinaryIO) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n"
        out.write(head % len(packed) + packed)

    proxied.upstream.answer = answer
    with httpx2.stream("GET", f"{proxied.url}/v1/x") as response:
        assert b"".join(response.iter_raw()) == packed
        assert response.headers["content-length"] == str(len(packed))


def test_each_chunk_of_a_stream_is_passed_on_before_the_next_one_is_there(
    proxied: Proxied,
) -> None:
    read = threading.Semaphore(0)
    events = [b"event: a\ndata: 1\n\n", b"data: half", b" a line\n\ndata: 3\n\n", b": ping\n\n"]

    def answer(_request: Received, out: BinaryIO) -> None:
        out.write(STREAM)
        for event in events:
            out.write(chunk(event))
            assert read.acquire(timeout=PATIENCE)
        out.write(b"0\r\n\r\n")

    proxied.upstream.answer = answer
    heard: list[bytes] = []
    with httpx2.stream("POST", f"{proxied.url}/v1/responses", content=b"{}") as response:
        for piece in response.iter_raw():
            heard.append(piece)
            read.release()
    assert heard == events
    (copy,) = wait_for_calls(proxied.calls, 1)
    assert copy.answer.pieces == events
    assert (copy.end, copy.status) == ("answered", 200)


def test_a_body_in_chunks_is_passed_on_in_chunks(proxied: Proxied) -> None:
    def pieces() -> Iterator[bytes]:
        yield b'{"a": '
        yield b"1}"

    httpx2.post(f"{proxied.url}/v1/responses", content=pieces())
    got = proxied.upstream.received[0]
    assert (got.body, got.header("transfer-encoding")) == (b'{"a": 1}', "chunked")


def test_a_program_that_leaves_in_the_middle_ends_the_call_to_the_target(
    proxied: Proxied,
) -> None:
    ended = threading.Event()

    def answer(request: Received, out: BinaryIO) -> None:
        out.write(STREAM + chunk(b"data: 1\n\n"))
        request.connection.settimeout(PATIENCE)
        if request.connection.recv(1) == b"":
            ended.set()

    proxied.upstream.answer = answer
    with httpx2.stream("POST", f"{proxied.url}/v1/messages", content=b"{}") as response:
        assert next(response.iter_raw()) == b"data: 1\n\n"
    assert ended.wait(PATIENCE)
    (copy,) = wait_for_calls(proxied.calls, 1)
    assert (copy.end, copy.answer.content()) == ("left", b"data: 1\n\n")


LAST_EVENTS = [
    b"data: [DONE]\n\n",
    b'event: message_stop\r\ndata: {"type": "message_stop"}\r\n\r\n',
    b'event: response.completed\ndata: {"type": "response.completed"}\n\n',
]


@pytest.mark.parametrize("last", LAST_EVENTS)
def test_a_program_that_stops_reading_at_the_last_event_was_answered(
    proxied: Proxied, last: bytes
) -> None:
    def answer(request: Received, out: BinaryIO) -> None:
        out.write(STREAM + chunk(b"data: 1\n\n" + last[:9]) + chunk(last[9:]))
        request.connection.settimeout(PATIENCE)
        assert request.connection.recv(1) == b""

    proxied.upstream.answer = answer
    with httpx2.stream("POST", f"{proxied.url}/v1/messages", content=b"{}") as response:
        read = b""
        for piece in response.iter_raw():
            read += piece
            if read.endswith(last):
                break
    (copy,) = wait_for_calls(proxied.calls, 1)
    assert (copy.end, copy.answer.content()) == ("answered", b"data: 1\n\n" + last)


def test_a_program_that_does_not_wait_for_a_hanging_target_lets_go_of_it(
    proxied: Proxied,
) -> None:
    arrived, ended = threading.Event(), threading.Event()

    def answer(request: Received, _out: BinaryIO) -> None:
        arrived.set()
        request.connection.settimeout(PATIENCE)
        if request.connection.recv(1) == b"":
            ended.set()

    proxied.upstream.answer = answer
    split = urlsplit(proxied.url)
    with socket.create_connection((split.hostname, split.port)) as line:
        line.sendall(
            b"POST /stub/v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"
        )
        assert arrived.wait(PATIENCE)
    assert ended.wait(PATIENCE)
    (copy,) = wait_for_calls(proxied.calls, 1)
    assert (copy.end, copy.status) == ("left", 0)


def test_an_answer_that_breaks_off_breaks_off_for_the_program_too(proxied: Proxied) -> None:
    def answer(_request: Received, out: BinaryIO) -> None:
        out.write(STREAM + chunk(b"data: 1\n\n") + b"ff\r\ndata: ha")

    proxied.upstream.answer = answer
    with (
        httpx2.stream("POST", f"{proxied.url}/v1/messages", content=b"{}") as response,
        pytest.raises(httpx2.RemoteProtocolError),
    ):
        for _ in response.iter_raw():
            pass
    (copy,) = wait_for_calls(proxied.calls, 1)
    assert copy.end == "broken"
    assert copy.answer.content().startswith(b"data: 1\n\n")


def test_an_error_of_the_provider_is_passed_on_as_it_is(proxied: Proxied) -> None:
    said = b'{"error": {"type": "overloaded_error"}}'

    def answer(_request: Received, out: BinaryIO) -> None:
        head = b"HTTP/1.1 500 Oh\r\nretry-after: 7\r\ncontent-length: %d\r\n\r\n"
        out.write(head % len(said) + said)

    proxied.upstream.answer = answer
    got = httpx2.post(f"{proxied.url}/v1/messages", content=b"{}")
    assert (got.status_code, got.headers["retry-after"], got.content) == (500, "7", said)


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/v1/messages", ("error", "api_error", None)),
        ("/v1/chat/completions", (None, "server_error", None)),
        ("/v1beta/models/m:generateContent", (None, None, "UNAVAILABLE")),
    ],
)
def test_a_target_that_cannot_be_reached_is_an_error_in_the_programs_format(
    path: str, form: tuple[str | None, ...]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    calls = ListedCalls()
    targets = {"stub": make_target("stub", f"http://127.0.0.1:{port}")}
    with running_proxy(targets, calls) as base:
        got = httpx2.post(f"{base}/stub{path}", content=b"{}")
    assert got.status_code == 502
    told = cast("dict[str, Any]", got.json())
    assert "could not be reached" in told["error"]["message"]
    assert (told.get("type"), told["error"].get("type"), told["error"].get("status")) == form
    assert [one.end for one in calls.calls] == ["unreachable"]


def test_a_redirect_is_passed_on_and_never_followed(proxied: Proxied) -> None:
    with upstream_server() as other:

        def answer(_request: Received, out: BinaryIO) -> None:
            out.write(
                b"HTTP/1.1 307 Elsewhere\r\nlocation: %s/v1\r\ncontent-length: 0\r\n\r\n"
                % other.url.encode()
            )

        proxied.upstream.answer = answer
        got = httpx2.get(f"{proxied.url}/v1/models", headers={"x-api-key": "secret"})
        assert (got.status_code, got.headers["location"]) == (307, f"{other.url}/v1")
        assert other.received == []


@pytest.mark.parametrize(
    "path",
    [
        "/unknown/v1/messages",
        "/http://169.254.169.254/latest/meta-data",
        "/169.254.169.254/latest",
        "//169.254.169.254/latest",
        "/",
    ],
)
def test_a_target_that_is_not_named_is_refused(proxied: Proxied, path: str) -> None:
    split = urlsplit(proxied.base)
    with socket.create_connection((split.hostname, split.port)) as line:
        line.sendall(
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        )
        raw = b""
        while piece := line.recv(65536):
            raw += piece
    assert raw.startswith(b"HTTP/1.1 404")
    assert proxied.upstream.received == []
    assert proxied.calls.calls == []


def test_a_path_that_looks_like_a_host_goes_to_the_target_itself(proxied: Proxied) -> None:
    httpx2.get(f"{proxied.url}//169.254.169.254/x")
    httpx2.get(f"{proxied.url}/@169.254.169.254/x")
    assert [one.line for one in proxied.upstream.received] == [
        "GET //169.254.169.254/x HTTP/1.1",
        "GET /@169.254.169.254/x HTTP/1.1",
    ]


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
    ],
)
def test_a_web_page_of_another_site_is_refused(proxied: Proxied, headers: dict[str, str]) -> None:
    got = httpx2.post(f"{proxied.url}/v1/messages", content=b"{}", headers=headers)
    assert got.status_code == (421 if "host" in headers else 403)
    assert got.headers["content-type"] == "application/problem+json"
    assert proxied.upstream.received == []


def test_a_key_does_not_travel_unencrypted_to_another_machine() -> None:
    calls = ListedCalls()
    targets = {"lan": make_target("lan", "http://192.0.2.1:4000")}
    with running_proxy(targets, calls) as base:
        got = httpx2.post(f"{base}/lan/v1/messages", content=b"{}", headers={"x-api-key": "k"})
    assert got.status_code == 403
    assert "unencrypted" in got.json()["detail"]


def test_an_offer_of_another_protocol_does_not_keep_a_call_from_going_on(
    proxied: Proxied,
) -> None:
    asked = {
        "connection": "upgrade, http2-settings",
        "upgrade": "h2c",
        "http2-settings": "AAMAAABk",
    }
    assert httpx2.post(f"{proxied.url}/v1/x", content=b"{}", headers=asked).status_code == 200
    assert proxied.upstream.received[0].header("upgrade") == ""
    assert proxied.upstream.received[0].header("http2-settings") == ""


def test_a_body_longer_than_is_kept_is_passed_on_whole(proxied: Proxied) -> None:
    calls, body = ListedCalls(), b"x" * 300_000
    targets = {"stub": make_target("stub", proxied.upstream.url)}
    proxied.upstream.answer = json_answer(body)
    with running_proxy(targets, calls, ProxyChoice(body_bytes=1000)) as base:
        got = httpx2.post(f"{base}/stub/v1/messages", content=body)
    assert got.content == proxied.upstream.received[0].body == body
    (copy,) = calls.calls
    assert (copy.request.whole, copy.request.length, copy.size) == (False, 300_000, 0)


CHAT = [
    {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
     "choices": [{"index": 0, "delta": {"role": "assistant", "content": text}}]}
    for text in ("Hel", "lo")
]  # fmt: skip
MESSAGE: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"id": "m1", "type": "message", "role": "assistant",
     "model": "m", "content": [], "stop_reason": None, "stop_sequence": None,
     "usage": {"input_tokens": 3, "output_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
     "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
]  # fmt: skip


def stream_answer(events: list[dict[str, Any]], last: bytes = b"") -> Answer:
    def answer(_request: Received, out: BinaryIO) -> None:
        out.write(STREAM)
        for event in events:
            named = f"event: {event['type']}\n" if "type" in event else ""
            out.write(chunk(f"{named}data: {json.dumps(event)}\n\n".encode()))
        out.write((chunk(last) if last else b"") + b"0\r\n\r\n")

    return answer


def test_the_official_openai_client_streams_through_it(proxied: Proxied) -> None:
    proxied.upstream.answer = stream_answer(CHAT, b"data: [DONE]\n\n")
    with openai.OpenAI(base_url=f"{proxied.url}/v1", api_key="k", max_retries=0) as client:
        pieces = client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "hi"}], stream=True
        )
        assert "".join(one.choices[0].delta.content or "" for one in pieces) == "Hello"
    assert proxied.upstream.received[0].header("authorization") == "Bearer k"


def test_the_official_anthropic_client_streams_through_it(proxied: Proxied) -> None:
    proxied.upstream.answer = stream_answer(MESSAGE)
    with (
        anthropic.Anthropic(base_url=proxied.url, api_key="k", max_retries=0) as client,
        client.messages.stream(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
        ) as stream,
    ):
        assert stream.get_final_text() == "Hello"
    got = proxied.upstream.received[0]
    assert got.line == "POST /v1/messages HTTP/1.1"
    assert got.header("authorization") == "Bearer k"
