"""Runs one channel: takes in, answers, sends and follows side by side.

Taking in ends with a receipt in the record, answering with an intent to send. Whatever ends the
process, the next one goes on from what the record says.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from anyio import create_task_group, sleep, to_thread
from anyio.abc import TaskStatus

from mentis.errors import LeaseHeld, MentisError, StoreDown, StoreLocked, UsageError
from mentis.ports.channel_adapter import ChannelAdapter
from mentis.record.leases import entered
from mentis.stores.files.channel_owners import ChannelOwners
from mentis.stores.files.key_folder import config_folder
from mentis.stores.keyring import SystemSecrets
from mentis.turn.agent_parts import AgentParts
from mentis.turn.lock import named_lock

from .adapters import open_adapter
from .answering import Answerer
from .following import Follower
from .parts import ChannelAgent, ChannelNews, ChannelParts
from .receiving import Receiver
from .sending import Sender

_AGAIN = 5.0  # seconds


def open_runners(
    agent: ChannelAgent,
    opened: AgentParts,
    environ: Mapping[str, str],
    *,
    names: Collection[str] = (),
    adapters: Mapping[str, ChannelAdapter] | None = None,
    on_news: Callable[[ChannelNews], None],
) -> tuple[ChannelRunner, ...]:
    """One for each channel of this persona, or for those of these names; nothing is called yet.
    `adapters` stand in the place of those that the settings name.
    """
    who, settings = opened.who, opened.sources.settings.current()[0]
    model, home = settings.model, who.home
    owners = ChannelOwners(config_folder(environ), home.path)
    unknown = sorted(set(names) - set(model.channels))
    if unknown:
        known = ", ".join(sorted(model.channels)) or "none"
        raise UsageError(f"there is no channel {unknown[0]!r}", hint=f"there are: {known}")
    runners: list[ChannelRunner] = []
    for name, chosen in sorted(model.channels.items()):
        whose = home.pick_persona(chosen.persona or None, model.persona)
        if name not in (names or model.channels) or whose != who.persona.id:
            continue
        given = (adapters or {}).get(name)
        parts = ChannelParts(
            name,
            chosen,
            given or open_adapter(name, chosen, owners, SystemSecrets(environ)),
            owners,
            opened.record,
            opened.acting.approvals,
            model.limits,
            who.persona.language,
            on_news,
        )
        lock = named_lock(
            opened.record,
            who,
            f"channel.{name}",
            taken=f"channel {name} is run already by",
            hint="stop that one first: it ends cleanly on SIGTERM",
        )
        runners.append(ChannelRunner(agent, parts, alone=lock))
    return tuple(runners)


class ChannelRunner:
    """`run` it beside whatever else the agent does. `alone` is held while it runs: two that answer
    in the same rooms would answer twice.
    """

    def __init__(
        self,
        agent: ChannelAgent,
        parts: ChannelParts,
        *,
        alone: AbstractContextManager[object] | None = None,
    ) -> None:
        self.parts = parts
        self._alone = alone or nullcontext()
        self._receiver = Receiver(parts)
        self._answerer = Answerer(agent, parts, self._receiver.busy)
        self._sender = Sender(parts)
        self._follower = Follower(agent, parts, self._receiver.decided)

    async def run(self) -> None:
        """Until it is cancelled; ChannelFailed where the platform lets nobody in."""
        async with entered(self._alone):
            await to_thread.run_sync(self.parts.log.open)
            await self._run()

    async def _run(self) -> None:
        failures: list[MentisError] = []

        async def until_failed(work: Callable[[], Awaitable[None]], *, again: bool) -> None:
            while True:
                try:
                    return await work()
                except (StoreLocked, StoreDown, LeaseHeld) as error:
                    if not again:
                        return give_up(error)
                    self.parts.tell("failed", reason=error.message)
                except MentisError as error:  # as it is, not as one of a group
                    return give_up(error)
                await sleep(_AGAIN)  # the store is somebody else's just now: later is soon enough

        def give_up(error: MentisError) -> None:
            failures.append(error)
            tasks.cancel_scope.cancel()

        async with create_task_group() as tasks:
            tasks.start_soon(partial(until_failed, self._listen, again=False))
            for work in (self._answerer.run, self._sender.run, self._follower.run):
                tasks.start_soon(partial(until_failed, work, again=True))
        if failures:
            raise failures[0]

    async def _listen(self) -> None:
        started = _Started(lambda: self.parts.tell("running"))
        start = await to_thread.run_sync(self.parts.log.start)
        await self.parts.adapter.run(self._receiver.receive, start, task_status=started)


class _Started(TaskStatus[None]):
    """Says that the platform let us in."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell

    def started(self, value: None = None) -> None:  # noqa: ARG002  # anyio's own signature
        self._tell()
