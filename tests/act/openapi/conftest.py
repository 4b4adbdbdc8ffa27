"""A real HTTP server on loopback that answers every method with what was prepared."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


@dataclass
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Server:
    """`cuts`: it promises more than it sends. `hangs`: it never answers."""

    url: str = ""
    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict[str, str])
    cuts: bool = False
    hangs: bool = False
    asked: list[Asked] = field(default_factory=list[Asked])
    let_go: threading.Event = field(default_factory=threading.Event)


class Handler(BaseHTTPRequestHandler):
    answer: Server

    def _answer(self) -> None:
        answer = self.answer
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer.asked.append(Asked(self.command, self.path, headers, body))
        if answer.hangs:
            answer.let_go.wait(30)
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(answer.body) + 10 * answer.cuts))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = _answer  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Quiet."""


@pytest.fixture
def server() -> Iterator[Server]:
    answer = Server()
    handler = type("Bound", (Handler,), {"answer": answer})
    listening = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    listening.daemon_threads = True
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    answer.url = f"http://127.0.0.1:{listening.server_port}/api"
    yield answer
    answer.let_go.set()
    listening.shutdown()
    thread.join()
    listening.server_close()
