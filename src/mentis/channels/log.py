"""The log of one channel, in the record of its agent: a receipt before the platform is told that a
message arrived, an intent before anything is sent.

What stands open is a mark beside the entry that says so, as it is with acts: a kill leaves either
both or neither. The delivery of each entry is made from the platform's own id, so that what comes
twice is one receipt, and the answer to a turn is sent off once. These methods block.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from mentis.codec.forms import from_json, to_object
from mentis.errors import BadInput, StoreDamaged
from mentis.record.agent_record import AgentRecord
from mentis.record.stored_turns import BROKEN
from mentis.record.threads import CAME_TO_NOTHING, is_message
from mentis.values.channel import ChannelStart, RoomAnswer, RoomMessage
from mentis.values.entry import Draft, Entry
from mentis.values.mark import Mark
from mentis.values.part import MediaPart
from mentis.values.turn import Turn
from mentis.values.value import Value

V = TypeVar("V", bound=Value)
KIND = "channel"
_LOOKED_BACK = 256
_IN, _FILE, _OUT, _ROOM, _SEEN = (f"{KIND}.{one}" for one in ("in", "file", "out", "room", "seen"))
_CURSOR = f"{KIND}.cursor"
# Turns that nobody wrote the message of, and that are said to people: their task in the entry.
_BY_ITSELF = frozenset({"delivery", "afterthought_followup", "first_message", "resume"})


@dataclass(frozen=True, slots=True)
class RoomReceipt(Value):
    """A message that has arrived and has no answer yet. `files` have their bytes beside it."""

    key: str
    order: int
    message: RoomMessage
    files: tuple[MediaPart, ...] = ()
    lost: tuple[str, ...] = ()  # attachments that could not be had, with the reason


@dataclass(frozen=True, slots=True)
class OutgoingAnswer(Value):
    """A message on its way out. `begun`: it may have been sent. `notice`: Mentis itself says it."""

    order: str
    answer: RoomAnswer
    begun: bool = False
    notice: bool = False


@dataclass(frozen=True, slots=True)
class Room(Value):
    """A room that was talked in, and its session."""

    room: str
    session: str
    name: str = ""
    private: bool = False


class ChannelLog:
    def __init__(self, record: AgentRecord, channel: str) -> None:
        self._record, self._ledger = record, record.ledger
        self.agent, self.channel = record.agent, channel

    # In

    def key_of(self, message: RoomMessage) -> str:
        """What makes it the same message when it comes again; each edit of it is one of its own."""
        version = f"/edit/{message.id}" if message.edit_of else ""
        return f"{KIND}/{self.channel}/{message.room}/{message.edit_of or message.id}{version}"

    def is_known(self, key: str) -> bool:
        """Whether it came before, in whatever process, and whatever became of it."""
        if self._ledger.find_delivery(self.agent, key) is not None:
            return True
        return self._ledger.dropped_as(self.agent, key) is not None

    def receive(
        self, message: RoomMessage, room: Room, files: Sequence[MediaPart], lost: Sequence[str]
    ) -> RoomReceipt:
        """Take it in, with its attachments: from now on it has an answer coming."""
        key = self.key_of(message)
        bare = tuple(replace(part, data=None) for part in files)
        receipt = RoomReceipt(key, self._ledger.count(self.agent), message, bare, tuple(lost))
        marks = [
            Mark(_IN, key, to_object(receipt)),
            Mark(_ROOM, self._named(room.room), _told(room)),
        ]
        marks += [
            Mark(_FILE, f"{key}/{n}", {"data": base64.b64encode(part.data or b"").decode()})
            for n, part in enumerate(files)
        ]
        if message.cursor:
            marks.append(Mark(_CURSOR, self.channel, {"cursor": message.cursor}))
        self._append(self._about("received", message, session=room.session), key, marks)
        return receipt

    def rewrite(self, receipt: RoomReceipt, edit: RoomMessage) -> None:
        """Its sender said it in other words before it had an answer."""
        now = replace(receipt, message=replace(receipt.message, text=edit.text))
        body = self._about("rewritten", edit)
        marks = [Mark(_IN, receipt.key, to_object(now), "something")]
        self._append(body, self.key_of(edit), marks)

    def leave(self, message: RoomMessage, stage: str, **facts: object) -> None:
        """What it said is not answered, for a reason that is kept."""
        self._append(self._about(stage, message, **facts), self.key_of(message), ())

    def receipts(self) -> tuple[RoomReceipt, ...]:
        """What has no answer yet, in the order it came."""
        found = [_read(RoomReceipt, mark) for mark in self._marks(_IN)]
        return tuple(sorted(found, key=lambda one: (one.order, one.key)))

    def attachments(self, receipt: RoomReceipt) -> tuple[MediaPart, ...]:
        """Those of a message, with their bytes."""
        return tuple(
            replace(part, data=self._bytes(f"{receipt.key}/{n}"))
            for n, part in enumerate(receipt.files)
        )

    def _bytes(self, key: str) -> bytes:
        mark = self._ledger.mark(self.agent, _FILE, key)
        return base64.b64decode(str((mark.value or {})["data"])) if mark else b""

    # Answered

    def first_key(self, edit: RoomMessage) -> str:
        """The key of the message that an edit is of."""
        return self.key_of(replace(edit, id=edit.edit_of, edit_of=""))

    def turn_of(self, key: str, *, edits: bool = False) -> Entry | None:
        """The newest turn of a message, or of one of its `edits`; None where nobody was asked."""
        found = self._ledger.find_delivery(self.agent, key)
        start, newest = 0 if found is None else found.index, None
        for entry in self._ledger.entries(self.agent, start=start):
            of = str(_turn(entry).get("delivery", "")) if entry.kind == "turn" else ""
            if of == key or (edits and of.startswith(f"{key}/edit/")):
                newest = entry
        return newest

    def settle(
        self, receipt: RoomReceipt, stage: str, answers: Sequence[OutgoingAnswer], **facts: object
    ) -> None:
        """It has its answer, which is to be sent from now on; or there is none, and why."""
        marks = [Mark(_IN, receipt.key, None, "something")]
        marks += [Mark(_FILE, f"{receipt.key}/{n}", None) for n in range(len(receipt.files))]
        body = self._about(stage, receipt.message, **facts)
        self._append(body, f"{receipt.key}/answer", [*marks, *self._out(answers)])

    def say(self, name: str, answers: Sequence[OutgoingAnswer], **facts: object) -> bool:
        """Send something that answers no message, once by that name; False when it was before."""
        delivery = f"{KIND}/{self.channel}/said/{name}"
        if self.is_known(delivery):
            return False
        body: dict[str, object] = {"channel": {"name": self.channel, "stage": "said", **facts}}
        self._append(body, delivery, self._out(answers))
        return True

    def _out(self, answers: Sequence[OutgoingAnswer]) -> list[Mark]:
        return [Mark(_OUT, self._named(one.order), to_object(one)) for one in answers]

    def next_order(self, name: str) -> str:
        """Where messages stand that are to be sent now: after all that were before."""
        return f"{self._ledger.count(self.agent):012}/{name}"

    # Out

    def outgoing(self) -> tuple[OutgoingAnswer, ...]:
        """What is to be sent, in its order."""
        found = [_read(OutgoingAnswer, mark) for mark in self._marks(_OUT)]
        return tuple(sorted(found, key=lambda one: one.order))

    def begin(self, one: OutgoingAnswer) -> None:
        """Said before it is tried: from now on nobody knows that it was not sent."""
        now = to_object(replace(one, begun=True))
        self._step(one, "sending", Mark(_OUT, self._named(one.order), now, "something"))

    def put_back(self, one: OutgoingAnswer, reason: str) -> None:
        """It was not sent for certain, and is tried again later."""
        now = to_object(replace(one, begun=False))
        mark = Mark(_OUT, self._named(one.order), now, "something")
        self._step(one, "put off", mark, reason=reason)

    def end(
        self,
        one: OutgoingAnswer,
        stage: str,
        *,
        then: Sequence[OutgoingAnswer] = (),
        **facts: object,
    ) -> None:
        """It was sent, never will be, or nobody knows; `then` is said instead."""
        mark = Mark(_OUT, self._named(one.order), None, "something")
        self._step(one, stage, mark, *self._out(then), **facts)

    def sent_id(self, key: str) -> str:
        """The platform's id of the message that was sent by that key; nothing, where none was."""
        entry = self._ledger.find_delivery(self.agent, f"{key}/sent")
        told = cast("dict[str, Any]", entry.body.get("channel") or {}) if entry else {}
        return str(told.get("message", ""))

    def _step(self, one: OutgoingAnswer, stage: str, *marks: Mark, **facts: object) -> None:
        told = {"name": self.channel, "stage": stage, "room": one.answer.room}
        told |= {"key": one.answer.key, **facts}
        # Only of what was sent there is one for ever; what is put off is tried again.
        delivery = f"{one.answer.key}/sent" if stage == "sent" else None
        self._append({"channel": told}, delivery, marks)

    # Rooms, and what the agent says by itself

    def rooms(self) -> tuple[Room, ...]:
        return tuple(_read(Room, mark) for mark in self._marks(_ROOM))

    def start(self) -> ChannelStart:
        """Where the platform is to go on."""
        mark = self._ledger.mark(self.agent, _CURSOR, self.channel)
        cursor = str((mark.value or {}).get("cursor", "")) if mark else ""
        return ChannelStart(cursor, tuple(room.room for room in self.rooms()))

    def remember_room(self, room: Room) -> None:
        """One that nothing was answered in yet, such as the owner's."""
        if room not in self.rooms():
            told = {"name": self.channel, "stage": "room", "room": room.room}
            mark = Mark(_ROOM, self._named(room.room), _told(room))
            self._append({"channel": {**told, "session": room.session}}, None, [mark])

    def open(self) -> None:
        """The first time: what was said before is nothing for its rooms."""
        if self._ledger.mark(self.agent, _SEEN, self.channel) is None:
            told = {"name": self.channel, "stage": "opened"}
            seen = Mark(_SEEN, self.channel, {"index": self._ledger.count(self.agent)})
            self._append({"channel": told}, None, [seen])

    def seen(self) -> int:
        """How far the record was looked through for what the agent says by itself."""
        mark = self._ledger.mark(self.agent, _SEEN, self.channel)
        return cast("int", (mark.value or {})["index"]) if mark else self._ledger.count(self.agent)

    def see(self, name: str, answers: Sequence[OutgoingAnswer], entry: Entry) -> None:
        """Send what that turn said, once, and look on after it."""
        delivery = f"{KIND}/{self.channel}/said/{name}"
        if self.is_known(delivery):
            return
        told = {"name": self.channel, "stage": "said", "turn": entry.index}
        seen = Mark(_SEEN, self.channel, {"index": entry.index + 1})
        self._append({"channel": told}, delivery, [seen, *self._out(answers)])

    def unasked_turns(
        self, start: int, sessions: Collection[str]
    ) -> tuple[list[tuple[Entry, str]], int]:
        """Turns of these sessions that answer no message of a person, and where to look on."""
        found, end = list[tuple[Entry, str]](), start
        for entry in self._ledger.entries(self.agent, start=start):
            end = entry.index + 1
            turn = _turn(entry) if entry.kind == "turn" else {}
            by_itself = turn.get("inner") in _BY_ITSELF and "failure" not in turn
            if by_itself and turn.get("session") in sessions:
                found.append((entry, session_of(entry)))
        return found, end

    def count(self) -> int:
        return self._ledger.count(self.agent)

    def unknown(self) -> int:
        """Messages of which nobody knows whether they were sent, among the last entries."""
        last = self._ledger.latest(self.agent, _LOOKED_BACK, kind=KIND)
        told = [cast("dict[str, Any]", entry.body.get("channel") or {}) for entry in last]
        return sum((one.get("name"), one.get("stage")) == (self.channel, "unknown") for one in told)

    def words_of(self, entry: Entry) -> tuple[str, tuple[MediaPart, ...]]:
        """What a recorded turn said to people: its words, and the images that came with them."""
        turn = _turn(entry)
        session, number = str(turn.get("session")), cast("int", turn.get("number"))
        texts, images = list[str](), list[MediaPart]()
        for place, said in enumerate(self._record.turns(session)[number:]):
            if place and is_message(said):
                break
            if said.role == "assistant" and said.kind == "said":
                texts.append(said.text)
                images += _images(said)
        return "\n\n".join(text for text in texts if text.strip()), tuple(images)

    def last_message(self, session: str) -> int | None:
        """The number of the last message of a person in a session."""
        turns = self._record.turns(session)
        stands = (n for n in reversed(range(len(turns))) if turns[n].state not in CAME_TO_NOTHING)
        return next((n for n in stands if is_message(turns[n])), None)

    def _marks(self, kind: str) -> list[Mark]:
        mine = (f"{self.channel}/", f"{KIND}/{self.channel}/")
        return [one for one in self._ledger.marks(self.agent, kind) if one.key.startswith(mine)]

    def _named(self, name: str) -> str:
        return f"{self.channel}/{name}"

    def _about(self, stage: str, message: RoomMessage, **facts: object) -> dict[str, object]:
        told = {"name": self.channel, "stage": stage, "room": message.room, "message": message.id}
        told |= {"edit_of": message.edit_of} if message.edit_of else {}
        return {"channel": {**told, "sender": message.sender, **facts}}

    def _append(self, body: dict[str, object], delivery: str | None, marks: Sequence[Mark]) -> None:
        draft = Draft(KIND, KIND, body, delivery=delivery)
        self._ledger.append(self.agent, [draft], self._record.stamp(), marks=marks)


def came_to_nothing(entry: Entry) -> bool:
    """Whether nobody got a whole answer in that turn."""
    turn = _turn(entry)
    return "failure" in turn or turn.get("stop") in BROKEN


def said_before(entry: Entry) -> int | None:
    """The message that is replaced when this one is said anew: it, or what it was to replace."""
    turn = _turn(entry)
    return cast("int | None", turn.get("replaces") if "failure" in turn else turn["number"])


def session_of(entry: Entry) -> str:
    return str(_turn(entry)["session"])


def _turn(entry: Entry) -> dict[str, Any]:
    return cast("dict[str, Any]", entry.body.get("turn") or {})


def _images(turn: Turn) -> list[MediaPart]:
    return [part for part in turn.parts if isinstance(part, MediaPart) and part.kind == "image"]


def _told(room: Room) -> dict[str, object]:
    return to_object(room)


def _read(kind: type[V], mark: Mark) -> V:
    try:
        return from_json(kind, json.dumps(mark.value))
    except BadInput as error:
        raise StoreDamaged(
            f"the mark {mark.kind} {mark.key!r} cannot be read: {error.message}",
            hint="`mentis ledger list` shows what the record says of it",
            kind=mark.kind,
            key=mark.key,
        ) from error
