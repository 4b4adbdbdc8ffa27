"""Real server processes, kept by a source of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel

# Ours loads them where they are used, and so within the time that a server has to answer.
import mcp.client
import mcp.client.streamable_http
import mcp.shared.inbound
import mcp_types.methods
import pytest

from mentis.act.mcp.declared import McpServer, McpTimes
from mentis.act.mcp.source import McpPorts
from mentis.act.mcp.sources import McpSources, open_mcp
from mentis.act.mcp.told import McpStatus, Offer
from mentis.ports.act_handler import ActHandler
from mentis.ports.clock import FixedClock
from mentis.ports.secrets import ListedSecrets
from mentis.values.act import ActCall
from mentis.values.action import Action, Outcome

SERVERS = Path(__file__).parent / "servers"
# The limits are for what never comes, so they are far from what a busy machine may take.
LONG = 120
TIMES = McpTimes(connect=LONG, listing=LONG, call=LONG, close=0.5, debounce=0.001, tries=1)
LOADED = (mcp.client, mcp.client.streamable_http, mcp.shared.inbound, mcp_types.methods)
SECRETS = {"TOKEN": "s3cret-value"}


def raw(mode: str, times: McpTimes = TIMES, **more: Any) -> McpServer:  # noqa: ANN401  # its fields
    command = (sys.executable, "-S", "-E", str(SERVERS / "raw_server.py"), mode)
    return McpServer("raw", command, protocol="legacy", times=times, **more)


def sdk(times: McpTimes = TIMES, **more: Any) -> McpServer:  # noqa: ANN401  # its fields
    return McpServer("sdk", (sys.executable, str(SERVERS / "sdk_server.py")), times=times, **more)


@dataclass
class Kept:
    """What a source offered, as whoever opened it sees it."""

    sources: McpSources
    offers: list[Offer] = field(default_factory=list[Offer])
    pauses: list[float] = field(default_factory=list[float])
    news: anyio.Event = field(default_factory=anyio.Event)

    @property
    def offer(self) -> Offer:
        return self.offers[-1]

    @property
    def names(self) -> list[str]:
        return [handler.spec.name for handler in self.offer.handlers]

    @property
    def status(self) -> McpStatus:
        return self.sources.status()[0]

    def notices(self, kind: str) -> list[str]:
        return [notice.text for notice in self.status.notices if notice.kind == kind]

    def handler(self, name: str) -> ActHandler:
        return next(one for one in self.offer.handlers if one.spec.name == name)

    async def next_offer(self, count: int) -> Offer:
        await self.until(lambda _: len(self.offers) >= count)
        return self.offers[count - 1]

    async def until(self, holds: Callable[[McpStatus], bool]) -> McpStatus:
        """Every change of what is offered is told; also that a server was given up."""
        with anyio.fail_after(2 * LONG):
            while not holds(self.status):
                await self.news.wait()
                self.news = anyio.Event()
        return self.status

    async def do(self, name: str, key: str = "key-1", **payload: object) -> Outcome:
        return await do(self.handler(name), key, **payload)


async def do(handler: ActHandler, key: str = "key-1", **payload: object) -> Outcome:
    with anyio.fail_after(2 * LONG):
        return await handler.handle(ActCall(Action(handler.spec.name, payload), key))


Keeping = Callable[..., AbstractAsyncContextManager[Kept]]


@pytest.fixture
def keeping(tmp_path: Path) -> Keeping:
    @asynccontextmanager
    async def kept(server: McpServer, **more: Any) -> AsyncGenerator[Kept]:  # noqa: ANN401  # for `open_mcp`
        found: Kept | None = None
        offers: list[Offer] = []

        async def on_offer(offer: Offer) -> None:
            offers.append(offer)
            if found is not None:
                found.news.set()

        async def sleep(seconds: float) -> None:
            if found is not None:
                found.pauses.append(seconds)
            await anyio.lowlevel.checkpoint()

        ports = McpPorts(
            secrets=ListedSecrets(SECRETS),
            environment=dict(os.environ),
            clock=FixedClock(),
            folder=str(tmp_path),
            keep=more.pop("keep", None),
            sleep=sleep,
        )
        pins = more.pop("pins", {})
        async with open_mcp([server], ports, on_offer, pins=pins, **more) as sources:
            found = Kept(sources, offers)
            with anyio.fail_after(2 * LONG):
                await sources.settle()
            yield found

    return kept


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server that is reached by HTTP, and wants a token."""
    with listening() as url:
        yield url


@pytest.fixture
def mortal() -> Iterator[str]:
    """One that may be killed. It wants no token, and answers in whole bodies."""
    with listening("json", token="") as url:
        yield url


@contextmanager
def listening(*more: str, token: str = SECRETS["TOKEN"]) -> Generator[str]:
    command = [sys.executable, str(SERVERS / "sdk_server.py"), "http", *more]
    environment = {**os.environ, "TOKEN": token}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        finally:
            process.kill()
