"""Takes in what is said in a channel: it leaves a receipt, a pairing, a yes or no, or nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

from anyio import CancelScope, move_on_after, to_thread

from mentis.ask.attachments import read_attachments
from mentis.errors import BadInput, ChannelFailed, MentisError, UserError
from mentis.stores.files.channel_owners import ChannelOwner
from mentis.values.channel import ButtonPress, ChannelFile, RoomEvent, RoomMessage
from mentis.values.part import MediaPart

from .approvals import OwnerDecision, read_button, read_words
from .parts import ChannelParts, is_owners
from .people import RoomPolicy

_CODE = re.compile(r"(?:/start\s+)?([A-Za-z2-9]{4}-?[A-Za-z2-9]{4})")
_FETCHING = 60.0  # seconds, for one attachment


class Receiver:
    """`decided` collects the sessions in which something was decided, for whoever goes on there."""

    def __init__(self, parts: ChannelParts) -> None:
        self._parts, self._log = parts, parts.log
        self._full: set[str] = set()  # rooms that were told so
        self.busy: set[str] = set()  # rooms where a message is being answered
        self.decided: list[str] = []

    async def receive(self, event: RoomEvent) -> None:
        """When it returns, the event may be acknowledged: it will not be lost any more."""
        with CancelScope(shield=True):
            match event:
                case RoomMessage():
                    await self._receive_message(_clean(event))
                case ButtonPress():
                    await self._receive_press(event)

    async def _receive_message(self, message: RoomMessage) -> None:
        parts, log = self._parts, self._log
        owner = await to_thread.run_sync(parts.owner)
        if await to_thread.run_sync(log.is_known, log.key_of(message)):
            return
        if message.private and await self._paired(message):
            return
        decision = read_words(message.text)
        if decision and is_owners(owner, message.sender, private=message.private):
            await self._decide(decision, message.room)
            leave = partial(log.leave, message, "decided", act=decision.key)
            await to_thread.run_sync(leave)
        elif reason := RoomPolicy(parts.name, parts.settings, owner).why_unanswered(message):
            parts.tell_of("ignored", message, reason)
        elif not (message.edit_of and await self._rewritten(message)):
            await self._take(message)

    async def _take(self, message: RoomMessage) -> None:
        parts = self._parts
        waiting = await to_thread.run_sync(self._log.receipts)
        if len(waiting) >= parts.settings.waiting:
            await self._refuse_full(message)
            return
        self._full.discard(message.room)
        files, lost = await self._fetched(message.files)
        room = parts.room_of(message)
        await to_thread.run_sync(self._log.receive, message, room, files, lost)
        parts.tell_of("received", message)
        parts.to_answer.ring()

    async def _refuse_full(self, message: RoomMessage) -> None:
        """Each message leaves an entry; the room is told once."""
        reason = f"{self._parts.settings.waiting} messages wait already"
        await to_thread.run_sync(partial(self._log.leave, message, "refused", reason=reason))
        self._parts.tell_of("refused", message, reason)
        if message.room not in self._full:
            self._full.add(message.room)
            text = self._parts.notice("full")
            await to_thread.run_sync(self._parts.say, f"full/{message.id}", message.room, text)

    async def _rewritten(self, edit: RoomMessage) -> bool:
        """Whether its first words had no answer yet, and nobody had begun with one."""
        for receipt in await to_thread.run_sync(self._log.receipts):
            same = receipt.message.id == edit.edit_of and receipt.message.room == edit.room
            if same and edit.room not in self.busy:
                await to_thread.run_sync(self._log.rewrite, receipt, edit)
                self._parts.tell_of("rewritten", edit)
                return True
        return False

    async def _fetched(
        self, files: tuple[ChannelFile, ...]
    ) -> tuple[tuple[MediaPart, ...], tuple[str, ...]]:
        """The attachments that can be had and told, and why the others cannot."""
        limits, had, lost = self._parts.limits, list[MediaPart](), list[str]()
        for place, file in enumerate(files):
            try:
                if place >= limits.attachments:
                    raise BadInput(f"more than {limits.attachments} attachments")
                part = await self._fetch(file, limits.attachment_bytes)
                had += await to_thread.run_sync(read_attachments, (part,), limits)
            except MentisError as error:
                lost.append(f"[{file.name or place + 1}: {error.message}]")
        return tuple(had), tuple(lost)

    async def _fetch(self, file: ChannelFile, most: int) -> MediaPart:
        with move_on_after(_FETCHING):
            small = file.bytes <= most
            data = await self._parts.adapter.fetch(file, most) if small else b""
            if not small or len(data) > most:
                raise BadInput(f"it is larger than {most} bytes")
            return MediaPart("document", "", data=data, name=file.name)
        raise ChannelFailed(f"it did not come within {_FETCHING:.0f} seconds")

    async def _paired(self, message: RoomMessage) -> bool:
        """Whether it is the code that was printed for the owner of this channel."""
        found, parts = _CODE.fullmatch(message.text.strip()), self._parts
        if found is None:
            return False
        person = ChannelOwner(owner=message.sender, name=message.name, room=message.room)
        now = parts.record.now()
        pair = partial(parts.owners.pair, parts.name, found[1], now, person=person)
        if not await to_thread.run_sync(pair):
            return False

        def keep() -> None:
            log = self._log
            log.leave(message, "paired")
            log.remember_room(parts.room_of(message))
            parts.say(f"paired/{message.id}", message.room, parts.notice("paired"))

        await to_thread.run_sync(keep)
        parts.tell_of("paired", message)
        parts.to_follow.ring()
        return True

    async def _receive_press(self, press: ButtonPress) -> None:
        decision, owner = read_button(press.data), await to_thread.run_sync(self._parts.owner)
        if decision and is_owners(owner, press.sender, private=press.room == owner.room):
            await self._decide(decision, press.room)
        else:
            self._parts.tell(
                "ignored", room=press.room, message=press.id, reason="the button is not theirs"
            )

    async def _decide(self, decision: OwnerDecision, room: str) -> None:
        """The first decision counts; what it came to is said in the room."""
        parts, by = self._parts, f"{self._parts.settings.kind}: the paired owner"
        decide = parts.approvals.approve if decision.yes else parts.approvals.deny
        try:
            act = await to_thread.run_sync(partial(decide, decision.key, by=by))
        except UserError as error:
            name = f"late/{decision.key}/{'yes' if decision.yes else 'no'}"
            await to_thread.run_sync(parts.say, name, room, error.message)
            return
        event = "approved" if decision.yes else "denied"
        key, text = act.call.key, parts.notice(event, act=act.call.action.type)
        await to_thread.run_sync(parts.say, f"{event}/{key}", room, text)
        parts.tell(event, room=room, message=key)
        self.decided.append(act.call.session)
        parts.to_follow.ring()


def _clean(message: RoomMessage) -> RoomMessage:
    """As texts that every store and wire can hold: platforms say what clients send."""

    def sound(text: str) -> str:
        return text.encode("utf-8", "replace").decode().replace("\x00", "")

    return replace(
        message,
        text=sound(message.text),
        name=" ".join(sound(message.name).split()),
        room_name=" ".join(sound(message.room_name).split()),
    )
