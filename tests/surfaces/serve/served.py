"""A home that is served on the loopback address, with a provider that plays answers."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import httpx2
from anthropic import Anthropic
from openai import OpenAI
from tests.rounds import Rounds, asking_home, temperature

from mentis import Agent, Parts
from mentis.ports.act_handler import ActHandler
from mentis.ports.embedder import Embedder
from mentis.settings.sources import load_settings
from mentis.stores.files.home import find_home
from mentis.surfaces.serve.served import ServedHome
from mentis.surfaces.serve.start import ServeOptions
from mentis.web.guard import AccessRecord
from mentis.web.server import WebServer
from mentis.web.tokens import Scope, Tokens, open_tokens

PERSONA = "ada"
_PATIENCE = 120  # seconds: on a machine that has other work, dozens of turns at once take long


@dataclass
class Served:
    """The address of a home that is served, and what clients come with."""

    home: Path
    url: str
    provider: Rounds
    token: str
    tokens: Tokens
    log: list[AccessRecord] = field(default_factory=list[AccessRecord])
    defects: list[BaseException] = field(default_factory=list[BaseException])
    clients: list[OpenAI | Anthropic] = field(default_factory=list[OpenAI | Anthropic])
    new_link: Callable[[], str] = str

    def openai(self, token: str = "") -> OpenAI:
        made = OpenAI(base_url=f"{self.url}/v1", api_key=token or self.token, max_retries=0)
        self.clients.append(made)
        return made

    def anthropic(self, token: str = "") -> Anthropic:
        made = Anthropic(base_url=self.url, api_key=token or self.token, max_retries=0)
        self.clients.append(made)
        return made

    def post(self, path: str, body: object, token: str = "", **headers: str) -> httpx2.Response:
        given = self.headers(token, headers)
        return httpx2.post(f"{self.url}{path}", json=body, headers=given, timeout=_PATIENCE)

    def get(self, path: str, token: str = "", **headers: str) -> httpx2.Response:
        given = self.headers(token, headers)
        return httpx2.get(f"{self.url}{path}", headers=given, timeout=_PATIENCE)

    def headers(self, token: str, more: dict[str, str]) -> dict[str, str]:
        named = {name.replace("_", "-"): value for name, value in more.items()}
        return {"authorization": f"Bearer {token or self.token}", **named}

    def new_token(
        self,
        name: str,
        *,
        scope: Scope = "chat",
        agent: str = "",
        session: str = "",
        person: str = "owner",
    ) -> str:
        return self.tokens.new(name, scope=scope, agent=agent, session=session, person=person)

    def agent(self) -> Agent:
        """To look at what was recorded; beside the server."""
        return Agent.open(self.home, persona=PERSONA, provider=self.provider)

    def sessions(self) -> dict[str, list[str]]:
        """The words of every session, by its name."""
        agent = self.agent()
        try:
            return {
                one.name: [turn.text for turn in agent.history(session=one.name)]
                for one in agent.sessions()
            }
        finally:
            agent.close()

    def verify(self) -> bool:
        agent = self.agent()
        try:
            return agent.verify().intact
        finally:
            agent.close()


def make_home(folder: Path, settings: str = "") -> Path:
    home = asking_home(folder)
    name = next((home / "personas").iterdir())
    text = (name / "persona.toml").read_text("utf-8")
    name.rename(home / "personas" / PERSONA)
    text = re.sub(r'^id = ".*"$', f'id = "{PERSONA}"', text, flags=re.MULTILINE)
    (home / "personas" / PERSONA / "persona.toml").write_text(text, "utf-8")
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n{settings}")
    return home


@contextmanager
def serving(
    home: Path,
    provider: Rounds,
    handlers: tuple[ActHandler, ...] = (temperature,),
    /,
    *,
    embedder: Embedder | None = None,
    **settings: str,
) -> Generator[Served]:
    port = int(settings.pop("port", "0"))  # another time on the same, for whoever waits there
    chosen = {f"MENTIS_{name.upper()}": value for name, value in settings.items()}
    parts = Parts(
        provider=provider,
        handlers=handlers,
        embedder=embedder,
        environ={**os.environ, **chosen},
    )
    tokens = open_tokens(home)
    there = {one.name for one in tokens.list()}
    token = tokens.new(f"laptop{len(there)}" if "laptop" in there else "laptop")
    served = Served(home, "", provider, token, tokens)
    options = ServeOptions(port=port, on_access=served.log.append, on_defect=served.defects.append)
    ready, inside = threading.Event(), list[tuple[asyncio.AbstractEventLoop, WebServer]]()

    async def run() -> None:
        found = find_home(home)
        opened = ServedHome.open(found, load_settings(home, parts.variables), options, parts)
        try:
            server = WebServer(opened.app, opened.settings, opened.state)
            served.url, served.new_link = server.bind(), opened.browsers.new_link
            inside.append((asyncio.get_running_loop(), server))
            ready.set()
            async with opened.mcp.running():
                await server.run()
        finally:
            await opened.aclose()

    thread = threading.Thread(target=anyio.run, args=(run,))
    thread.start()
    assert ready.wait(120)
    try:
        yield served
    finally:
        for client in served.clients:
            client.close()
        loop, server = inside[0]
        loop.call_soon_threadsafe(server.stop)
        thread.join(60)
        assert not thread.is_alive()
        assert served.defects == [], served.defects
