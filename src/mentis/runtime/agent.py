"""A persona living in a home: what programs and surfaces hold on to."""

from __future__ import annotations

import math
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

import anyio
from anyio import CancelScope, to_thread

from mentis.act.registry import Registry
from mentis.codec.request_check import check_request
from mentis.compose.compose import Composed
from mentis.errors import MentisError, UsageError
from mentis.stores.files.home import Home, checked_id
from mentis.stores.sqlite.database import Database
from mentis.values.caching import Forecast, Reconciled
from mentis.values.entry import Entry, Verdict
from mentis.values.recalled import Stimulus
from mentis.values.rendering import Rendering
from mentis.values.reply import Delta, Usage
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.turn import Turn

from .attachments import check_words, read_attachments
from .audit import verify_agent
from .evidence import gather
from .legs import render_turn
from .mind import Mind
from .present import look
from .previous import read_previous
from .settings import Settings
from .turn import Hear, TurnResult, compose_turn, run_turn, told_history
from .wiring import Parts, open_mind


@runtime_checkable
class _Closing(Protocol):
    async def aclose(self) -> None: ...


class Answer:
    """An answer on its way: iterate it for the pieces; `result` is there when it has ended."""

    def __init__(self, pieces: AsyncIterator[Delta]) -> None:
        self._pieces = pieces
        self.result: TurnResult | None = None

    def __aiter__(self) -> AsyncIterator[Delta]:
        return self._pieces


class Agent:
    """Open one with `Agent.open(path)`; use it as an async context manager, so that it is closed.

    ```python
    async with Agent.open("my-home") as agent:
        result = await agent.chat("Good morning!")
        print(result.reply.text)
    ```
    """

    def __init__(
        self,
        mind: Mind,
        database: Database,
        settings: Settings,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._mind = mind
        self._environ = environ
        self._database = database
        self._settings = settings
        self._reading: CancelScope | None = None

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        persona: str | None = None,
        route: str = "default",
        parts: Parts | None = None,
    ) -> Self:
        """The agent of one persona; the only persona there is may be left unnamed."""
        parts = parts or Parts()
        mind, database, settings = open_mind(Path(path), persona=persona, route=route, parts=parts)
        return cls(mind, database, settings, parts.variables)

    @property
    def id(self) -> str:
        return self._mind.agent

    @property
    def route(self) -> Route:
        return self._mind.route

    @property
    def acts(self) -> Registry:
        """What it can do, as it is now: `add` and `drop` count from the next turn on."""
        return self._mind.acting.registry

    @property
    def connecting(self) -> tuple[str, ...]:
        """Servers that have not said yet what they can do: the turn that began waits for them."""
        return self._mind.acting.tools.connecting

    def compose(self, message: str | Stimulus, *, session: str = "main") -> Composed:
        """The request and trace for this message, as if it were sent now. Nothing is sent."""
        stimulus = self._stimulus(message)
        mind = self._mind
        history = told_history(mind, checked_id(session, "session"))
        return compose_turn(mind, look(mind), stimulus, history, news=mind.acting.news())

    def render(self, message: str | Stimulus, *, session: str = "main") -> Rendering:
        """The exact payload for this message. Nothing is sent."""
        return render_turn(self.compose(message, session=session).request, self._mind.route)

    def forecast(
        self,
        rendering: Rendering,
        *,
        route: Route | None = None,
        before: Rendering | bytes | None = None,
    ) -> Forecast:
        """What the cache is worth for a rendering: tokens and price of each boundary.

        With `before`, an earlier rendering (or what `mentis render` wrote of it), also the first
        byte that differs, the span it belongs to, and what has to be read again for that.
        """
        earlier = read_previous(before, rendering) if isinstance(before, bytes) else before
        chosen, now = route or self._mind.route, self._mind.clock.now()
        return self._mind.caching.forecast(rendering, chosen, now=now, before=earlier)

    def reconcile(self, rendering: Rendering, usage: Usage, *, session: str = "main") -> Reconciled:
        """What was expected of the cache beside what a call of your own reported. Not recorded."""
        mind = self._mind
        now = mind.clock.now()
        settled = mind.caching.settle(rendering, mind.route, usage, session=session, now=now)
        return settled.reconciled

    def history(self, *, session: str = "main") -> tuple[Turn, ...]:
        """As it is kept. The model is told what became of acts that waited then."""
        return self._mind.conversations.turns(self._mind.agent, checked_id(session, "session"))

    def entries(self) -> tuple[Entry, ...]:
        """The record of this agent, oldest first."""
        return tuple(self._mind.ledger.entries(self._mind.agent))

    def verify(self) -> Verdict:
        """Check this agent's whole record, with every checkpoint that the home knows of."""
        mind = self._mind
        home = Home(self._database.path.parent)
        asked = gather(home, self._settings, self._environ, persona=mind.persona.id)
        return verify_agent(mind.agent, mind.ledger, mind.conversations, asked)

    async def chat(
        self, message: str | Stimulus, *, session: str = "main", hear: Hear | None = None
    ) -> TurnResult:
        """Send a message and read the answer to its end; `hear` gets every piece as it comes.

        A `Stimulus` carries what comes with the words: attachments, the message it answers, facts
        about this turn, what is around the conversation.
        """
        stimulus = await to_thread.run_sync(self._stimulus, message)
        if self._reading is not None:
            raise UsageError(
                "this agent is answering already", hint="wait for the answer, or open another agent"
            )
        self._reading = CancelScope()
        try:
            return await run_turn(
                self._mind,
                stimulus,
                session=checked_id(session, "session"),
                hear=hear or _ignore,
                reading=self._reading,
            )
        finally:
            self._reading = None

    def interrupt(self) -> None:
        """End the answer that is being read; `chat` returns what came so far, marked so."""
        if self._reading is not None:
            self._mind.acting.interrupt()
            self._reading.cancel()

    @asynccontextmanager
    async def stream(
        self, message: str | Stimulus, *, session: str = "main"
    ) -> AsyncGenerator[Answer, None]:
        """The answer piece by piece. Leaving early interrupts it and keeps the part that came."""
        send, receive = anyio.create_memory_object_stream[Delta](math.inf)
        answer, failures = Answer(receive), list[BaseException]()

        async def talk() -> None:
            with send:
                try:
                    answer.result = await self.chat(message, session=session, hear=send.send_nowait)
                except MentisError as error:
                    failures.append(error)

        with receive:
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(talk)
                    yield answer
                    tasks.cancel_scope.cancel()
            except BaseExceptionGroup as group:
                # `talk` keeps its failure; what is in here is what the caller's own code raised.
                failures.extend(group.exceptions)
        if failures:
            raise failures[0]

    async def aclose(self) -> None:
        try:
            await self._mind.acting.aclose()
            if isinstance(self._mind.provider, _Closing):
                await self._mind.provider.aclose()
        finally:
            self.close()

    def close(self) -> None:
        """Enough for an agent that was never asked anything."""
        self._mind.acting.close()
        self._mind.ledger.close()
        self._database.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def _stimulus(self, message: str | Stimulus) -> Stimulus:
        """The message, if it is one, with its files read and everything inside the limits."""
        given = Stimulus(message) if isinstance(message, str) else message
        limits = self._settings.model.limits
        check_words(given, limits)
        stimulus = replace(
            given,
            author=given.author or self._mind.profile.name,
            attachments=read_attachments(given.attachments, limits),
        )
        if stimulus.attachments:
            check_request(
                PromptRequest(
                    current_text=stimulus.text,
                    attachments=stimulus.attachments,
                    reply_to=stimulus.reply_to,
                )
            )
        return stimulus


def _ignore(_delta: Delta) -> None:
    """Nobody listens to the pieces; the whole answer is returned."""
