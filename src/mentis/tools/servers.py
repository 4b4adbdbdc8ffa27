"""MCP servers, kept in an event loop of their own for as long as the agent is open.

Turns come and go in tasks of whoever asks; a connection has to outlive them all. So it lives in a
thread beside them, and a call goes over there and comes back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, ExitStack
from typing import TypeVar

from anyio import CapacityLimiter, get_cancelled_exc_class, move_on_after, to_thread
from anyio.from_thread import BlockingPortal, start_blocking_portal

from mentis.act.mcp.declared import FirstUse, McpServer
from mentis.act.mcp.source import McpPorts, OnOffer
from mentis.act.mcp.sources import McpSources, open_mcp
from mentis.act.mcp.told import McpStatus
from mentis.errors import ActFailed
from mentis.ports.act_handler import ActHandler
from mentis.values.act import ActCall, ActSpec
from mentis.values.action import Outcome
from mentis.values.digest import Digest

T = TypeVar("T")
_CALLS = 256
_SOON = 2.0  # seconds


class FarHandler:
    """Does over there what it is asked to do here."""

    def __init__(self, inner: ActHandler, servers: Servers) -> None:
        self._inner = inner
        self._servers = servers

    @property
    def spec(self) -> ActSpec:
        return self._inner.spec

    async def handle(self, call: ActCall) -> Outcome:
        try:
            return await self._servers.across(self._inner.handle, call)
        except ActFailed as error:
            source = self.spec.source
            return Outcome(
                call.action, error.state, reason=error.message, key=call.key, source=source
            )


class Servers:
    """Begun with `start`, ended with `close`; both block until it is so."""

    def __init__(
        self,
        servers: Mapping[FirstUse, Sequence[McpServer]],
        ports: McpPorts,
        on_offer: OnOffer,
        pins: Callable[[], Mapping[str, Digest]],
    ) -> None:
        self._servers = servers
        self._ports = ports
        self._on_offer = on_offer
        self._pins = pins
        self._portal: BlockingPortal | None = None
        self._stack = ExitStack()
        self._groups: list[McpSources] = []
        self._calls = CapacityLimiter(_CALLS)

    def start(self) -> None:
        """Begin to connect; nothing is waited for. EngineMissing without the SDK."""
        pins = self._pins()
        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal(name="mentis-mcp"))
            for first_use, servers in self._servers.items():
                opened = open_mcp(
                    servers, self._ports, self._on_offer, pins=pins, first_use=first_use
                )
                entered: AbstractContextManager[McpSources] = portal.wrap_async_context_manager(
                    opened
                )
                self._groups.append(stack.enter_context(entered))
            self._portal = portal
            self._stack = stack.pop_all()

    async def settle(self) -> None:
        """Until each server was listed or given up for the first time; each has its deadline."""
        for group in self._groups:
            await self.across(group.settle)

    async def connect_again(self) -> None:
        """Try servers once more that were given up. One that is back is there soon; for others
        nobody waits.
        """
        found = [await self.across(group.connect_again) for group in self._groups]
        if any(found):
            with move_on_after(_SOON):
                await self.settle()

    def status(self) -> tuple[McpStatus, ...]:
        return tuple(status for group in self._groups for status in group.status())

    async def approve(self, source: str, name: str, digest: Digest) -> bool:
        answers = [await self.across(group.approve, source, name, digest) for group in self._groups]
        return any(answers)

    async def across(self, work: Callable[..., Awaitable[T]], *args: object) -> T:
        """Run it over there. Cancelled here, it is cancelled there."""
        if self._portal is None:
            raise ActFailed("the servers are not connected")
        future = self._portal.start_task_soon(work, *args)
        try:
            return await to_thread.run_sync(
                future.result, abandon_on_cancel=True, limiter=self._calls
            )
        except get_cancelled_exc_class():
            future.cancel()
            raise
        except CancelledError as error:
            raise ActFailed("the connection was closed while it ran", state="unknown") from error

    def close(self) -> None:
        self._portal = None
        self._stack.close()
