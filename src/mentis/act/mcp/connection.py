"""One connection to one server, from the first word to the last, by the SDK's client."""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

import anyio

from mentis.errors import EngineMissing
from mentis.values.act import ActCall
from mentis.values.json import JsonObject

from .declared import McpServer
from .listing import ListedTool, Sieve, acts_of
from .told import OmittedTool
from .watch import KEY, Watch

if TYPE_CHECKING:
    from mcp.client import Client, Transport
    from mcp_types import CallToolResult, InputRequiredResult
    from pydantic import TypeAdapter


class ServerTimeout(TimeoutError):
    """A server let a deadline pass; which one is in the message."""


def require_sdk() -> None:
    """EngineMissing when it is not installed. What it logs is not for our standard error."""
    try:
        import_module("mcp.client")
    except ModuleNotFoundError as error:
        raise EngineMissing(
            f"MCP servers need the package mcp, which is not installed ({error.name})",
            hint="pip install 'mentis[mcp]'",
        ) from error
    for name in ("mcp", "client"):
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())


class Connection:
    def __init__(self, client: Client, server: McpServer, watch: Watch) -> None:
        self._client = client
        self._server = server
        self.watch = watch

    async def tools(self) -> tuple[tuple[ListedTool, ...], tuple[OmittedTool, ...]]:
        """Everything it can do just now, page by page."""
        self.watch.sieve = sieve = Sieve(self._server, self._check)
        seconds = self._server.times.listing
        try:
            with anyio.fail_after(seconds):
                await self._pages(sieve)
        except TimeoutError:
            raise ServerTimeout(f"it did not list its tools within {seconds:g} seconds") from None
        finally:
            self.watch.sieve = None
        return acts_of(self._server, sieve)

    async def call(self, tool: str, call: ActCall) -> CallToolResult | InputRequiredResult:
        """Do it. Not by the SDK's own way to call: that one checks results by a schema of the
        server's with a checker that a schema can keep busy for ever.
        """
        from mcp_types import CallToolRequest, CallToolRequestParams

        arguments = cast("dict[str, Any]", dict(call.action.payload))
        params = CallToolRequestParams(
            name=tool, arguments=arguments, _meta=cast("Any", {KEY: call.key})
        )
        return await self._client.session.send_request(CallToolRequest(params=params), _answers())

    async def listen(self) -> None:
        """With the newer protocol a server only tells of changes while it is listened to."""
        from mcp import MCPError
        from mcp.client.subscriptions import SubscriptionLost

        heard = False
        try:
            async with self._client.listen(tools_list_changed=True) as events:
                heard = True
                async for _ in events:
                    pass  # the watch has seen it
        except (MCPError, SubscriptionLost):
            if heard:  # otherwise it just does not do that
                self.watch.end("it stopped telling of changes")

    @property
    def listens(self) -> bool:
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        return self._client.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def _pages(self, sieve: Sieve) -> None:
        cursor: str | None = None
        for _ in range(self._server.caps.pages):
            page = await self._client.list_tools(cursor=cursor)
            if page.next_cursor is None or page.next_cursor == cursor:
                return
            cursor = page.next_cursor
        sieve.left_out.append(OmittedTool("", f"its list has over {self._server.caps.pages} pages"))

    def _check(self, tool: JsonObject) -> None:
        from mcp.shared.inbound import find_invalid_x_mcp_header
        from mcp_types import methods

        spoken = self._client.protocol_version
        # What else belongs to such a result is the same each time, and not the tool's fault.
        result = {"tools": [tool], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        methods.validate_server_result("tools/list", spoken, result)
        if self.listens and (reason := find_invalid_x_mcp_header(tool.get("inputSchema"))):
            raise ValueError(reason)


async def converse(
    server: McpServer,
    transport: Transport,
    watch: Watch,
    serve: Callable[[Connection], Awaitable[None]],
) -> None:
    """Connect, serve, and leave again; each within its time. Unanswered when nobody answers."""
    from mcp.client import Client
    from mcp_types import Implementation

    ourselves = Implementation(name="mentis", version=version("mentis"))
    client = Client(transport, mode=server.protocol, client_info=ourselves, cache=None)
    up = False
    with anyio.CancelScope(deadline=anyio.current_time() + server.times.connect) as scope:
        async with client:
            up, scope.deadline = True, math.inf
            watch.cut = bool(watch.over)
            try:
                await serve(Connection(client, server, watch))
            finally:
                scope.deadline = anyio.current_time() + 4 * server.times.close
    if scope.cancelled_caught and not up:
        raise ServerTimeout(f"it did not answer within {server.times.connect:g} seconds")


@cache
def _answers() -> TypeAdapter[CallToolResult | InputRequiredResult]:
    from mcp_types import CallToolResult, InputRequiredResult
    from pydantic import TypeAdapter

    return TypeAdapter(CallToolResult | InputRequiredResult)
