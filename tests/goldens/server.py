"""A server on loopback that plays prepared answers and keeps every request it was sent."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Headers that a provider looks at; the others are those of the HTTP library.
_HEADERS = ("authorization", "content-type", "anthropic-version", "x-goog-api-key")


@dataclass(frozen=True)
class Answer:
    body: bytes
    status: int = 200
    content_type: str = "text/event-stream"


@dataclass
class Server:
    """`answers` are used up, one for each request; a request too many is answered with 418."""

    url: str
    answers: list[Answer] = field(default_factory=list[Answer])
    sent: list[dict[str, object]] = field(default_factory=list[dict[str, object]])


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_of: Server

    def do_POST(self) -> None:
        server = self.server_of
        body = self.rfile.read(int(self.headers["content-length"]))
        server.sent.append(
            {
                "to": f"POST {self.path}",
                "headers": {name: self.headers[name] for name in _HEADERS if self.headers[name]},
                "body": json.loads(body),
                "sha256": hashlib.sha256(body).hexdigest(),
            }
        )
        answer = server.answers.pop(0) if server.answers else Answer(b"nothing is left", 418)
        self.send_response(answer.status)
        self.send_header("content-type", answer.content_type)
        self.send_header("content-length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its own name
        """Quiet."""


@contextmanager
def serving() -> Generator[Server]:
    server = Server("")
    handler = type("Bound", (_Handler,), {"server_of": server})
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    server.url = f"http://127.0.0.1:{httpd.server_address[1]}"
    try:
        yield server
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()
