"""Recorded-style answers, one for each wire format, and a server that plays them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

RECORDED = Path(__file__).parent / "recorded"


@pytest.fixture
def recorded() -> Callable[[str], bytes]:
    """The bytes of an answer."""
    return lambda name: (RECORDED / name).read_bytes()


@contextmanager
def _serving(body: bytes, kind: str) -> Generator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its own name
            """Quiet."""

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{httpd.server_address[1]}"
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()


@pytest.fixture
def playing(recorded: Callable[[str], bytes]) -> Iterator[Callable[[str], str]]:
    """Starts a server on loopback that answers every request with a recording; its address."""
    from contextlib import ExitStack

    with ExitStack() as stack:

        def play(name: str) -> str:
            kind = "text/event-stream" if name.endswith(".sse") else "application/json"
            return stack.enter_context(_serving(recorded(name), kind))

        yield play
