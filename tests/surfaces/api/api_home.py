"""A home that is served, and a client of its API for each kind of token."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from tests.rounds import Rounds, says
from tests.surfaces.serve.served import PERSONA, Served, make_home, serving

from mentis.ports.embedder import Embedder
from mentis.surfaces.api.operation import PREFIX
from mentis.values.rendering import Rendering
from mentis.values.route import Route
from mentis.web.tokens import Scope


class Obliging(Rounds):
    """Plays the answers it was given, and says the same thing for ever after."""

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        if not self._rounds:
            self._rounds.append(says("Good morning."))
        async with super().open(rendering, route) as events:
            yield events

    def play(self, *rounds: list[object]) -> None:
        self._rounds.extend(rounds)


@dataclass(frozen=True, slots=True)
class ApiClient:
    """Calls the API with one token."""

    url: str
    token: str

    def call(
        self, method: str, path: str, body: object = None, *, tag: str = "", **headers: str
    ) -> httpx2.Response:
        given = {"authorization": f"Bearer {self.token}"} if self.token else {}
        given |= {"if-match": tag} if tag else {}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        sent: dict[str, Any] = {} if body is None else {"json": body}
        if isinstance(body, bytes):
            sent = {"content": body}
        return httpx2.request(
            method, f"{self.url}{PREFIX}{path}", headers=given, timeout=30, **sent
        )

    def get(self, path: str, **headers: str) -> httpx2.Response:
        return self.call("GET", path, **headers)

    def post(self, path: str, body: object = None, **headers: str) -> httpx2.Response:
        return self.call("POST", path, {} if body is None else body, **headers)

    def tag(self, path: str) -> str:
        """The ETag of what is there."""
        found = self.get(path)
        assert found.status_code == 200, found.text
        return found.headers["etag"]


@dataclass(frozen=True, slots=True)
class ApiHome:
    served: Served
    provider: Obliging

    @property
    def home(self) -> Path:
        return self.served.home

    def client(self, name: str, scope: Scope = "admin", **more: str) -> ApiClient:
        known = {one.name for one in self.served.tokens.list()}
        assert name not in known
        return ApiClient(self.served.url, self.served.new_token(name, scope=scope, **more))

    def nobody(self) -> ApiClient:
        return ApiClient(self.served.url, "")


@contextmanager
def api_home(
    folder: Path, *, embedder: Embedder | None = None, **variables: str
) -> Generator[ApiHome]:
    provider = Obliging()
    home = make_home(folder)
    more = {"web__requests_per_minute": "100000", "web__burst": "10000", **variables}
    with serving(home, provider, embedder=embedder, **more) as served:
        yield ApiHome(served, provider)


def events_in(text: str) -> list[tuple[str, Any]]:
    """The server-sent events of an answer: name and data."""
    found: list[tuple[str, Any]] = []
    for block in text.strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "data" in lines:
            found.append((lines.get("event", ""), json.loads(lines["data"])))
    return found


__all__ = ["PERSONA", "ApiClient", "ApiHome", "Obliging", "api_home", "events_in"]
