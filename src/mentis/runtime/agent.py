"""A persona living in a home: what programs and surfaces hold on to."""

from __future__ import annotations

import math
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

import anyio
from anyio import CancelScope, to_thread
from anyio.from_thread import start_blocking_portal

from mentis.act.registry import Registry
from mentis.codec.request_check import check_request
from mentis.compose.compose import Composed
from mentis.errors import BadInput, MentisError, UsageError
from mentis.stores.files.home import Home, checked_id
from mentis.stores.sqlite.database import Database
from mentis.values.assembly import Assembled
from mentis.values.caching import Forecast, Reconciled
from mentis.values.entry import Entry, Verdict
from mentis.values.recalled import Recalled, Stimulus
from mentis.values.rendering import Rendering
from mentis.values.reply import Delta, Usage
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.tool import ToolDeclaration
from mentis.values.turn import Turn

from .attachments import check_words, read_attachments
from .audit import verify_agent
from .bringing import Brought, Outlook, nothing
from .events import OnEvent
from .evidence import gather
from .fork import Fork, course_of, fork_turn, live_mind, scripted_mind, session_of
from .kept_turn import KeptTurn, find_entry, load_turn
from .legs import render_turn
from .mind import Mind
from .present import look
from .previous import read_previous
from .replay import Replayed, replay_turn
from .segment_files import open_segments
from .settings import Settings
from .turn import Hear, TurnResult, compose_turn, look_out, run_course, run_turn, told_history
from .wiring import Parts, open_mind, open_routes

if TYPE_CHECKING:
    from .assemble import Assembler


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
        *,
        on_event: OnEvent | None = None,
    ) -> None:
        self._mind = mind
        self._on_event = on_event
        self._assembler: Assembler | None = None
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
        return cls(mind, database, settings, parts.variables, on_event=parts.on_event)

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
        history, present = told_history(mind, checked_id(session, "session")), look(mind)
        brought = self._brought(stimulus, look_out(mind, present, session))
        news = mind.acting.news()
        return compose_turn(mind, present, stimulus, history, news=news, brought=brought).composed

    def render(self, message: str | Stimulus, *, session: str = "main") -> Rendering:
        """The exact payload for this message. Nothing is sent."""
        return render_turn(self.compose(message, session=session).request, self._mind.route)

    async def connect(self) -> tuple[ToolDeclaration, ...]:
        """Start the servers of its tools, as a turn would, and return all it can do now."""
        acting = self._mind.acting
        await acting.tools.start()
        await to_thread.run_sync(acting.tools.follow_skills)
        return acting.registry.declarations()

    async def recall(self, task: str, *, mode: str = "auto") -> Recalled:
        """What comes to mind for a task: tools, skills and memories, each with its reason."""
        return await self._assembling().recall(task, mode=mode)

    async def assemble(
        self,
        task: str,
        *,
        mode: str = "auto",
        root: str | Path | None = None,
        interactive: bool = False,
        git_changes: bool = False,
        session: str = "main",
        timings: bool = False,
    ) -> Assembled:
        """The prompt for a task as one text, layer by layer, with what went into it and why.

        `mode` is `plan`, `act`, `review` or `auto`; then the two hints and the words of the task
        decide. With a `root` the folder and its git repository are told of, without it nothing of
        the machine is. The same inputs give the same bytes. No model is called.
        """
        from mentis.recall.stance import Hints

        place = None if root is None else await to_thread.run_sync(Path(root).resolve)
        return await self._assembling().assemble(
            task,
            mode=mode,
            root=place,
            hints=Hints(interactive, git_changes),
            session=checked_id(session, "session"),
            timings=timings,
        )

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
        async with self._one_at_a_time() as reading:
            return await run_turn(
                self._mind,
                stimulus,
                session=checked_id(session, "session"),
                hear=hear or _ignore,
                reading=reading,
            )

    def replay(self, index: int) -> Replayed:
        """The prompt of a recorded turn, put together again and compared with its entry, offline.

        ReplayError where something it was made from is gone, or was never kept.
        """
        return replay_turn(self._kept_turn(index), self._mind.secret)

    def fork(self, index: int, blocks: Mapping[str, str], *, force: bool = False) -> Fork:
        """A recorded turn with other texts in some of its blocks, and what differs for that.

        Nothing is sent or written; `go_on` does that. The constitution is changed only by `force`.
        """
        most = self._settings.model.limits.prompt_file_bytes
        for name, text in blocks.items():
            if len(text.encode("utf-8", "surrogatepass")) > most:
                raise BadInput(
                    f"the text for block {name!r} is over {most} bytes",
                    hint="shorten it, or raise limits.prompt_file_bytes",
                )
        return fork_turn(self._mind, self._kept_turn(index), blocks, force=force)

    async def go_on(
        self,
        fork: Fork,
        *,
        live: bool = False,
        script: Sequence[str] | None = None,
        hear: Hear | None = None,
    ) -> TurnResult:
        """Ask what a fork would ask: its provider (`live`), or a script of replies.

        It is a turn in a session of its own, and its entry names the turn that it was made from.
        What the answer asks for is not done.
        """
        if live == (script is not None):
            raise UsageError(
                "a fork goes on live or with a script", hint="choose one: live=True, or script=..."
            )
        if script is not None:
            mind = scripted_mind(self._mind, fork, script)
        else:
            home = Home(self._database.path.parent)
            chain = open_routes(self._settings, home, fork.inputs.route.name)
            mind = live_mind(self._mind, fork, chain[0])
        present = await to_thread.run_sync(look, mind)
        session = await to_thread.run_sync(session_of, mind, fork)
        course = course_of(mind, present, fork)
        async with self._one_at_a_time() as reading:
            return await run_course(course, session=session, hear=hear or _ignore, reading=reading)

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

    @asynccontextmanager
    async def _one_at_a_time(self) -> AsyncGenerator[CancelScope, None]:
        if self._reading is not None:
            raise UsageError(
                "this agent is answering already", hint="wait for the answer, or open another agent"
            )
        self._reading = CancelScope()
        try:
            yield self._reading
        finally:
            self._reading = None

    def _kept_turn(self, index: int) -> KeptTurn:
        mind, home = self._mind, Home(self._database.path.parent)
        segments = open_segments(home, self._settings, mind.persona.id, mind.agent)
        return load_turn(mind, find_entry(mind, segments, index))

    def _brought(self, stimulus: Stimulus, outlook: Outlook) -> Brought:
        """It blocks, also where a loop runs already: embedders are asked in a loop of their own."""
        if not outlook.needed:
            return nothing(stimulus, outlook)
        with start_blocking_portal() as portal:
            return portal.call(self._mind.bringing.bring, stimulus, outlook)

    def _assembling(self) -> Assembler:
        from .assemble import Assembler  # with the whole of recall, which most agents do without

        if self._assembler is None:
            self._assembler = Assembler(self._mind, self._environ, on_event=self._on_event)
        return self._assembler

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
