"""A home with a channel whose platform is a script, and an agent that answers in its rooms."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from anyio import create_task_group, fail_after

from mentis.app.agent import Agent, Tool
from mentis.call.scripted import ScriptedProvider
from mentis.channels.bell import Bell
from mentis.channels.log import ChannelLog
from mentis.channels.parts import ChannelNews, ChannelParts
from mentis.errors import MentisError
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ports.channel_adapter import ChannelAdapter, ScriptedChannel
from mentis.ports.provider import Provider
from mentis.stores.files.channel_owners import ChannelOwner, ChannelOwners
from mentis.stores.files.key_folder import config_folder
from mentis.values.channel import RoomMessage
from mentis.values.entry import Entry

OWNER = "42"


def make_home(path: Path, **settings: str) -> Path:
    """With the channel `chat`; its settings as TOML."""
    home = Path(create_home(path))
    chosen = {"kind": '"telegram"', "key_env": '"CHAT_TOKEN"', **settings}
    lines = "\n".join(f"{key} = {value}" for key, value in chosen.items())
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n[channels.chat]\n{lines}\n")
    return home


def pair_owner(home: Path, room: str = OWNER, *, owner: str = OWNER) -> None:
    owners = ChannelOwners(config_folder(os.environ), home)
    code = owners.new_code("chat", datetime.now(UTC))
    person = ChannelOwner(owner=owner, name="Ann", room=room)
    assert owners.pair("chat", code, datetime.now(UTC), person=person)


def private(text: str, number: int = 1, **rest: object) -> RoomMessage:
    """The owner, in their private room."""
    told = {"sender": OWNER, "name": "Ann", "private": True, **rest}
    return RoomMessage(OWNER, f"m{number}", text=text, **told)  # pyright: ignore[reportArgumentType]  # by name


def in_group(text: str, number: int = 1, **rest: object) -> RoomMessage:
    told = {"sender": "7", "name": "Bob", "room_name": "Garden", **rest}
    return RoomMessage("-100", f"g{number}", text=text, **told)  # pyright: ignore[reportArgumentType]  # by name


@dataclass
class Rooms:
    agent: Agent
    provider: Provider
    parts: ChannelParts = field(init=False)
    news: list[ChannelNews] = field(default_factory=list[ChannelNews])
    failures: list[MentisError] = field(default_factory=list[MentisError])
    bell: Bell = field(default_factory=Bell)

    def hear(self, news: ChannelNews) -> None:
        self.news.append(news)
        self.bell.ring()

    @property
    def log(self) -> ChannelLog:
        return self.parts.log

    @property
    def prompts(self) -> list[bytes]:
        """What the model was told, call by call."""
        assert isinstance(self.provider, ScriptedProvider)
        return [sent.body() for sent in self.provider.sent]

    def happened(self, event: str) -> list[ChannelNews]:
        return [one for one in self.news if one.event == event]

    def entries(self, stage: str) -> list[Entry]:
        found = [entry for entry in self.agent.entries() if entry.kind == "channel"]
        return [entry for entry in found if entry.body["channel"]["stage"] == stage]  # pyright: ignore[reportIndexIssue, reportUnknownVariableType]

    async def until(self, done: Callable[[], bool]) -> None:
        with fail_after(20):
            while not done():
                await self.bell.wait(0.05)  # what an adapter is given or sent rings no bell

    async def settled(self) -> None:
        """Until nothing waits for an answer and nothing is to be sent."""
        await self.until(lambda: not self.log.receipts() and not self.log.outgoing())


@asynccontextmanager
async def living(
    home: Path,
    adapter: ChannelAdapter,
    replies: Iterable[str] = (),
    *,
    tools: Sequence[Tool] = (),
    provider: Provider | None = None,
    fails: bool = False,
) -> AsyncGenerator[Rooms]:
    provider = provider or ScriptedProvider(list(replies))
    async with Agent.open(home, tools=tools, parts=Parts(provider=provider)) as agent:
        rooms = Rooms(agent, provider)
        (runner,) = agent.channels(adapters={"chat": adapter}, on_news=rooms.hear)
        rooms.parts = runner.parts

        async def run() -> None:
            try:
                await runner.run()
            except MentisError as error:
                rooms.failures.append(error)

        async with create_task_group() as tasks:
            tasks.start_soon(run)
            yield rooms
            tasks.cancel_scope.cancel()
        assert bool(rooms.failures) is fails, rooms.failures


async def answered(home: Path, adapter: ScriptedChannel, *replies: str) -> Rooms:
    """Everything the adapter hands over, answered and sent."""
    async with living(home, adapter, replies) as rooms:
        await rooms.until(lambda: len(adapter.taken) == adapter.given)
        await rooms.settled()
        return rooms
