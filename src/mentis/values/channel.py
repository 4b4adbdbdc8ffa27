"""Messages of chat platforms, as they come in and go out, whichever platform it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from .part import MediaPart
from .request import ReplyTo
from .value import Value


@dataclass(frozen=True, slots=True)
class ChannelAbilities(Value):
    """What a platform can do. `longest` counts UTF-16 units, as the strictest of them does.

    `idempotent`: a message that is sent again with the same key arrives once.
    """

    longest: int = 4000
    buttons: bool = False
    edits: bool = False
    idempotent: bool = False
    images: bool = False


@dataclass(frozen=True, slots=True)
class ChannelFile(Value):
    """An attachment that is still at the platform; `handle` is how it is asked for there."""

    handle: str
    name: str = ""
    mime: str = ""
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class RoomMessage(Value):
    """Somebody's message in a room. `id` is the platform's, `sender` its id of whoever wrote it.

    `private`: nobody but the sender and the agent is in the room. `mentioned`: it names the agent,
    or replies to it. An edit has the id of the message that it is of in `edit_of`.
    `cursor` is from where on the platform is asked for it, and what follows it, once more.
    """

    room: str
    id: str
    sender: str
    text: str
    name: str = ""
    room_name: str = ""
    private: bool = False
    mentioned: bool = False
    reply_to: ReplyTo | None = None
    edit_of: str = ""
    time: str = ""
    files: tuple[ChannelFile, ...] = ()
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class ChannelStart(Value):
    """Where to go on: at the `cursor` of the last message that has a receipt, in these rooms."""

    cursor: str = ""
    rooms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ButtonPress(Value):
    """Somebody pressed a button below a message of the agent; `data` is what the button holds."""

    room: str
    id: str
    sender: str
    data: str
    private: bool = False


RoomEvent: TypeAlias = RoomMessage | ButtonPress


@dataclass(frozen=True, slots=True)
class RoomButton(Value):
    text: str
    data: str


@dataclass(frozen=True, slots=True)
class RoomAnswer(Value):
    """One message to a room. The same `key` twice is the same message; with `edits` it takes the
    place of an earlier one. `quiet`: nobody's telephone rings for it.
    """

    room: str
    text: str
    key: str
    reply_to: str = ""
    edits: str = ""
    buttons: tuple[RoomButton, ...] = ()
    images: tuple[MediaPart, ...] = ()
    quiet: bool = False
