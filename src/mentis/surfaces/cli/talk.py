"""An agent driven from a terminal: the loop runs beside, so that Ctrl-C ends only the answer."""

from __future__ import annotations

import signal
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from anyio import sleep
from anyio.from_thread import BlockingPortal, start_blocking_portal

from mentis.app.agent import Agent
from mentis.ask.ask import OnDelta
from mentis.engines.catalogue import language_warning
from mentis.home.parts import Parts
from mentis.home.persona import read_persona
from mentis.stores.files.home import find_home
from mentis.talk.idle_plan import IdleCycle
from mentis.talk.persona_update import Upkeep
from mentis.turn.turn import TurnResult
from mentis.values.json import JsonObject
from mentis.values.options import CallOptions
from mentis.values.recalled import Stimulus
from mentis.values.tool import ToolDeclaration

from .options import call_parts
from .output import STOPPED, say

T = TypeVar("T")
PATIENCE = 1.0  # seconds of silence, before it is said what is waited for


class Talk:
    """One open agent. `ask` blocks; Ctrl-C while it does keeps what came of the answer."""

    def __init__(
        self, portal: BlockingPortal, agent: Agent, options: CallOptions | None = None
    ) -> None:
        self._portal = portal
        self.agent = agent
        self.options = options
        self._stopped = False  # by Ctrl-C, in what it waited for last

    @property
    def name(self) -> str:
        """What the persona is called."""
        return self.agent.persona.name or self.agent.persona.id

    def ask(
        self,
        message: str | Stimulus,
        *,
        session: str,
        results: Mapping[str, str] | None = None,
        on_delta: OnDelta | None = None,
        schema: JsonObject | None = None,
    ) -> TurnResult:
        async def chat() -> TurnResult:
            given = partial(
                self.agent.chat,
                message,
                session=session,
                results=results or {},
                on_delta=on_delta,
                options=self.options,
            )
            return await given() if schema is None else await given(output=schema)

        return self.wait_for(chat)

    def resume(self, *, session: str, on_delta: OnDelta | None = None) -> TurnResult | None:
        """Go on with a turn that waited for a yes; None where there is nothing to go on with."""

        async def resume() -> TurnResult | None:
            return await self.agent.resume(session=session, on_delta=on_delta)

        return self.wait_for(resume)

    @contextmanager
    def beside(self, quiet: IdleCycle) -> Generator[None, None, None]:
        """Let the agent think by itself while this goes on."""
        running = self._portal.start_task_soon(quiet.run)
        try:
            yield
        finally:
            running.cancel()

    @contextmanager
    def keeping(self, upkeep: Upkeep) -> Generator[None, None, None]:
        """Let the memory files be updated in the background; what is due at the end is done first.

        Ctrl-C breaks that off, and the record says so.
        """
        running = self._portal.start_task_soon(upkeep.run)
        try:
            yield
        finally:
            self._portal.call(upkeep.finish)
            try:
                running.result()
            except KeyboardInterrupt:
                self._portal.call(self.agent.interrupt)
                running.result()

    def hush(self, quiet: IdleCycle) -> None:
        """Somebody writes: what is being thought is broken off first."""
        self._portal.call(quiet.hush)

    def note_message(self, quiet: IdleCycle | Upkeep, session: str) -> None:
        self._portal.call(quiet.note_message, session)

    def wait_for(self, work: Callable[[], Coroutine[object, object, T]]) -> T:
        """What the agent does, done; Ctrl-C in the meantime interrupts it."""
        self._stopped = False
        answer = self._portal.start_task_soon(work)
        telling = self._portal.start_task_soon(self._tell)
        try:
            return answer.result()
        except KeyboardInterrupt:
            self._stopped = True
            self._portal.call(self.agent.interrupt)
            try:
                return answer.result()
            except CancelledError:
                raise KeyboardInterrupt from None
        finally:
            telling.cancel()

    def exit_code(self, result: TurnResult) -> int:
        """Of the turn that came last: whether it was cut short, and by whom."""
        if result.stop != "interrupted":
            return 0
        return STOPPED if self._stopped else 1

    async def _tell(self) -> None:
        """Say once which servers keep the answer waiting."""
        names: tuple[str, ...] = ()
        while not names:
            await sleep(PATIENCE)
            names = self.agent.pending_servers
        say(f"connecting to {', '.join(names)} ...")


@contextmanager
def open_talk(
    home: Path,
    *,
    persona: str | None = None,
    route: str = "default",
    options: CallOptions | None = None,
    tools: Sequence[ToolDeclaration] = (),
    parts: Parts | None = None,
) -> Generator[Talk, None, None]:
    # Asked to end is asked to stop talking: the turn is still recorded.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    parts = parts or call_parts()
    agent = Agent.open(home, persona=persona, route=route, tools=tools, parts=parts)
    _warn_of_language(home, agent)
    with start_blocking_portal() as portal:
        try:
            yield Talk(portal, agent, options)
        finally:
            portal.call(agent.aclose)


def _warn_of_language(home: Path, agent: Agent) -> None:
    """The packaged model would answer in a language that it was not made for."""
    if agent.route.backend != "embedded":
        return
    persona = read_persona(find_home(home), agent.id.rpartition("/")[2])
    warning = language_warning(agent.route.model, persona.language)
    if warning:
        say(f"{warning}: choose another with `mentis models choose`")
