"""A home with its studio, and browsers that came in."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
from tests.recorder.foreign import anthropic_call, user
from tests.rounds import temperature
from tests.surfaces.api.api_home import Obliging
from tests.surfaces.serve.served import PERSONA, Served, make_home, serving

from mentis.ports.act_handler import ActHandler
from mentis.recorder.recording import open_recording

SCRIPT = "<script>alert('stored')</script>"


@dataclass
class BrowserTab:
    """Sends what a browser sends: the cookie, and which page asks."""

    url: str
    cookies: dict[str, str] = field(default_factory=dict[str, str])

    def get(self, path: str, **headers: str) -> httpx2.Response:
        return self.send("GET", path, headers=_named(headers))

    def post(self, path: str, *, json: object = None, **form: str) -> httpx2.Response:
        return self.send("POST", path, {"origin": self.url}, json=json, form=form)

    def send(
        self,
        method: str,
        path: str,
        headers: dict[str, str],
        *,
        json: object = None,
        form: dict[str, str] | None = None,
    ) -> httpx2.Response:
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        given = {**headers, **({"cookie": cookie} if cookie else {})}
        address = f"{self.url}{path}"
        if json is not None:
            response = httpx2.request(method, address, headers=given, json=json, timeout=30)
        else:
            response = httpx2.request(method, address, headers=given, data=form, timeout=30)
        self.cookies |= dict(response.cookies)
        return response

    def enter(self, token: str) -> httpx2.Response:
        return self.post("/studio/enter", token=token)

    def write(self, *, on: bool = True) -> httpx2.Response:
        return self.post("/studio/writing", writing="on" if on else "off", back="/studio/talk")


@dataclass(frozen=True, slots=True)
class StudioHome:
    served: Served
    provider: Obliging

    def tab(self) -> BrowserTab:
        return BrowserTab(self.served.url)

    def owner(self, *, writing: bool = False) -> BrowserTab:
        """Somebody who came with a one-time link."""
        tab = self.tab()
        assert tab.get(f"/studio/enter?key={self.served.new_link()}").status_code == 200
        if writing:
            assert tab.write().status_code == 303
        return tab


@contextmanager
def studio_home(
    folder: Path, *, handlers: tuple[ActHandler, ...] = (temperature,), **settings: str
) -> Generator[StudioHome]:
    home = make_home(folder)
    with open_recording(home, "codex", tell=lambda _line: None) as recording:
        tool = {"name": "bash", "description": SCRIPT, "input_schema": {"type": "object"}}
        body = {"system": "You search.", "tools": [tool], "messages": [user("hi")]}
        recording.offer(anthropic_call(body, written=900))
    provider = Obliging()
    more = {"web__requests_per_minute": "100000", "web__burst": "10000"}
    more |= settings
    with serving(home, provider, handlers, embedder=None, **more) as served:
        yield StudioHome(served, provider)


def _named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


__all__ = ["PERSONA", "SCRIPT", "BrowserTab", "StudioHome", "studio_home"]
