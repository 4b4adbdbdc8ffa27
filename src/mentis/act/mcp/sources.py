"""All MCP servers of an agent, kept at once for as long as the agent is open."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

import anyio

from mentis.errors import SettingsError
from mentis.values.digest import Digest

from .connection import require_sdk
from .declared import FirstUse, McpServer
from .source import McpPorts, McpSource, OnOffer
from .told import McpStatus


class McpSources:
    def __init__(self, sources: Sequence[McpSource]) -> None:
        self._sources = {source.server.source: source for source in sources}

    async def settle(self) -> None:
        """Until each server has been connected and listed, or given up, for the first time."""
        for source in self._sources.values():
            await source.settled.wait()

    def source(self, name: str) -> McpSource | None:
        """By `mcp:NAME`."""
        return self._sources.get(name)

    def status(self) -> tuple[McpStatus, ...]:
        return tuple(source.status() for source in self._sources.values())

    async def connect_again(self) -> bool:
        """Try those once more that were given up. False when none was."""
        given_up = [one for one in self._sources.values() if one.state == "given_up"]
        for source in given_up:
            source.connect_again()
        return bool(given_up)

    async def approve(self, source: str, name: str, digest: Digest) -> bool:
        """A person trusts a definition. False when the server does not declare it like this now."""
        found = self._sources.get(source)
        return found is not None and await found.approve(name, digest)


@asynccontextmanager
async def open_mcp(
    servers: Sequence[McpServer],
    ports: McpPorts,
    on_offer: OnOffer,
    *,
    pins: Mapping[str, Digest],
    first_use: FirstUse = "pin",
) -> AsyncGenerator[McpSources]:
    """Connect to all of them, without waiting: `on_offer` is told what each has to offer.

    `pins` is what is trusted, by the name of the act. EngineMissing without the SDK.
    """
    if servers:
        require_sdk()
    names = [server.name for server in servers]
    if double := next((name for name in names if names.count(name) > 1), None):
        raise SettingsError(
            f"two MCP servers are called {double!r}", hint="give one of them another name"
        )
    sources = [
        McpSource(server, ports, on_offer, pins=pins, first_use=first_use) for server in servers
    ]
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        for source in sources:
            tasks.start_soon(source.run)
        try:
            yield McpSources(sources)
        except Exception as error:  # noqa: BLE001  # not ours: raised again, but not as one of a group
            failure = error
        finally:
            tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
