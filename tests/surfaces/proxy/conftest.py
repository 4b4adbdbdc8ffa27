"""A server that keeps every byte it was sent, and the proxy in front of it, both on loopback."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import BinaryIO, NoReturn

import anyio
import pytest

from mentis.home.system import SystemClock
from mentis.recorder.authority import LocalAuthority
from mentis.recorder.call_copy import CallCopy, CallTap, ListedCalls
from mentis.recorder.repair import Repairer
from mentis.recorder.targets import CallTarget, make_target
from mentis.settings.recorder import RecorderSettings
from mentis.surfaces.proxy.application import make_app
from mentis.surfaces.proxy.forward import Forward
from mentis.surfaces.proxy.guard import ProxyAccess, ProxyParts
from mentis.surfaces.proxy.relay import Relay
from mentis.surfaces.proxy.server import ProxyServer
from mentis.web.guard import AccessRecord

JSON = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
PATIENCE = 20.0


@dataclass
class Received:
    """One request as it came over the wire. `line` is its first line."""

    line: str
    headers: list[tuple[str, str]]
    body: bytes
    connection: socket.socket

    def header(self, name: str) -> str:
        return ", ".join(text for key, text in self.headers if key == name)


Answer = Callable[[Received, BinaryIO], None]


def json_answer(body: bytes = b"{}") -> Answer:
    def answer(_request: Received, out: BinaryIO) -> None:
        out.write(JSON % (len(body), body))

    return answer


@dataclass
class Upstream:
    """Answers with what `answer` writes; the connection is closed after it. With a `context` it
    speaks TLS.
    """

    url: str = ""
    context: ssl.SSLContext | None = None
    answer: Answer = field(default_factory=json_answer)
    received: list[Received] = field(default_factory=list[Received])
    failures: list[BaseException] = field(default_factory=list[BaseException])

    def serve(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._handle, args=(connection,), daemon=True).start()

    def _handle(self, connection: socket.socket) -> None:
        if self.context is not None:
            try:
                connection = self.context.wrap_socket(connection, server_side=True)
            except OSError:  # whoever came did not trust it
                connection.close()
                return
        with connection, connection.makefile("rwb", buffering=0) as raw:
            stream: BinaryIO = raw  # pyright: ignore[reportAssignmentType]
            line = _line(stream)
            if not line:
                return
            headers: list[tuple[str, str]] = []
            while text := _line(stream):
                name, _, value = text.partition(": ")
                headers.append((name.lower(), value))
            with suppress(BrokenPipeError, ConnectionResetError):
                body = _body(stream, dict(headers))
                request = Received(line, headers, body, connection)
                self.received.append(request)
                self.answer(request, stream)


def _line(stream: BinaryIO) -> str:
    text = b""
    while not text.endswith(b"\r\n"):
        piece = stream.read(1)
        if not piece:
            return ""
        text += piece
    return text[:-2].decode("latin-1")


def _body(stream: BinaryIO, headers: dict[str, str]) -> bytes:
    if "content-length" in headers:
        return _exactly(stream, int(headers["content-length"]))
    body = b""
    while headers.get("transfer-encoding") == "chunked":
        size = int(_line(stream) or _broken_off(), 16)
        body += _exactly(stream, size)
        _line(stream)
        if not size:
            break
    return body


def _exactly(stream: BinaryIO, count: int) -> bytes:
    data = b""
    while len(data) < count:
        data += stream.read(count - len(data)) or _broken_off()
    return data


def _broken_off() -> NoReturn:
    raise ConnectionResetError("the request broke off")


@contextmanager
def upstream_server(context: ssl.SSLContext | None = None) -> Generator[Upstream]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        url = f"https://localhost:{port}" if context else f"http://127.0.0.1:{port}"
        upstream = Upstream(url, context)
        thread = threading.Thread(target=upstream.serve, args=(listener,))
        thread.start()
        yield upstream
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def no_tell(text: str) -> None:
    raise AssertionError(text)


@dataclass
class ProxyChoice:
    """What a test chooses of the proxy."""

    body_bytes: int = 10_000_000
    settings: RecorderSettings = field(default_factory=lambda: RecorderSettings(drain_seconds=5))
    access: ProxyAccess = field(default_factory=ProxyAccess)
    authority: LocalAuthority | None = None
    repairer: Repairer | None = None
    tell: Callable[[str], None] = no_tell
    on_access: Callable[[AccessRecord], None] | None = None


@contextmanager
def running_proxy(
    targets: dict[str, CallTarget], tap: CallTap, choice: ProxyChoice | None = None
) -> Generator[str]:
    """Its address. It has drained when the block ends."""
    chosen = choice or ProxyChoice()
    settings = chosen.settings
    relay = Relay(
        targets,
        tap,
        clock=SystemClock(),
        body_bytes=chosen.body_bytes,
        tell=chosen.tell,
        repairer=chosen.repairer,
    )
    forward = None
    if chosen.authority is not None:
        forward = Forward(relay, chosen.authority, targets, settings=settings, tell=chosen.tell)
    parts = ProxyParts(settings, chosen.access, on_access=chosen.on_access)
    server = ProxyServer(make_app(relay, parts, forward), settings)
    base = server.bind("127.0.0.1", 0)

    async def serve() -> None:
        await server.run()
        await relay.aclose()

    thread = threading.Thread(target=anyio.run, args=(serve,))
    thread.start()
    try:
        yield base
    finally:
        server.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()


@dataclass
class Proxied:
    """`url` is the target's address as a program is given it."""

    url: str
    base: str
    upstream: Upstream
    calls: ListedCalls


@pytest.fixture
def proxied() -> Generator[Proxied]:
    calls = ListedCalls()
    with ExitStack() as stack:
        upstream = stack.enter_context(upstream_server())
        targets = {"stub": make_target("stub", upstream.url)}
        base = stack.enter_context(running_proxy(targets, calls))
        yield Proxied(f"{base}/stub", base, upstream, calls)


def wait_for_calls(calls: ListedCalls, count: int) -> list[CallCopy]:
    """The proxy hands a call over after the last byte: that may be a moment later."""
    over = threading.Event()
    while len(calls.calls) < count and not over.wait(0.01):
        pass
    return calls.calls
