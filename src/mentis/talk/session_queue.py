"""Whose turn it is in each session: one after the other there, sessions side by side.

It is about one open agent. Between processes nobody waits in a queue: see `turn.session_lock`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from anyio import CancelScope, Event
from anyio.lowlevel import checkpoint_if_cancelled

from mentis.errors import SessionBusy, UsageError


@dataclass(eq=False, slots=True)
class QueuePlace:
    """One who came to a session. `reading` is what ends the answer, once it is its turn."""

    session: str
    turn: Event = field(default_factory=Event)
    reading: CancelScope | None = None

    async def wait(self) -> CancelScope:
        """Until everybody who came before has gone; then what ends the answer, new each time."""
        if self.turn.is_set():
            await checkpoint_if_cancelled()
        else:
            await self.turn.wait()
        self.reading = CancelScope()
        return self.reading


# Where whoever runs now stands: what is done in a turn must not wait for that turn.
_WITHIN: ContextVar[tuple[QueuePlace, ...]] = ContextVar("mentis_session_places", default=())


class SessionQueue:
    """The places of every session of one agent, in the order they were taken. It belongs to one
    event loop at a time.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._places: dict[str, deque[QueuePlace]] = {}
        self.changes = 0  # places taken and left so far

    @contextmanager
    def join(self, session: str) -> Generator[QueuePlace]:
        """Take the next place, at once; `wait` in the block. SessionBusy where too many wait."""
        line = self._places.get(session, deque())
        within = _WITHIN.get()
        if any(place in line for place in within):
            raise UsageError(
                f"a turn of session {session!r} waits for this call, and this call for its end",
                hint="ask in another session",
                session=session,
            )
        if len(line) > self._most:  # the first is being answered
            raise SessionBusy(
                f"{len(line) - 1} messages of session {session!r} wait for their answer already",
                hint="try again when some are answered, or raise turn.queue",
                session=session,
                waiting=len(line) - 1,
            )
        place = QueuePlace(session)
        self._places.setdefault(session, line).append(place)
        self.changes += 1
        if line[0] is place:
            place.turn.set()
        _WITHIN.set((*within, place))
        try:
            yield place
        finally:
            _WITHIN.set(within)
            self._leave(place)

    def is_awaited(self, session: str) -> bool:
        """Whether somebody waits for whoever is being answered there."""
        return len(self._places.get(session, ())) > 1

    def reading(self, session: str | None = None) -> tuple[CancelScope, ...]:
        """What ends the answers that are read just now: of one session, or of all."""
        lines = self._places.values() if session is None else [self._places.get(session, deque())]
        first = (line[0] for line in lines if line)
        return tuple(place.reading for place in first if place.reading is not None)

    def _leave(self, place: QueuePlace) -> None:
        self.changes += 1
        line = self._places[place.session]
        line.remove(place)
        if line:
            line[0].turn.set()
        else:
            del self._places[place.session]
