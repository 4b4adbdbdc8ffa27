"""`message_NAME`: what the agent says to somebody, through one of the interfaces there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mentis.errors import UsageError
from mentis.ports.channel import Channel
from mentis.values.act import ActCall
from mentis.values.action import Outcome
from mentis.values.message import OutgoingMessage
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust

from .arguments import Arguments
from .kind import BuiltIn, Kind

MESSAGE = Kind(
    "message_NAME",
    "message",
    external_effects=True,
    idempotent=False,
    limits="20,000 characters; one for each interface that is there",
)
_PREFIX = "message_"


class SendMessage(BuiltIn):
    """Looks the channel up for each message: one that is gone by then is `unavailable`."""

    def __init__(
        self, words: ToolDeclaration, interface: str, channels: Mapping[str, Channel]
    ) -> None:
        kind = replace(
            MESSAGE,
            name=f"{_PREFIX}{interface}",
            endpoint=f"message/{interface}",
            idempotent=_known(channels, interface).idempotent,
        )
        super().__init__(kind.spec(words))
        self._interface = interface
        self._channels = channels

    async def _act(self, call: ActCall, given: Arguments) -> Outcome:
        message = OutgoingMessage(
            interface=self._interface,
            text=given.text("text", most=20_000),
            path=given.text("interface_path", most=300, default=""),
            reply_to=given.text("reply_to", most=200, default=""),
            agent=call.agent,
            session=call.session,
            key=call.key,
        )
        channel = self._channels.get(self._interface)
        if channel is None:
            reason = f"no interface {self._interface!r} is there any more"
            return self._failed(call, "unavailable", reason)
        await channel.send(message)
        result = {"sent": True, "interface": self._interface, "characters": len(message.text)}
        return self._done(call, result, Trust.RUNTIME)


def _known(channels: Mapping[str, Channel], interface: str) -> Channel:
    if interface not in channels:
        hint = f"there are: {', '.join(sorted(channels)) or 'none'}"
        raise UsageError(f"there is no channel for the interface {interface!r}", hint=hint)
    return channels[interface]
