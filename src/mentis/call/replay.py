"""Plays recorded exchanges. There is no client in here: it cannot touch the network."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from anyio import to_thread

from mentis.errors import ProviderUnreachable, RouteError
from mentis.net.recording import Exchange, from_file
from mentis.values.digest import digest
from mentis.values.rendering import Rendering
from mentis.values.route import Route

from .answer import HttpAnswer, events_in
from .dialects import DIALECTS, Dialect
from .faults import refusal
from .opening import read_opening

_PLAIN = Dialect("")  # the embedded model has no end marker: its events just end


class ReplayProvider:
    """Each recording is played once; the same body recorded twice plays both, in order."""

    def __init__(self) -> None:
        self._tapes: dict[str, list[Exchange]] = {}

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        if route.folder not in self._tapes:
            self._tapes[route.folder] = await to_thread.run_sync(_read_tape, route)
        exchange = _take(self._tapes[route.folder], rendering, route)
        answer = HttpAnswer(exchange.status, dict(exchange.headers), _pieces(exchange, route))
        if answer.status != 200:
            raise await refusal(answer, route, "")
        dialect = DIALECTS.get(route.replays, _PLAIN)
        events = events_in(answer, dialect, route, limit=len(exchange.answer))
        yield await read_opening(answer, events, route, key="")


def _read_tape(route: Route) -> list[Exchange]:
    folder = Path(route.folder)
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise RouteError(
            f"route {route.name!r}: there are no recordings in {folder}",
            hint="record some with record.folder, or correct the folder of this route",
            folder=str(folder),
        )
    return [from_file(path.read_bytes(), str(path)) for path in paths]


def _take(tape: list[Exchange], rendering: Rendering, route: Route) -> Exchange:
    wanted = digest(rendering.body())
    for number, exchange in enumerate(tape):
        if route.match == "order" or exchange.digest == wanted:
            return tape.pop(number)
    raise RouteError(
        f"route {route.name!r}: no recording is left of a request with digest {wanted}",
        hint="nothing is sent instead; record it, or set match = 'order' to play in order",
        digest=wanted,
        left=len(tape),
    )


async def _pieces(exchange: Exchange, route: Route) -> AsyncIterator[bytes]:
    yield exchange.answer
    if not exchange.whole and exchange.status == 200:
        raise ProviderUnreachable(
            f"route {route.name!r}: the recorded answer breaks off here",
            hint="it broke off, or was interrupted, when it was recorded",
        )
