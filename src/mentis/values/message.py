"""A message on its way out of the agent."""

from __future__ import annotations

from dataclasses import dataclass

from .value import Value


@dataclass(frozen=True, slots=True)
class OutgoingMessage(Value):
    """`path` is where at the interface it goes; empty means where the conversation is.

    `key` is that of the act: the same key twice is the same message.
    """

    interface: str
    text: str
    path: str = ""
    reply_to: str = ""
    agent: str = ""
    session: str = ""
    key: str = ""
