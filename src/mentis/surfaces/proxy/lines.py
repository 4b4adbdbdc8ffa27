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
    `sent` sees them before they go, so that no answer is seen before its question, `received` once
    they have gone.
    """
    ended: list[str] = []
    async with anyio.create_task_group() as tasks:

        async def send() -> None:
            with suppress(OSError):  # whichever line fails, it is the end of both
                while piece := await program.read():
                    sent(piece)
                    await server.write(piece)
            ended.append("program")
            tasks.cancel_scope.cancel()

        async def receive() -> None:
            with suppress(OSError):
                while piece := await server.read():
                    await program.write(piece)
                    received(piece)
            ended.append("server")
            tasks.cancel_scope.cancel()

        tasks.start_soon(send)
        await receive()
    return ended[0]


class _LineProtocol(asyncio.Protocol):
    """Bytes as they come and go, each only as fast as the other side takes them. (The streams of
    the library close a connection that is handed on.)
    """

    def __init__(self, transport: asyncio.Transport, early: bytes) -> None:
        self._transport = transport
        self._waiting = bytearray(early)
        self._ended = False
        self._change = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self.left = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self._waiting += data
        if len(self._waiting) >= _PIECE:
            self._transport.pause_reading()
        self._change.set()

    def eof_received(self) -> bool:
        """What is to be written still may be, but not over TLS, which has no half of an end."""
        self._end()
        return self._transport.get_extra_info("sslcontext") is None

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # as the library has it
        self._end()
        self._writable.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _end(self) -> None:
        self._ended = True
        self._change.set()
        self.left.set()

    async def read(self) -> bytes:
        while not self._waiting and not self._ended:
            self._change.clear()
            await self._change.wait()
        data, self._waiting = bytes(self._waiting), bytearray()
        if not self._ended:
            self._transport.resume_reading()
        return data

    async def write(self, data: bytes) -> None:
        if self._transport.is_closing():
            raise ConnectionResetError("the program has gone")
        self._transport.write(data)
        await self._writable.wait()


class ProgramLine:
    """The connection of a program, taken over from the server with the request on it that asks for
    something else than an answer. It is answered all the same, or bytes go over it.
    """

    def __init__(self, transport: asyncio.Transport, early: bytes, successor: Successor) -> None:
        self._transport: asyncio.Transport | None = transport
        self._protocol = _LineProtocol(transport, early)
        self._successor = successor
        self._asked = False
        self._stopping = False
        self.has_early = bool(early)  # whether more was sent before it was answered
        self.is_busy: Callable[[], bool] = lambda: False
        transport.set_protocol(self._protocol)

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
        """The server is about to stop: there is no telling when a line would end by itself, so
        it does as soon as it `is_busy` no more.
        """
        self._stopping = True
        self.close_idle()

    def close_idle(self) -> None:
        """Where the server waits for that."""
        if self._stopping and not self.is_busy() and self._transport is not None:
            self._transport.close()

    async def _receive(self) -> Message:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._protocol.left.wait()
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
            await self.write(b"HTTP/1.1 %d %s\r\n%s\r\n" % (status, phrase, lines))
        elif body := message.get("body"):
            await self.write(body)

    async def read(self) -> bytes:
        return await self._protocol.read()

    async def write(self, data: bytes) -> None:
        await self._protocol.write(data)

    async def encrypt(self, context: ssl.SSLContext, state: dict[str, Any], seconds: float) -> None:
        """Speak TLS from here on, and give the connection back to the server: what comes next are
        requests with this `state`. OSError where the program does not go along.
        """
        if self._transport is None:
            return
        waiting = _Waiting()
        # Nothing is awaited before: the first byte of it must not be taken for one of ours.
        inner = await asyncio.get_running_loop().start_tls(
            self._transport, waiting, context, server_side=True, ssl_handshake_timeout=seconds
        )
        self._transport = None
        if inner is None:
            return
        protocol = self._successor(state)
        inner.set_protocol(protocol)
        protocol.connection_made(inner)
        if waiting.data:
            protocol.data_received(bytes(waiting.data))
        if waiting.lost:
            protocol.connection_lost(None)


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

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream

    async def read(self) -> bytes:
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
