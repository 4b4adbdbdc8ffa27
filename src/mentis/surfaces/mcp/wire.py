"""One MCP client on standard input and output: lines of JSON-RPC, and nothing else.

The SDK has such a transport too. Its reads wait in a thread that no signal ends, and it forgets
the bytes of a line; but whether a draft names a key twice can only be seen in its bytes.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from mentis.errors import UsageError
from mentis.system.pipes import read_pipe, write_pipe

# Far above what a draft may have: those above that limit get an answer that says so.
MAX_LINE = 64 * 1024 * 1024
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Ends:
    """The two descriptors the client is at the other side of."""

    reader: int
    writer: int


@contextmanager
def claimed_ends() -> Generator[Ends]:
    """Take standard input and output for the protocol; what else is printed goes to stderr."""
    try:
        ends = Ends(os.dup(0), os.dup(1))
    except OSError as error:
        hint = "an MCP client starts this command and talks to it through both"
        raise UsageError("standard input or output is closed", hint=hint) from error
    _point(0, os.open(os.devnull, os.O_RDONLY))
    _point(1, _talk())
    try:
        yield ends
    finally:
        sys.stdout.flush()  # what somebody printed meanwhile is talk, too
        _point(0, ends.reader)
        _point(1, ends.writer)


def _talk() -> int:
    try:
        return os.dup(2)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)


def _point(standard: int, target: int) -> None:
    os.dup2(target, standard)
    os.close(target)


class Wire:
    def __init__(self, ends: Ends) -> None:
        self._ends = ends
        self._owed: set[RequestId] = set()
        self._paid = anyio.Event()

    async def serve(self, server: Server[Any]) -> None:
        """Until the client leaves; what it asked before is answered first."""
        into, incoming = anyio.create_memory_object_stream[SessionMessage | Exception]()
        outgoing, out_of = anyio.create_memory_object_stream[SessionMessage]()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._receive, into, outgoing.clone())
            tasks.start_soon(self._send, out_of, tasks.cancel_scope)
            await server.run(incoming, outgoing, server.create_initialization_options())

    async def _receive(
        self,
        into: MemoryObjectSendStream[SessionMessage | Exception],
        answers: MemoryObjectSendStream[SessionMessage],
    ) -> None:
        async with into, answers:
            async for line in _lines(self._ends.reader):
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValidationError as error:
                    await answers.send(SessionMessage(_refusal(line, error)))
                    continue
                self._note(message)
                # The bytes travel with the message; a handler finds them as `ctx.request`.
                carried = ServerMessageMetadata(request_context=line)
                await into.send(SessionMessage(message, carried))
            while self._owed:
                self._paid = anyio.Event()
                await self._paid.wait()

    def _note(self, message: object) -> None:
        match message:
            case JSONRPCRequest():
                self._owed.add(message.id)
            case JSONRPCNotification(method="notifications/cancelled"):
                # Such a request gets no answer.
                self._pay((message.params or {}).get("requestId"))
            case _:
                pass

    def _pay(self, request: object) -> None:
        if isinstance(request, int | str):
            self._owed.discard(request)
        self._paid.set()

    async def _send(
        self, source: MemoryObjectReceiveStream[SessionMessage], everything: anyio.CancelScope
    ) -> None:
        async with source:
            async for carried in source:
                message = carried.message
                text = message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    await write_pipe(self._ends.writer, text.encode() + b"\n")
                except BrokenPipeError:
                    everything.cancel()  # nobody listens any more, and nothing is wrong
                if isinstance(message, JSONRPCResponse | JSONRPCError):
                    self._pay(message.id)


async def _lines(descriptor: int) -> AsyncGenerator[bytes]:
    """Line by line. One that never ends is cut, and so refused like any other broken one."""
    begun = bytearray()
    while chunk := await read_pipe(descriptor, _CHUNK):
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            line = bytes(begun + end)
            begun.clear()
            if line.strip():
                yield line
        begun += rest[: MAX_LINE - len(begun)]
    if begun.strip():
        yield bytes(begun)


def _refusal(line: bytes, error: ValidationError) -> JSONRPCError:
    if any(problem["type"] == "json_invalid" for problem in error.errors(include_input=False)):
        data = ErrorData(code=PARSE_ERROR, message="this line is not JSON")
        return JSONRPCError(jsonrpc="2.0", id=None, error=data)
    data = ErrorData(code=INVALID_REQUEST, message="this line is not a message of JSON-RPC 2.0")
    return JSONRPCError(jsonrpc="2.0", id=_id_in(line), error=data)


def _id_in(line: bytes) -> RequestId | None:
    found: object = json.loads(line)
    given = cast("dict[str, object]", found).get("id") if isinstance(found, dict) else None
    return given if isinstance(given, int | str) and not isinstance(given, bool) else None
