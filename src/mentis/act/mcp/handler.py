"""One tool of a server as an act."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import anyio

from mentis.values.act import ActCall, ActSpec
from mentis.values.action import Outcome, OutcomeState
from mentis.values.digest import Digest
from mentis.values.trust import Trust

from .connection import Connection
from .listing import ListedTool
from .results import Keep, media_in, misfit, text_of
from .watch import MORE_THAN, TOO_LARGE

if TYPE_CHECKING:
    from mcp import MCPError
    from mcp_types import CallToolResult, InputRequiredResult

_SHORT = 500
_TOO_MUCH = (MORE_THAN, "byte limit")  # in our words, and as the SDK says it of an event


class HandlerSource(Protocol):
    """What a handler knows of the source it belongs to."""

    @property
    def connection(self) -> Connection | None: ...
    @property
    def keep(self) -> Keep | None: ...
    def objection(self, name: str, digest: Digest) -> str: ...
    def doubt(self) -> None: ...
    def clean(self, text: str) -> str: ...


class McpHandler:
    def __init__(self, listed: ListedTool, digest: Digest, line: HandlerSource) -> None:
        self._listed = listed
        self._digest = digest
        self._line = line

    @property
    def spec(self) -> ActSpec:
        return self._listed.spec

    async def handle(self, call: ActCall) -> Outcome:
        """`unknown` when the server may have begun and nothing came back, `unavailable` when it
        cannot have.
        """
        connection = self._line.connection
        objection = self._line.objection(self.spec.name, self._digest)
        if connection is None or objection:
            return self._outcome(call, "unavailable", objection or "the server is not connected")
        connection.watch.forget(call.key)
        try:
            return await self._asked(connection, call)
        finally:
            connection.watch.forget(call.key)

    async def _asked(self, connection: Connection, call: ActCall) -> Outcome:
        from mcp import MCPError
        from pydantic import ValidationError

        seconds = self.spec.timeout_seconds
        try:
            with anyio.fail_after(seconds):
                result = await connection.call(self._listed.tool, call)
        except anyio.get_cancelled_exc_class():
            self._line.doubt()  # whoever set the time limit, it was not answered
            raise
        except TimeoutError:
            self._line.doubt()
            reason = f"no answer within {seconds:g} seconds; it may have been done all the same"
            return self._outcome(call, "timeout", reason)
        except MCPError as error:
            return await self._failed(connection, call, error)
        except ValidationError:
            return self._outcome(call, "crashed", "the answer is not what the protocol allows")
        return await self._answered(connection, call, result)

    async def _failed(self, connection: Connection, call: ActCall, error: MCPError) -> Outcome:
        from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, METHOD_NOT_FOUND

        said = self._line.clean(error.message)[:_SHORT]
        if error.code == TOO_LARGE or any(words in said for words in _TOO_MUCH):
            return self._outcome(call, "crashed", f"nothing of the answer is kept: {said}")
        if error.code == CONNECTION_CLOSED:
            # How it ended, and what was sent by then, is known when all of it is over.
            with anyio.move_on_after(8 * connection.watch.server.times.close):
                await connection.watch.ended.wait()
            return self._broken(connection, call)
        if error.code in (INVALID_PARAMS, METHOD_NOT_FOUND):
            return self._outcome(call, "refused", f"the server refused it: {said}")
        return self._outcome(call, "crashed", f"the server failed: {said}")

    def _broken(self, connection: Connection, call: ActCall) -> Outcome:
        why = connection.watch.over or "the connection ended"
        if connection.watch.was_sent(call.key):
            reason = f"{why} before it answered; it may have been done"
            return self._outcome(call, "unknown", reason)
        return self._outcome(call, "unavailable", f"{why} before it was asked")

    async def _answered(
        self, connection: Connection, call: ActCall, result: CallToolResult | InputRequiredResult
    ) -> Outcome:
        from mcp_types import InputRequiredResult

        if isinstance(result, InputRequiredResult):
            wanted = sorted({asked.method for asked in (result.input_requests or {}).values()})
            for method in wanted:
                connection.watch.notices.add("asked", f"{method}, which it does not get")
            reason = f"the server wants more first: {', '.join(wanted) or 'another call'}"
            return self._outcome(call, "refused", reason)
        try:
            text = await text_of(result, self._line.keep)
        except (ValueError, RecursionError):
            return self._outcome(call, "crashed", "the answer holds what JSON cannot say")
        clean = self._line.clean
        media = tuple(replace(one, name=clean(one.name)) for one in media_in(result))
        if result.is_error:
            failed = self._outcome(call, "crashed", "the tool reported an error", text)
            return replace(failed, media=media)
        if fault := misfit(result, self._listed.tool, self._listed.output):
            fault = self._line.clean(fault)
            reason = f"the answer does not fit the schema the server declared: {fault}"
            return self._outcome(call, "crashed", reason[: 2 * _SHORT], text)
        return replace(self._outcome(call, "done", "", text), media=media)

    def _outcome(self, call: ActCall, state: OutcomeState, reason: str, text: str = "") -> Outcome:
        """A server that repeats the secrets it was given is not to bring them into the record."""
        return Outcome(
            call.action,
            state,
            text=self._line.clean(text),
            reason=self._line.clean(reason),
            trust=Trust.UNTRUSTED,
            key=call.key,
            source=self.spec.source,
        )
