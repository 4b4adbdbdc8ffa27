"""Documents that would have us look elsewhere: nobody is asked but whom the owner named."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from mentis.act.openapi.acts import OpenApi, OpenApiSource
from mentis.act.openapi.document import read_document
from mentis.errors import MentisError
from mentis.ports.secrets import ListedSecrets


@pytest.fixture
def canary() -> Iterator[tuple[str, list[str]]]:
    """An address inside, and what it was asked for."""
    asked = list[str]()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Quiet."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{listening.server_port}", asked
    listening.shutdown()
    thread.join()
    listening.server_close()


@pytest.mark.parametrize(
    "place", ["schema", "parameter", "path", "body", "example", "servers", "operation servers"]
)
def test_a_document_that_refers_elsewhere_makes_nobody_look_there(
    canary: tuple[str, list[str]], place: str
) -> None:
    inside, asked = canary
    ref = {"$ref": f"{inside}/{place.replace(' ', '-')}.json"}
    operation: dict[str, object] = {"operationId": "pets", "externalDocs": {"url": inside}}
    path: dict[str, object] = {"get": operation}
    document: dict[str, object] = {"openapi": "3.1.0", "paths": {"/pets": path}}
    match place:
        case "schema":
            operation["parameters"] = [{"name": "n", "in": "query", "schema": ref}]
        case "parameter":
            operation["parameters"] = [ref]
        case "path":
            path |= ref
        case "body":
            operation["requestBody"] = ref
        case "example":
            media = {"examples": {"one": {"externalValue": f"{inside}/example"}}}
            operation["responses"] = {"200": {"content": {"application/json": media}}}
        case "servers":
            document["servers"] = [{"url": inside}]
        case _:
            operation["servers"] = [{"url": inside}]
    chosen = OpenApiSource(name="pets", operations=("pets",), url="https://pets.example/v1")
    try:
        made = OpenApi(chosen, read_document(json.dumps(document).encode()), ListedSecrets({}))
    except MentisError as error:
        assert error.message  # noqa: PT017 - it may be refused, or used without that part
    else:
        assert made.url == "https://pets.example/v1"
    assert asked == []
