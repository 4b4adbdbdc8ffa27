"""Talks with one chat platform: takes in what is said in its rooms, and sends what is answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol, TypeAlias

from anyio import TASK_STATUS_IGNORED, Event
from anyio.abc import TaskStatus

from mentis.values.channel import (
    ChannelAbilities,
    ChannelFile,
    ChannelStart,
    RoomAnswer,
    RoomEvent,
    RoomMessage,
)

Receive: TypeAlias = Callable[[RoomEvent], Awaitable[None]]


class ChannelAdapter(Protocol):
    @property
    def abilities(self) -> ChannelAbilities: ...

    async def run(
        self,
        receive: Receive,
        start: ChannelStart,
        *,
        task_status: TaskStatus[None] = TASK_STATUS_IGNORED,
    ) -> None:
        """Hand over what comes, from `start` on and the oldest first, until it is cancelled. The
        platform is told that an event has arrived only after `receive` has returned: whoever is
        killed before gets it again. ChannelFailed where the platform lets nobody in.
        """
        ...

    async def send(self, answer: RoomAnswer) -> str:
        """Send it and return the platform's id of it; ChannelFailed says whether it went out."""
        ...

    async def show_typing(self, room: str) -> None:
        """Let the room see that an answer is being written. What fails here does not matter."""
        ...

    async def fetch(self, file: ChannelFile, most: int) -> bytes:
        """The bytes of an attachment; ChannelFailed where it has more than `most`."""
        ...


class ScriptedChannel:
    """An adapter for tests: it hands over the events it is given, and keeps what it is to send.

    `failures` are raised by the next sends, one each; None lets one through.
    """

    def __init__(
        self,
        events: Iterable[RoomEvent] = (),
        *,
        abilities: ChannelAbilities | None = None,
        failures: Iterable[Exception | None] = (),
        files: dict[str, bytes] | None = None,
    ) -> None:
        self._abilities = abilities or ChannelAbilities(buttons=True, edits=True, images=True)
        self.sent: list[RoomAnswer] = []
        self.typed: list[str] = []
        self.taken: list[RoomEvent] = []
        self._failures, self._files = iter(failures), files or {}
        self._coming, self._come = list(events), Event()
        self.given = len(self._coming)

    @property
    def abilities(self) -> ChannelAbilities:
        return self._abilities

    def say(self, event: RoomEvent) -> None:
        """Somebody writes, or presses a button, while it runs."""
        self._coming.append(event)
        self.given += 1
        self._come.set()

    def say_in_group(self, text: str, *, sender: str, room: str = "group") -> None:
        """Somebody names the agent in a group."""
        count = str(self.given + 1)
        self.say(RoomMessage(room, count, sender, text, name=sender, mentioned=True))

    async def run(
        self,
        receive: Receive,
        start: ChannelStart,  # noqa: ARG002  # a script goes on by itself
        *,
        task_status: TaskStatus[None] = TASK_STATUS_IGNORED,
    ) -> None:
        task_status.started()
        while True:
            while self._coming:
                await receive(self._coming[0])
                self.taken.append(self._coming.pop(0))
            self._come = Event()
            await self._come.wait()

    async def send(self, answer: RoomAnswer) -> str:
        if (failure := next(self._failures, None)) is not None:
            raise failure
        self.sent.append(answer)
        return f"sent-{len(self.sent)}"

    async def show_typing(self, room: str) -> None:
        self.typed.append(room)

    async def fetch(self, file: ChannelFile, most: int) -> bytes:
        return self._files[file.handle][: most + 1]
