"""WebSockets pass through the proxy as they are, and the questions in them are calls."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.sync.server import Server, ServerConnection, serve
from websockets.typing import Subprotocol

from mentis.recorder.call_copy import ListedCalls
from mentis.recorder.reading import read_call
from mentis.recorder.targets import make_target

from .conftest import PATIENCE, Proxied, Received, running_proxy, wait_for_calls

ASKED = {
    "type": "response.create",
    "model": "gpt-5.6",
    "input": [{"role": "user", "content": "hi"}],
}
COMPLETED: dict[str, Any] = {
    "type": "response.completed",
    "response": {
        "id": "resp_1", "object": "response", "status": "completed", "model": "gpt-5.6",
        "output": [{"type": "message", "id": "m", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": "Hello", "annotations": []}]}],
        "usage": {"input_tokens": 30, "output_tokens": 2, "total_tokens": 32,
                  "input_tokens_details": {"cached_tokens": 10}},
    },
}  # fmt: skip
EVENTS: list[dict[str, Any]] = [
    {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}},
    {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Hello"},
    COMPLETED,
]


@dataclass
class SocketServer:
    """A provider's; `talk` is what it does with a connection."""

    talk: Callable[[ServerConnection], None]
    requests: list[Any] = field(default_factory=list[Any])
    server: Server | None = None

    def handle(self, connection: ServerConnection) -> None:
        self.requests.append(connection.request)
        self.talk(connection)


@contextmanager
def proxied_socket(
    talk: Callable[[ServerConnection], None], calls: ListedCalls
) -> Generator[tuple[str, SocketServer]]:
    stub = SocketServer(talk)
    chosen = [Subprotocol("second")]
    with serve(stub.handle, "127.0.0.1", 0, subprotocols=chosen) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        port = server.socket.getsockname()[1]
        targets = {"stub": make_target("stub", f"http://127.0.0.1:{port}")}
        with running_proxy(targets, calls) as base:
            yield base.replace("http://", "ws://") + "/stub/v1/responses", stub
        server.shutdown()
        thread.join()


def dial(url: str, **more: Any) -> AbstractContextManager[ClientConnection]:  # noqa: ANN401  # options of the library
    offered = [Subprotocol("first"), Subprotocol("second")]
    opened = cast("Callable[..., Any]", connect)
    return opened(url, proxy=None, open_timeout=PATIENCE, subprotocols=offered, **more)


def echo(connection: ServerConnection) -> None:
    for message in connection:
        connection.send(message)
        if message == "bye":
            connection.close(4321, "that was it")


def answer_all(connection: ServerConnection) -> None:
    for message in connection:
        if json.loads(message)["type"] == "response.create":
            for event in EVENTS:
                connection.send(json.dumps(event))


@pytest.mark.parametrize("packing", [None, "deflate"])
def test_messages_of_both_kinds_pass_in_both_directions_with_the_code_they_end_with(
    packing: str | None,
) -> None:
    calls, long = ListedCalls(), "x" * 200_000
    with proxied_socket(echo, calls) as (url, stub):
        with dial(
            f"{url}?a=%2F",
            compression=packing,
            additional_headers={"Authorization": "Bearer the-key-it-has", "X-Unknown": "u"},
        ) as line:
            assert line.subprotocol == "second"
            for message in ("héllo", b"\x00\xff", long, ""):
                line.send(message)
                assert line.recv(PATIENCE) == message
            line.send(["in ", "two"])
            assert line.recv(PATIENCE) == "in two"
            assert line.ping().wait(PATIENCE)
            line.send("bye")
            assert line.recv(PATIENCE) == "bye"
            with pytest.raises(ConnectionClosed):
                line.recv(PATIENCE)
            assert (line.close_code, line.close_reason) == (4321, "that was it")
        (asked,) = stub.requests
        assert asked.path == "/v1/responses?a=%2F"
        assert asked.headers["Authorization"] == "Bearer the-key-it-has"
        assert asked.headers["X-Unknown"] == "u"
        (copy,) = wait_for_calls(calls, 1)
    assert (copy.over, copy.status, copy.end, copy.size) == ("websocket", 101, "answered", 0)
    assert copy.answer.length > (100 if packing else 200_000)


@pytest.mark.parametrize("packing", [None, "deflate"])
def test_a_question_in_a_socket_is_a_call_as_one_over_http_would_be(packing: str | None) -> None:
    calls = ListedCalls()
    with proxied_socket(answer_all, calls) as (url, _):
        with dial(url, compression=packing) as line:
            for number in range(2):
                line.send(json.dumps({**ASKED, "instructions": f"call {number}"}))
                heard = [json.loads(line.recv(PATIENCE)) for _ in EVENTS]
                assert heard == EVENTS
        copies = wait_for_calls(calls, 3)
    reads = [read_call(copy, ()) for copy in copies]
    assert [one.wire for one in reads] == ["openai-responses", "openai-responses", None]
    assert [one.payload.get("instructions") for one in reads[:2]] == ["call 0", "call 1"]
    first = reads[0]
    assert first.reply is not None
    assert first.reply.usage is not None
    assert (first.reply.usage.input, first.reply.usage.cache_read) == (30, 10)
    assert (first.model, first.reply_id, first.copy.status) == ("gpt-5.6", "resp_1", 200)
    assert reads[2].request.left_out.startswith("messages of a WebSocket")


def test_a_program_that_leaves_in_the_middle_of_an_answer_is_a_call_that_says_so() -> None:
    calls, ended = ListedCalls(), threading.Event()

    def talk(connection: ServerConnection) -> None:
        connection.recv()
        connection.send(json.dumps(EVENTS[0]))
        with pytest.raises(ConnectionClosed):
            connection.recv(PATIENCE)
        ended.set()

    with proxied_socket(talk, calls) as (url, _):
        with dial(url, close_timeout=0) as line:
            line.send(json.dumps(ASKED))
            line.recv(PATIENCE)
            line.socket.shutdown(socket.SHUT_RDWR)
            assert ended.wait(PATIENCE)
        copies = wait_for_calls(calls, 2)
    assert [(one.end, one.status) for one in copies] == [("left", 200), ("left", 101)]


def test_an_answer_in_a_socket_comes_to_its_end_before_the_recorder_stops() -> None:
    calls, go = ListedCalls(), threading.Event()

    def talk(connection: ServerConnection) -> None:
        connection.recv()
        connection.send(json.dumps(EVENTS[0]))
        assert go.wait(PATIENCE)
        for event in EVENTS[1:]:
            connection.send(json.dumps(event))

    with ExitStack() as stack:
        url, _ = stack.enter_context(proxied_socket(talk, calls))
        stopping = threading.Thread(target=stack.close)
        with dial(url) as line:
            line.send(json.dumps(ASKED))
            heard = [json.loads(line.recv(PATIENCE))]
            stopping.start()
            _wait_until_closed(url)
            go.set()
            heard += [json.loads(line.recv(PATIENCE)) for _ in EVENTS[1:]]
        stopping.join(PATIENCE)
    assert heard == EVENTS
    assert [(one.end, one.status) for one in calls.calls] == [("answered", 200), ("answered", 101)]


def _wait_until_closed(url: str) -> None:
    """Until nobody is let in any more."""
    split, over = urlsplit(url), threading.Event()
    with suppress(ConnectionRefusedError):
        while not over.wait(0.01):
            socket.create_connection((split.hostname, split.port)).close()


def test_an_error_in_a_socket_has_its_status() -> None:
    calls = ListedCalls()

    def talk(connection: ServerConnection) -> None:
        connection.recv()
        told = {"type": "error", "status": 429, "error": {"code": "rate_limit_exceeded"}}
        connection.send(json.dumps(told))

    with proxied_socket(talk, calls) as (url, _):
        with dial(url) as line:
            line.send(json.dumps(ASKED))
            assert json.loads(line.recv(PATIENCE))["status"] == 429
        copies = wait_for_calls(calls, 2)
    assert (copies[0].status, copies[0].end) == (429, "answered")


@pytest.mark.parametrize("status", [426, 404])
def test_a_server_that_refuses_a_socket_is_heard_at_once(proxied: Proxied, status: int) -> None:
    said = b'{"error": "use HTTP"}'

    def answer(request: Received, out: BinaryIO) -> None:
        assert request.header("upgrade") == "websocket"
        head = b"HTTP/1.1 %d No\r\nx-why: h\r\ncontent-length: %d\r\n\r\n"
        out.write(head % (status, len(said)) + said)

    proxied.upstream.answer = answer
    url = proxied.url.replace("http", "ws") + "/v1/responses"
    with pytest.raises(InvalidStatus) as refused, dial(url):
        pass
    got = refused.value.response
    assert (got.status_code, got.headers["x-why"], got.body) == (status, "h", said)
    (copy,) = wait_for_calls(proxied.calls, 1)
    assert (copy.status, copy.answer.content()) == (status, said)


def test_frames_that_cannot_be_read_pass_all_the_same(proxied: Proxied) -> None:
    odd = b"\xff\xff no frame at all"

    def answer(_request: Received, out: BinaryIO) -> None:
        out.write(
            b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n"
        )
        out.write(odd)

    proxied.upstream.answer = answer
    heard = _raw_upgrade(proxied)
    assert heard.endswith(odd)
    (copy,) = wait_for_calls(proxied.calls, 1)
    assert copy.reason.startswith("its messages were not read: ")


def _raw_upgrade(proxied: Proxied) -> bytes:
    split = urlsplit(proxied.url)
    with socket.create_connection((split.hostname, split.port)) as line:
        line.sendall(
            b"GET /stub/v1/responses HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
            b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        raw = b""
        while piece := line.recv(65536):
            raw += piece
    return raw
