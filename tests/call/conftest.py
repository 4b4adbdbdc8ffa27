"""A real HTTP server on loopback that answers with prepared bytes and keeps what it was sent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


@dataclass
class Exchange:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Server:
    """`statuses` and `bodies` are used up one per request; then `status` and `body` hold.

    `hangs` never ends an answer.
    """

    url: str = ""
    status: int = 200
    statuses: list[int] = field(default_factory=list[int])
    content_type: str = "text/event-stream"
    body: bytes = b""
    bodies: list[bytes] = field(default_factory=list[bytes])
    headers: dict[str, str] = field(default_factory=dict[str, str])
    declared_length: int | None = None
    hangs: bool = False
    repeats: bool = False
    received: list[Exchange] = field(default_factory=list[Exchange])
    connections: int = 0
    let_go: threading.Event = field(default_factory=threading.Event)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answer: Server

    def setup(self) -> None:
        super().setup()
        self.answer.connections += 1

    def do_POST(self) -> None:
        answer = self.answer
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(self.headers["content-length"]))
        answer.received.append(Exchange(self.path, headers, body))
        said = answer.bodies.pop(0) if answer.bodies else answer.body
        status = answer.statuses.pop(0) if answer.statuses else answer.status
        self.send_response(status)
        self.send_header("content-type", answer.content_type)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.hangs:
            self._hang()
            return
        length = len(said) if answer.declared_length is None else answer.declared_length
        self.send_header("content-length", str(length))
        self.end_headers()
        self.wfile.write(said)
        self.close_connection = length != len(said)

    def _hang(self) -> None:
        """Say the body, then nothing more (or it again and again), until the client goes."""
        self.close_connection = True
        self.end_headers()
        try:
            self.wfile.write(self.answer.body)
            while self.answer.repeats:
                self.wfile.write(self.answer.body)
            self.rfile.read(1)  # comes back only when the other side closes
        except OSError:
            pass
        self.answer.let_go.set()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its own name
        """Quiet."""


class Httpd(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away in the middle is what some tests are about."""


@pytest.fixture
def server() -> Iterator[Server]:
    answer = Server()
    handler = type("Bound", (Handler,), {"answer": answer})
    httpd = Httpd(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    answer.url = f"http://127.0.0.1:{httpd.server_address[1]}/v1"
    yield answer
    httpd.shutdown()
    thread.join()
    httpd.server_close()
