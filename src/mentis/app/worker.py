"""Workers serve the agents of a home that lies in a database: many on a machine, many machines.

A message is put into the inbox of its agent, and rings. A worker claims the ring, takes the lease
of the agent, and serves a bounded number of messages in their order, each as a turn; then it rings
again if more wait. The mark of a message goes in the transaction of the entry of its turn, so it is
answered once: not by whoever is killed before that, but by whoever comes next.
"""

from __future__ import annotations

import json
import os
import socket
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Self

from anyio import Semaphore, create_task_group, sleep, to_thread

from mentis.codec.forms import from_json, to_json
from mentis.errors import MentisError, StoreError, UsageError
from mentis.home.checkpoints import log_note
from mentis.home.closing import Closeable
from mentis.home.identity import agent_id, home_name, persona_of
from mentis.home.parts import Parts
from mentis.home.secret import open_secret
from mentis.home.server import is_served, open_postgres
from mentis.home.system import RandomIds
from mentis.home.view import refresh
from mentis.record.seals import is_ours, make_seal
from mentis.settings.settings import Settings
from mentis.settings.sources import load_settings
from mentis.stores.files.home import Home, find_home
from mentis.stores.postgres.inbox import PostgresInbox, PostgresWorkers
from mentis.values.inbox import INBOX, InboxAnswer, InboxMessage, Ring, WorkerRow
from mentis.values.mark import Mark
from mentis.values.recalled import Stimulus
from mentis.values.value import Value

from .agent import Agent

SERVED_AT_ONCE = 20  # messages of one agent, before others have their turn
_TRIES = 3  # a message that ended so many workers is not tried again
_POLL_SECONDS = 1.0
_CLAIM_SECONDS = 10.0  # of a worker that is gone; the leases are what keeps two apart
_BACK_OFF = 5.0
_PURPOSE = b"inbox"


@dataclass(frozen=True, slots=True)
class WorkerReport(Value):
    """How many messages a worker answered, how many of them failed, and how many it gave up."""

    name: str
    answered: int = 0
    failed: int = 0
    dead: int = 0


class Mailbox(Closeable):
    """Sends messages to agents that workers serve, and waits for what they say.

    ```python
    with Mailbox.open("my-home") as mailbox:
        sent = mailbox.send("Good morning.")
        print(mailbox.wait(sent, seconds=60))
    ```
    """

    def __init__(self, home: Home, settings: Settings, parts: Parts) -> None:
        self._home, self._settings = home, settings
        self._secret, _ = open_secret(home, parts)
        self._server = open_postgres(settings, parts.variables)
        self.inbox = PostgresInbox(self._server)
        self.workers = PostgresWorkers(self._server)

    @classmethod
    def open(cls, home: str | Path, parts: Parts | None = None) -> Self:
        """UsageError for a home that does not lie in a database."""
        parts = parts or Parts()
        place, settings = open_served(Path(home), parts)
        return cls(place, settings, parts)

    def agent(self, persona: str | None = None) -> str:
        """The id of a persona's agent."""
        chosen = self._home.pick_persona(persona, self._settings.model.persona)
        return agent_id(self._home, self._settings, chosen)

    def send(
        self,
        message: str | Stimulus,
        *,
        persona: str | None = None,
        session: str = "main",
        delivery: str = "",
    ) -> str:
        """Put a message into the inbox of an agent; the id of its delivery, a new one unless it is
        given. The same id again is the same message, and is not answered twice. It blocks.
        """
        stimulus = Stimulus(message) if isinstance(message, str) else message
        name = delivery or RandomIds().new_id()
        content = to_json(stimulus).decode()
        agent = self.agent(persona)
        put = InboxMessage(name, session, content)
        self.inbox.put(agent, replace(put, seal=_seal(self._secret, agent, put)))
        return name

    def answer(self, delivery: str, *, persona: str | None = None) -> InboxAnswer | None:
        """What came of a message; None while it waits."""
        return self.inbox.answer(self.agent(persona), delivery)

    def wait(
        self, delivery: str, *, persona: str | None = None, seconds: float = 60.0
    ) -> InboxAnswer | None:
        """The same, once it is there, or None after so many seconds. It blocks."""
        agent, left = self.agent(persona), seconds
        while (found := self.inbox.answer(agent, delivery)) is None and left > 0:
            self.inbox.wait(min(left, _POLL_SECONDS))
            left -= _POLL_SECONDS
        return found

    def list_workers(self) -> tuple[WorkerRow, ...]:
        """The processes that serve this home, and when each was last seen."""
        return self.workers.all()

    def drain(self, worker: str) -> None:
        """Have a worker end once it has served what it began; UsageError where there is none."""
        if not self.workers.drain(worker):
            known = ", ".join(one.name for one in self.workers.all())
            raise UsageError(f"there is no worker {worker!r}", hint=f"known: {known or 'none'}")

    def close(self) -> None:
        self.inbox.close()
        self._server.close()


class Worker:
    """Serves agents of one home until it is told to stop. `most_open` agents stay open at most."""

    def __init__(
        self,
        home: str | Path,
        *,
        parts: Parts | None = None,
        at_once: int = 4,
        most_open: int = 32,
    ) -> None:
        self._parts = parts or Parts()
        self._home, self._settings = open_served(Path(home), self._parts)
        self._secret, _ = open_secret(self._home, self._parts)
        self._at_once, self._most_open = max(at_once, 1), max(most_open, at_once)
        self._agents: OrderedDict[str, Agent] = OrderedDict()
        self._serving: set[str] = set()
        self._stopping = False
        self._count = {"answered": 0, "failed": 0, "dead": 0}
        self.name = f"{socket.gethostname()}:{os.getpid()}:{RandomIds().new_id()[:8]}"

    def stop(self) -> None:
        """Serve what was begun, and end."""
        self._stopping = True

    async def run(self, *, on_ready: Callable[[], None] = lambda: None) -> WorkerReport:
        """Until it is stopped, or drained from elsewhere."""
        server = await to_thread.run_sync(open_postgres, self._settings, self._parts.variables)
        inbox, workers = PostgresInbox(server), PostgresWorkers(server)
        try:
            room = Semaphore(self._at_once)
            await to_thread.run_sync(workers.seen, self.name, 0)
            on_ready()
            async with create_task_group() as tasks:
                while not self._stopping:
                    await room.acquire()
                    ring = await self._next(inbox, workers)
                    if ring is None:
                        room.release()
                    else:
                        tasks.start_soon(self._serve_in, room, inbox, ring)
            return WorkerReport(self.name, **self._count)
        finally:
            for agent in self._agents.values():
                await agent.aclose()
            await to_thread.run_sync(workers.gone, self.name)
            inbox.close()
            server.close()

    async def _next(self, inbox: PostgresInbox, workers: PostgresWorkers) -> Ring | None:
        """What rings, or nothing after a while. A store that is away for a time is asked again."""
        try:
            ring = await to_thread.run_sync(inbox.claim, _CLAIM_SECONDS)
            if ring is None:
                await to_thread.run_sync(inbox.wait, _POLL_SECONDS)
                if not await to_thread.run_sync(workers.seen, self.name, len(self._serving)):
                    self._stopping = True
        except MentisError as error:
            log_note(f"worker {self.name}: {error.message}")
            await sleep(_BACK_OFF)
            return None
        return ring

    async def _serve_in(self, room: Semaphore, inbox: PostgresInbox, ring: Ring) -> None:
        again: float | None = _BACK_OFF
        self._serving.add(ring.agent)
        try:
            async with self._kept(inbox, ring):
                again = await self._serve(inbox, ring.agent)
        except MentisError as error:
            log_note(f"worker {self.name}: {ring.agent}: {error.message}")
        finally:
            self._serving.discard(ring.agent)
            room.release()
            with_rest = partial(inbox.rest, ring, again=again)
            try:
                await to_thread.run_sync(with_rest)
            except MentisError as error:  # found again when its claim has run out
                log_note(f"worker {self.name}: {ring.agent}: {error.message}")

    @asynccontextmanager
    async def _kept(self, inbox: PostgresInbox, ring: Ring) -> AsyncGenerator[None]:
        async def keep() -> None:
            while True:
                await sleep(_CLAIM_SECONDS / 3)
                with suppress(MentisError):  # the next one may get through
                    await to_thread.run_sync(inbox.keep, ring, _CLAIM_SECONDS)

        async with create_task_group() as tasks:
            tasks.start_soon(keep)
            yield
            tasks.cancel_scope.cancel()

    async def _serve(self, inbox: PostgresInbox, name: str) -> float | None:
        """In how many seconds somebody shall come again; None where nothing waits."""
        await to_thread.run_sync(refresh, self._home.path, self._parts.variables)
        agent = await self._opened(name)
        served = 0
        async with agent.serving():
            messages = await to_thread.run_sync(inbox.waiting, name, SERVED_AT_ONCE + 1)
            for message in messages[:SERVED_AT_ONCE]:
                if self._stopping:
                    break
                answer = await self._answer(inbox, agent, message)
                keep = partial(inbox.answered, name, message.id, answer)
                await to_thread.run_sync(keep)
                self._count[answer.state] += 1
                served += 1
        return None if served == len(messages) else 0.0

    async def _answer(
        self, inbox: PostgresInbox, agent: Agent, message: InboxMessage
    ) -> InboxAnswer:
        """A turn; LeaseHeld and StoreConflict where somebody else is at it by now."""
        sealed = _seal(self._secret, agent.id, message)
        if not is_ours(sealed, message.seal):
            return InboxAnswer("dead", reason="it was not put there with the secret of this home")
        mark = Mark(INBOX, message.id, None, replaces="something")
        if not await to_thread.run_sync(agent.stands, mark):
            reason = "a worker answered it, and ended before it could say so: the session has it"
            return InboxAnswer("answered", reason=reason)
        if await to_thread.run_sync(inbox.tried, agent.id, message.id) > _TRIES:
            return InboxAnswer("dead", reason=f"{_TRIES} workers ended while they were at it")
        try:
            stimulus = from_json(Stimulus, message.stimulus)
            result = await agent.serve(stimulus, session=message.session, settles=mark)
        except StoreError:  # somebody else is at it, or nobody knows what was kept
            raise
        except MentisError as error:
            return InboxAnswer("failed", reason=error.message)
        return InboxAnswer("answered", result.text, result.entry.index)

    async def _opened(self, name: str) -> Agent:
        """From those that are open, or opened in the place of the one that was idle longest."""
        agent = self._agents.pop(name, None)
        if agent is None:
            while len(self._agents) >= self._most_open:
                idle = next((one for one in self._agents if one not in self._serving), None)
                if idle is None:
                    break
                await self._agents.pop(idle).aclose()
            persona = persona_of(name, home_name(self._home, self._settings))
            agent = Agent.open(self._home.path, persona=persona, parts=self._parts)
        self._agents[name] = agent
        return agent


def open_served(path: Path, parts: Parts) -> tuple[Home, Settings]:
    """A home that lies in a database, with its newest settings."""
    home = find_home(path)
    refresh(home.path, parts.variables)
    settings = load_settings(home.path, parts.variables)
    if not is_served(settings):
        raise UsageError(
            f"{home.path} does not lie in a database, so only this machine can serve it",
            hint="`mentis move URL` moves it there; here `mentis chat` and `mentis run` serve it",
        )
    return home, settings


def _seal(secret: bytes, agent: str, message: InboxMessage) -> str:
    """Words that count as the owner's come from whoever has the secret, and from nobody who can
    only write to the database.
    """
    said = json.dumps([message.id, message.session, message.stimulus]).encode()
    return make_seal(secret, _PURPOSE, agent, said)
