"""A transport for `httpx2` and `httpx` clients, and so for the official SDKs: calls go where they
went before, byte for byte, and a copy of each is recorded when it has ended.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, cast
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import anyio.to_thread
import httpx2

from .call_copy import BodyCopy, CallCopy, CallEnd
from .owned_recording import OwnedRecording, own_recording

# Of `httpx2` or of `httpx`: both have the same names for it.
Library: TypeAlias = Any
_KEEP_ALIVE = 100  # connections, as many as the SDKs keep


def transport(
    home: str | Path,
    *,
    name: str,
    inner: httpx2.BaseTransport | httpx2.AsyncBaseTransport | None = None,
    tell: Callable[[str], None] | None = None,
) -> RecordingTransport:
    """A transport for a client of `httpx2` (or `httpx`), sync or async, that records what goes by
    as `recorded/NAME` in this home.

    `inner` does the calls; by default one that takes the proxy of the environment, as a client
    would. `tell` hears what could not be recorded, by default the logger `mentis.recording`. What
    waits is written when the client is closed, or the program ends.
    """
    return RecordingTransport(own_recording(home, name, tell=tell), inner)


class RecordingTransport(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Passes calls on and copies them. A call never waits for its record, nor fails by it."""

    def __init__(
        self,
        recording: OwnedRecording,
        inner: httpx2.BaseTransport | httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._recording = recording
        self._given: Any = inner
        self._made: dict[tuple[str, str, str], Any] = {}
        self._open: set[_Tap] = set()  # answers that are being read

    @property
    def agent(self) -> str:
        """The agent in the record: `recorded/NAME`."""
        return self._recording.agent

    def flush(self, seconds: float | None = None) -> bool:
        """Wait until what has ended is written; False where it takes longer."""
        return self._recording.flush(seconds)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        call, library = self._begin(request), _library_of(request)
        inner, body = self._inner(request, library.HTTPTransport), request.stream
        try:
            self._copy_body(call, request)
            response = inner.handle_request(request)
        except BaseException as error:
            self._fail(call, error)
            raise
        finally:
            request.stream = body
        return response if call is None else self._watch(call, response)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        call, library = self._begin(request), _library_of(request)
        inner, body = self._inner(request, library.AsyncHTTPTransport), request.stream
        try:
            self._copy_body(call, request)
            response = await inner.handle_async_request(request)
        except BaseException as error:
            self._fail(call, error)
            raise
        finally:
            request.stream = body
        return response if call is None else self._watch(call, response)

    def close(self) -> None:
        """Write what waits, and close the connections."""
        for inner in (self._given, *self._made.values()):
            if hasattr(inner, "close"):
                inner.close()
        self._leave()
        self._recording.close()

    async def aclose(self) -> None:
        """The same, for an async client."""
        for inner in (self._given, *self._made.values()):
            if hasattr(inner, "aclose"):
                await inner.aclose()
        self._leave()
        await anyio.to_thread.run_sync(self._recording.close)

    def _leave(self) -> None:
        for tap in tuple(self._open):
            tap.leave()

    def _begin(self, request: httpx2.Request) -> CallCopy | None:
        try:
            url, path = str(request.url), request.url.raw_path.decode("latin-1")
            headers = tuple(request.headers.raw)
        except Exception as error:  # noqa: BLE001  # the call goes on, whatever it is
            self._recording.fail(error)
            return None
        return self._recording.begin(url, request.method, path, headers)

    def _copy_body(self, call: CallCopy | None, request: httpx2.Request) -> None:
        """At once where it is whole, else while it is sent."""
        library = _library_of(request)
        if call is None:
            return
        try:
            call.request.take(request.content)
        except library.RequestNotRead:
            tap = _Tap(self._recording, call, call.request)
            request.stream = _streams(library)(request.stream, tap)

    def _watch(self, call: CallCopy, response: httpx2.Response) -> httpx2.Response:
        """The same answer, its bytes copied as they are read."""
        library = _library_of(response)
        call.status, call.answer_headers = response.status_code, tuple(response.headers.raw)
        tap = _Tap(self._recording, call, call.answer, open_taps=self._open)
        return cast(
            "httpx2.Response",
            library.Response(
                response.status_code,
                headers=response.headers,
                stream=_streams(library)(response.stream, tap),
                extensions=response.extensions,
            ),
        )

    def _fail(self, call: CallCopy | None, error: BaseException) -> None:
        if call is None:
            return
        # Whoever cancels a call has left; it was not the server.
        end = "unreachable" if isinstance(error, Exception) else "left"
        self._recording.end(call, end, f"{type(error).__name__}: {error}")

    def _inner(self, request: httpx2.Request, kind: Callable[..., Any]) -> Any:  # noqa: ANN401  # of either library
        """A client with a transport of its own asks for no proxy, so it is asked for here."""
        if self._given is not None:
            return self._given
        proxy = _proxy_for(str(request.url))
        key = (kind.__module__, kind.__name__, proxy)
        if key not in self._made:
            library = _library_of(request)
            limits = library.Limits(max_connections=None, max_keepalive_connections=_KEEP_ALIVE)
            options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
            self._made[key] = kind(limits=limits, proxy=proxy or None, socket_options=options)
        return self._made[key]


class _Tap:
    """Where the bytes of one body go. With the last of an answer, the call is over; until then it
    is in `open_taps`.
    """

    def __init__(
        self,
        recording: OwnedRecording,
        call: CallCopy,
        copy: BodyCopy,
        *,
        open_taps: set[_Tap] | None = None,
    ) -> None:
        self._recording = recording
        self._call = call
        self._copy = copy
        self._open = open_taps
        if open_taps is not None:
            open_taps.add(self)

    def take(self, piece: bytes) -> None:
        if self._call.ended:  # it is handed over, and not touched any more
            return
        self._copy.take(piece)
        if self._open is not None and self._call.first_byte is None:
            self._call.first_byte = self._recording.touch()

    def leave(self) -> None:
        if not self._call.ended:
            self.end(self._call.end_where_left())

    @contextmanager
    def reading(self) -> Generator[None]:
        """Around all of it; whoever stops in the middle is going to close it."""
        try:
            yield
        except GeneratorExit:
            raise
        except BaseException as error:
            end = "broken" if isinstance(error, Exception) else "left"
            self.end(end, f"{type(error).__name__}: {error}")
            raise
        self.end()

    def end(self, end: CallEnd = "answered", reason: str = "") -> None:
        if self._open is not None and self in self._open:
            self._open.discard(self)
            self._recording.end(self._call, end, reason)


_MADE: dict[str, Callable[[Any, _Tap], Any]] = {}


def _streams(library: Library) -> Callable[[Any, _Tap], Any]:
    """The class of copied streams; clients look whether it is one of their own."""
    if library.__name__ not in _MADE:

        class CopiedStream(library.SyncByteStream, library.AsyncByteStream):
            def __init__(self, stream: Any, tap: _Tap) -> None:  # noqa: ANN401  # of either library
                self._stream = stream
                self._tap = tap

            def __iter__(self) -> Iterator[bytes]:
                with self._tap.reading():
                    for piece in self._stream:
                        self._tap.take(piece)
                        yield piece

            async def __aiter__(self) -> AsyncIterator[bytes]:
                with self._tap.reading():
                    async for piece in self._stream:
                        self._tap.take(piece)
                        yield piece

            def close(self) -> None:
                self._tap.leave()
                self._stream.close()

            async def aclose(self) -> None:
                self._tap.leave()
                await self._stream.aclose()

            def __del__(self) -> None:
                self._tap.leave()  # dropped without being closed

        _MADE[library.__name__] = CopiedStream
    return _MADE[library.__name__]


def _library_of(value: object) -> Library:
    return sys.modules[type(value).__module__.partition(".")[0]]


def _proxy_for(url: str) -> str:
    parts = urlsplit(url)
    proxies = getproxies()
    found = proxies.get(parts.scheme) or proxies.get("all") or ""
    if not found or proxy_bypass(parts.hostname or ""):
        return ""
    return found if "://" in found else f"http://{found}"
