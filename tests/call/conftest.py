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
    url: str = ""
    status: int = 200
    content_type: str = "text/event-stream"
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    declared_length: int | None = None
    received: list[Exchange] = field(default_factory=list[Exchange])


@pytest.fixture
def server() -> Iterator[Server]:
    answer = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer.received.append(Exchange(self.path, headers, self.rfile.read(length)))
            self.send_response(answer.status)
            self.send_header("content-type", answer.content_type)
            declared = answer.declared_length
            self.send_header("content-length", str(declared or len(answer.body)))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its own name
            """Quiet."""

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    answer.url = f"http://127.0.0.1:{httpd.server_address[1]}/v1"
    yield answer
    httpd.shutdown()
    thread.join()
    httpd.server_close()
