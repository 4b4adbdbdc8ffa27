"""Who is who in a room: whose words are the owner's, and who is answered at all."""

from __future__ import annotations

from dataclasses import dataclass

from mentis.settings.channels import ChannelSettings
from mentis.stores.files.channel_owners import ChannelOwner
from mentis.values.channel import RoomMessage
from mentis.values.digest import digest
from mentis.values.recalled import Stimulus
from mentis.values.request import RuntimeContext
from mentis.values.trust import Trust

_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class RoomPolicy:
    """Judges messages of one channel by its settings and by whom it is paired with."""

    channel: str
    settings: ChannelSettings
    owner: ChannelOwner

    def is_owner(self, message: RoomMessage) -> bool:
        """Whether it is written by the paired owner; in a group only if that is wanted."""
        known = bool(self.owner.owner) and message.sender == self.owner.owner
        return known and (message.private or self.settings.owner_in_groups)

    def why_unanswered(self, message: RoomMessage) -> str:
        """Why it is left alone; nothing, where it is answered."""
        if not message.text.strip() and not message.files:
            return "it is empty"
        chosen, known = self.settings, bool(self.owner.owner)
        if known and message.sender == self.owner.owner and message.private:
            return ""
        if message.private:
            return "" if chosen.guests == "everywhere" else "a guest wrote in a private room"
        if chosen.groups == "off":
            return "groups are not answered"
        is_guest = not known or message.sender != self.owner.owner
        if is_guest and chosen.guests == "nowhere":
            return "guests are not answered"
        named = message.mentioned or chosen.groups == "all"
        return "" if named else "nobody named the agent"

    def stimulus(self, message: RoomMessage, *, delivery: str) -> Stimulus:
        """The message as the agent is told it: a guest's under their name, vouched for by nobody,
        and, in a group, without a word of other conversations.
        """
        own = self.is_owner(message)
        around = RuntimeContext(
            username="" if own else message.name[:_LONGEST_NAME],
            interface_name=self.settings.kind,
            interface_path=f"{self.channel}/{message.room_name or message.room}",
            message_id=message.id,
            chat_type="dm" if message.private else "group",
            timestamp=message.time,
        )
        return Stimulus(
            message.text,
            author="" if own else message.name[:_LONGEST_NAME],
            reply_to=message.reply_to,
            runtime_ctx=around,
            trust=Trust.OWNER if own else Trust.UNTRUSTED,
            scope=None if own and message.private else "local",
            delivery=delivery,
        )


def session_name(channel: str, room: str) -> str:
    """The session of a room. No client of another surface can come by such a name by chance."""
    return f"{channel}-{digest(room.encode('utf-8', 'surrogatepass'))[7:23]}"
