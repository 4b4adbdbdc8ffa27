"""Channels that need nothing but this machine: to a function, or to a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from anyio.to_thread import run_sync

from mentis.codec.forms import to_json
from mentis.disk.atomic import unwritable, write_atomic
from mentis.errors import BadInput
from mentis.values.digest import digest
from mentis.values.message import OutgoingMessage


class CallbackChannel:
    """Says every message where the agent runs, for example on the terminal (`say` is called in the
    event loop and must not block)."""

    def __init__(self, say: Callable[[OutgoingMessage], None], *, interface: str = "cli") -> None:
        self._say = say
        self._interface = interface

    @property
    def interface(self) -> str:
        """The NAME of its act, `message_NAME`."""
        return self._interface

    @property
    def idempotent(self) -> bool:
        """Whether a message may be said again where nobody knows if it was."""
        return False

    async def send(self, message: OutgoingMessage) -> None:
        """Say a message."""
        _only_here(message)
        self._say(message)


class OutboxChannel:
    """Writes every message as a file of its own, for another program to carry on.

    The name is made from the key, so that a message that is sent again is the same file.
    """

    def __init__(self, folder: Path, *, interface: str = "outbox") -> None:
        self._folder = folder
        self._interface = interface

    @property
    def interface(self) -> str:
        return self._interface

    @property
    def idempotent(self) -> bool:
        return True

    async def send(self, message: OutgoingMessage) -> None:
        await run_sync(self._put, message)

    def _put(self, message: OutgoingMessage) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(self._folder, error) from error
        name = f"{digest(message.key.encode())[7:39]}.json"
        write_atomic(self._folder / name, to_json(message) + b"\n")


def _only_here(message: OutgoingMessage) -> None:
    """There is one conversation here, and it is the one the agent is in."""
    if message.path not in ("", message.interface, message.session):
        raise BadInput(f"the interface {message.interface!r} does not lead to {message.path!r}")
