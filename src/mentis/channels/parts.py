"""Parts that a channel is run with, and the news of it for whoever watches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from mentis.act.approvals import Approvals
from mentis.ports.channel_adapter import ChannelAdapter
from mentis.record.agent_record import AgentRecord
from mentis.settings.channels import ChannelSettings
from mentis.settings.sections import LimitSettings
from mentis.stores.files.channel_owners import ChannelOwner, ChannelOwners
from mentis.turn.turn import TurnResult
from mentis.values.channel import RoomAnswer, RoomButton, RoomMessage
from mentis.values.part import MediaPart
from mentis.values.recalled import Stimulus
from mentis.values.value import Value

from .bell import Bell
from .log import ChannelLog, OutgoingAnswer, Room
from .notices import notice
from .people import session_name
from .split import split_text

_MOST_IMAGES = 10  # in one message
ChannelEvent: TypeAlias = Literal[
    "running",
    "received",
    "rewritten",
    "ignored",
    "refused",
    "paired",
    "approved",
    "denied",
    "answered",
    "passed over",
    "failed",
    "sent",
    "put off",
    "unsent",
    "unknown",
]


class ChannelAgent(Protocol):
    """Who answers: an `Agent`."""

    async def chat(self, message: Stimulus, *, session: str) -> TurnResult: ...

    async def resume(self, *, session: str) -> TurnResult | None: ...


@dataclass(frozen=True, slots=True)
class ChannelNews(Value):
    """Something that happened. `message` is the platform's id of one, or the key of an act."""

    channel: str
    event: ChannelEvent
    room: str = ""
    message: str = ""
    reason: str = ""


def unwatched(_news: ChannelNews) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class ChannelParts:
    """`language` is that of its notices. Each bell wakes one of those that work side by side."""

    name: str
    settings: ChannelSettings
    adapter: ChannelAdapter
    owners: ChannelOwners
    record: AgentRecord
    approvals: Approvals
    limits: LimitSettings
    language: str = "english"
    on_news: Callable[[ChannelNews], None] = unwatched
    to_answer: Bell = field(default_factory=Bell)
    to_send: Bell = field(default_factory=Bell)
    to_follow: Bell = field(default_factory=Bell)

    @property
    def log(self) -> ChannelLog:
        return ChannelLog(self.record, self.name)

    def owner(self) -> ChannelOwner:
        """Who the owner is there now. It blocks."""
        return self.owners.of(self.name)

    def notice(self, name: str, **facts: str) -> str:
        return notice(self.language, name, **facts)

    def tell(
        self, event: ChannelEvent, *, room: str = "", message: str = "", reason: str = ""
    ) -> None:
        self.on_news(ChannelNews(self.name, event, room, message, reason))

    def tell_of(self, event: ChannelEvent, message: RoomMessage, reason: str = "") -> None:
        self.tell(event, room=message.room, message=message.id, reason=reason)

    def room_of(self, message: RoomMessage) -> Room:
        session = session_name(self.name, message.room)
        return Room(message.room, session, message.room_name, message.private)

    def pieces(
        self,
        name: str,
        room: str,
        text: str,
        *,
        images: Sequence[MediaPart] = (),
        reply_to: str = "",
        edits: str = "",
        buttons: tuple[RoomButton, ...] = (),
        notice: bool = False,
    ) -> list[OutgoingAnswer]:
        """The messages that say this: as many as the platform needs for its length. It blocks."""
        abilities = self.adapter.abilities
        texts = list(split_text(text, abilities.longest))
        if images and not abilities.images:
            texts.append(f"[{len(images)} images cannot be shown here]")
        bundles = [tuple(images[n : n + _MOST_IMAGES]) for n in range(0, len(images), _MOST_IMAGES)]
        shown = bundles if abilities.images else []
        told = [(piece, ()) for piece in texts] + [("", bundle) for bundle in shown]
        quiet = self.settings.quiet_left(self.record.now()) > 0
        last, order = len(texts) - 1, self.log.next_order(name)
        return [
            OutgoingAnswer(
                f"{order}/{place:04}",
                RoomAnswer(
                    room,
                    piece,
                    f"{name}/{place}",
                    reply_to="" if place else reply_to,
                    edits=edits if len(told) == 1 and piece else "",
                    buttons=buttons if place == last and abilities.buttons else (),
                    images=bundle,
                    quiet=quiet,
                ),
                notice=notice,
            )
            for place, (piece, bundle) in enumerate(told)
        ]

    def say(self, name: str, room: str, text: str, **facts: object) -> None:
        """Have a notice sent, once by that name. It blocks."""
        answers = self.pieces(f"channel/{self.name}/said/{name}", room, text, notice=True)
        self.log.say(name, answers, room=room, **facts)
        self.to_send.ring()


def is_owners(owner: ChannelOwner, sender: str, *, private: bool) -> bool:
    """Whether the paired owner says it where nobody else reads along."""
    return bool(owner.owner) and sender == owner.owner and private
