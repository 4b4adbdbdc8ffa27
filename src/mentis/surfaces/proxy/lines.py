"""Lines: connections whose bytes are passed on as they come, once HTTP has done its part."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import anyio

from mentis.web.guard import AsgiApp, Message, ScopeDict

if TYPE_CHECKING:
    from anyio.abc import ByteStream
    from httpcore2 import AsyncNetworkStream

_PIECE = 65_536
_PHRASES = {one.value: one.phrase for one in HTTPStatus}
Take: TypeAlias = Callable[[bytes], None]
# Makes what speaks HTTP on a connection from now on, with this state in its requests.
Successor: TypeAlias = Callable[[dict[str, Any]], Any]


class Line(Protocol):
    """One side of a connection. `read` gives nothing once it has ended; both raise OSError."""

    async def read(self) -> bytes: ...

    async def write(self, data: bytes) -> None: ...


async def join_lines(program: Line, server: Line, *, sent: Take, received: Take) -> str:
    """Pass bytes on in both directions until one side ends; `program` or `server` says which.
    `sent` and `received` see them once they are on their way.
    """
    ended: list[str] = []
    async with anyio.create_task_group() as tasks:

        async def pass_on(source: Line, drain: Line, take: Take, name: str) -> None:
            # Whichever line fails, it is the end of both.
            with suppress(OSError):
                while piece := await source.read():
                    await drain.write(piece)
                    take(piece)
            ended.append(name)
            tasks.cancel_scope.cancel()

        tasks.start_soon(pass_on, program, server, sent, "program")
        await pass_on(server, program, received, "server")
    return ended[0]


class _LineProtocol(asyncio.StreamReaderProtocol):
    def __init__(self, reader: asyncio.StreamReader, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(reader, loop=loop)
        self.lost = asyncio.Event()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.lost.set()

    def eof_received(self) -> bool:
        self.lost.set()
        return bool(super().eof_received())


class ProgramLine:
    """The connection of a program, taken over from the server with the request on it that asks for
    something else than an answer. It is answered all the same, or `switch`ed.
    """

    def __init__(self, transport: asyncio.Transport, early: bytes, successor: Successor) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=_PIECE, loop=loop)
        self._protocol = _LineProtocol(reader, loop)
        self._transport: asyncio.Transport | None = transport
        self._successor = successor
        transport.set_protocol(self._protocol)
        self._protocol.connection_made(transport)
        self._reader = reader
        self._writer = asyncio.StreamWriter(transport, self._protocol, reader, loop)
        self._early = early
        self._asked = False

    async def run(self, app: AsgiApp, scope: ScopeDict) -> None:
        """Have the request answered by the application, which finds this line in its `state`."""
        scope = {**scope, "state": {**scope["state"], "line": self}}
        try:
            await app(scope, self._receive, self._send)
        except OSError:
            """The program has gone."""
        finally:
            if self._transport is not None:
                self._transport.close()

    def shutdown(self) -> None:
        """The server is about to stop: there is no telling when a line would end by itself."""
        if self._transport is not None:
            self._transport.close()

    async def _receive(self) -> Message:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._protocol.lost.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        """A `switch` is no answer: from there on bytes go by as they are. An answer is whole when
        the connection ends.
        """
        if message["type"] == "http.response.start":
            status, headers = message["status"], list(message["headers"])
            if not message.get("switch"):
                headers = [one for one in headers if one[0].lower() != b"connection"]
                headers.append((b"connection", b"close"))
            phrase = _PHRASES.get(status, "").encode()
            lines = b"".join(b"%s: %s\r\n" % header for header in headers)
            self._writer.write(b"HTTP/1.1 %d %s\r\n%s\r\n" % (status, phrase, lines))
        elif body := message.get("body"):
            await self.write(body)

    async def read(self) -> bytes:
        early, self._early = self._early, b""
        return early or await self._reader.read(_PIECE)

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def encrypt(self, context: ssl.SSLContext, state: dict[str, Any], seconds: float) -> None:
        """Speak TLS from here on, and give the connection back to the server: what comes next are
        requests with this `state`. OSError where the program does not go along.
        """
        transport, self._transport = self._transport, None
        if transport is None:
            return
        waiting = _Waiting()
        # Nothing is awaited before: the first byte of it must not be taken for one of ours.
        inner = await asyncio.get_running_loop().start_tls(
            transport, waiting, context, server_side=True, ssl_handshake_timeout=seconds
        )
        if inner is None:
            return
        protocol = self._successor(state)
        inner.set_protocol(protocol)
        protocol.connection_made(inner)
        if waiting.data:
            protocol.data_received(bytes(waiting.data))
        if waiting.lost:
            protocol.connection_lost(None)

    @property
    def has_early(self) -> bool:
        """Whether the program sent more before it was answered."""
        return bool(self._early)


class _Waiting(asyncio.Protocol):
    """Holds what comes between the end of a handshake and its reader."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.lost = False

    def data_received(self, data: bytes) -> None:
        self.data += data

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # as the library has it
        self.lost = True


class SwitchedLine:
    """The connection to a server that agreed to speak something else than HTTP."""

    def __init__(self, stream: AsyncNetworkStream) -> None:
        self._stream = stream

    async def read(self) -> bytes:
        from httpcore2 import NetworkError

        try:
            return await self._stream.read(_PIECE)
        except NetworkError as error:
            raise OSError(str(error)) from error

    async def write(self, data: bytes) -> None:
        from httpcore2 import NetworkError

        try:
            await self._stream.write(data)
        except NetworkError as error:
            raise OSError(str(error)) from error


class TunnelLine:
    """The connection to a server that is none of ours to read."""

    def __init__(self, stream: ByteStream, early: bytes = b"") -> None:
        self._stream = stream
        self._early = early

    async def read(self) -> bytes:
        if self._early:
            early, self._early = self._early, b""
            return early
        try:
            return await self._stream.receive(_PIECE)
        except anyio.EndOfStream:
            return b""
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise OSError(str(error)) from error

    async def write(self, data: bytes) -> None:
        try:
            await self._stream.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise OSError(str(error)) from error
