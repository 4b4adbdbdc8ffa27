"""An agent driven from a terminal: the loop runs beside, so that Ctrl-C ends only the answer."""

from __future__ import annotations

import signal
from collections.abc import Generator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from pathlib import Path

from anyio import sleep
from anyio.from_thread import BlockingPortal, start_blocking_portal

from mentis.runtime.agent import Agent
from mentis.runtime.turn import Hear, TurnResult
from mentis.values.recalled import Stimulus

from .options import call_parts
from .output import say

PATIENCE = 1.0  # seconds of silence, before it is said what is waited for


class Talk:
    """One open agent. `ask` blocks; Ctrl-C while it does keeps what came of the answer."""

    def __init__(self, portal: BlockingPortal, agent: Agent) -> None:
        self._portal = portal
        self.agent = agent

    def ask(self, message: str | Stimulus, *, session: str, hear: Hear | None = None) -> TurnResult:
        async def chat() -> TurnResult:
            return await self.agent.chat(message, session=session, hear=hear)

        answer = self._portal.start_task_soon(chat)
        telling = self._portal.start_task_soon(self._tell)
        try:
            return answer.result()
        except KeyboardInterrupt:
            self._portal.call(self.agent.interrupt)
            try:
                return answer.result()
            except CancelledError:
                raise KeyboardInterrupt from None
        finally:
            telling.cancel()

    async def _tell(self) -> None:
        """Say once which servers keep the answer waiting."""
        names: tuple[str, ...] = ()
        while not names:
            await sleep(PATIENCE)
            names = self.agent.connecting
        say(f"connecting to {', '.join(names)} ...")


@contextmanager
def open_talk(
    home: Path, *, persona: str | None = None, route: str = "default"
) -> Generator[Talk, None, None]:
    # Asked to end is asked to stop talking: the turn is still recorded.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    agent = Agent.open(home, persona=persona, route=route, parts=call_parts())
    with start_blocking_portal() as portal:
        try:
            yield Talk(portal, agent)
        finally:
            portal.call(agent.aclose)
