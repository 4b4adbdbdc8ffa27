"""Writes every exchange to a folder, one file each, in the order in which they ended."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from anyio import CancelScope, to_thread

from mentis.disk.atomic import unwritable
from mentis.net.recording import Exchange, kept_headers, to_file
from mentis.net.redact import redact, redact_bytes
from mentis.ports.provider import Provider
from mentis.values.digest import digest
from mentis.values.rendering import Rendering
from mentis.values.route import Route

from .answer import HttpAnswer

_STREAM = {"content-type": "text/event-stream"}


class Recorder:
    """The folder is made when the recorder is, so that a wrong one is found before any call."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise unwritable(folder, error) from error

    async def keep(
        self, route: Route, body: bytes, answer: HttpAnswer, *, secrets: Sequence[str]
    ) -> None:
        """Keep this exchange, also one that was cut short: `whole` tells."""
        exchange = Exchange(
            backend=route.backend,
            model=route.model,
            url=redact(route.url, secrets),
            digest=digest(body),
            request=redact_bytes(body, secrets),
            status=answer.status,
            answer=redact_bytes(bytes(answer.heard), secrets),
            headers={
                name: redact(value, secrets) for name, value in kept_headers(answer.headers).items()
            },
            whole=answer.whole,
        )
        with CancelScope(shield=True):
            await to_thread.run_sync(self._write, exchange)

    def _write(self, exchange: Exchange) -> None:
        """Under the next free number: another process may be recording here too."""
        data, number = to_file(exchange), len(list(self._folder.glob("*.json")))
        while True:
            number += 1
            name = f"{number:06d}-{exchange.digest.rpartition(':')[2][:12]}.json"
            if any(self._folder.glob(f"{number:06d}-*.json")):
                continue
            try:
                with (self._folder / name).open("xb") as file:
                    file.write(data)
            except FileExistsError:
                continue
            except OSError as error:
                raise unwritable(self._folder / name, error) from error
            return


class RecordingProvider:
    """Records a provider that is no HTTP server; its events are kept as a stream would be."""

    def __init__(self, provider: Provider, recorder: Recorder) -> None:
        self._provider = provider
        self._recorder = recorder

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        async with self._provider.open(rendering, route) as events:
            answer = HttpAnswer(200, _STREAM, _nothing())
            try:
                yield _tee(events, answer)
            finally:
                await self._recorder.keep(route, rendering.body(), answer, secrets=())

    async def aclose(self) -> None:
        close = getattr(self._provider, "aclose", None)
        if close is not None:
            await close()


async def _tee(events: AsyncIterator[str], answer: HttpAnswer) -> AsyncIterator[str]:
    async for event in events:
        # An event is one line of JSON already; were it not, each line needs its own mark.
        answer.heard += "".join(f"data: {line}\n" for line in event.split("\n")).encode() + b"\n"
        yield event
    answer.whole = True


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""
