"""Carries messages out through one interface."""

from __future__ import annotations

from typing import Protocol

from mentis.values.message import OutgoingMessage


class Channel(Protocol):
    @property
    def interface(self) -> str:
        """Its name: `message_NAME` is the act that sends through it."""
        ...

    @property
    def idempotent(self) -> bool:
        """Whether a message that is sent again with the same key arrives only once."""
        ...

    async def send(self, message: OutgoingMessage) -> None:
        """On its way when it returns. BadInput for a place it does not know, WorldError when it
        cannot be reached."""
        ...


class RecordingChannel:
    """A channel for tests: it keeps what it was given."""

    def __init__(self, interface: str = "cli") -> None:
        self._interface = interface
        self.sent: list[OutgoingMessage] = []

    @property
    def interface(self) -> str:
        return self._interface

    @property
    def idempotent(self) -> bool:
        return False

    async def send(self, message: OutgoingMessage) -> None:
        self.sent.append(message)
