"""Matrix, through `matrix-nio`: one account at its homeserver, in rooms that are not encrypted.

The homeserver keeps what came since a token: the one from before a message is kept with its
receipt, so that the next process asks for it again. What is sent twice by one key is shown once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Any, NoReturn, cast

from aiohttp import ClientConnectorError, ClientError
from anyio import TASK_STATUS_IGNORED, CancelScope, sleep
from anyio.abc import TaskStatus
from nio import (
    AsyncClient,
    AsyncClientConfig,
    DownloadError,
    ErrorResponse,
    Event,
    MatrixRoom,
    MemoryDownloadResponse,
    RoomGetEventResponse,
    RoomMessageMedia,
    RoomMessagesResponse,
    RoomSendResponse,
    SyncResponse,
    Timeline,
    UploadResponse,
    WhoamiResponse,
)
from nio import (
    RoomMessage as MatrixMessage,
)

from mentis.errors import ChannelFailed, MentisError
from mentis.ports.channel_adapter import Receive
from mentis.settings.channels import ChannelSettings
from mentis.values.channel import (
    ChannelAbilities,
    ChannelFile,
    ChannelStart,
    RoomAnswer,
    RoomMessage,
)
from mentis.values.request import ReplyTo

_POLL, _SECONDS, _AGAIN = 30, 60.0, 5.0
_PAGE = 100  # messages of a room that are asked for at a time
_FILTER: dict[str, Any] = {"room": {"timeline": {"limit": _PAGE}}, "presence": {"types": []}}
_NOBODY = ("M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED", "M_FORBIDDEN")


def open_channel(server: str, chosen: ChannelSettings, key: str) -> MatrixChannel:
    return MatrixChannel(server, chosen.user, key)


class MatrixChannel:
    def __init__(self, server: str, user: str, key: str, *, poll: int = _POLL) -> None:
        # Limits and broken connections are told to us, who keep in the record what became of it.
        config = AsyncClientConfig(
            max_limit_exceeded=0, max_timeouts=0, request_timeout=_SECONDS, encryption_enabled=False
        )
        self._client = AsyncClient(server, user, config=config)
        self._client.access_token, self._client.user_id = key, user
        self._key, self._user, self._poll = key, user, poll

    @property
    def abilities(self) -> ChannelAbilities:
        return ChannelAbilities(longest=16_000, edits=True, idempotent=True, images=True)

    async def run(
        self,
        receive: Receive,
        start: ChannelStart,
        *,
        task_status: TaskStatus[None] = TASK_STATUS_IGNORED,
    ) -> None:
        try:
            await self._begin()
            since = start.cursor or await self._now()
            task_status.started()
            first = True
            while True:
                found = await self._sync(since, first=first)
                if await self._receive_all(found, receive, since):
                    since, first = found.next_batch, False
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """Let go of the connections; `run` does so itself."""
        with CancelScope(shield=True):
            await self._client.close()

    async def _begin(self) -> None:
        """Whether the account is the one that the settings name; until the server is there."""
        while True:
            try:
                found = await self._client.whoami()
            except (ClientError, TimeoutError, OSError):
                await sleep(_AGAIN)
                continue
            if isinstance(found, WhoamiResponse) and found.user_id == self._user:
                return
            told = found.user_id if isinstance(found, WhoamiResponse) else self._told(found)
            if isinstance(found, WhoamiResponse) or found.status_code in _NOBODY:
                raise ChannelFailed(
                    f"the homeserver does not know this token as that of {self._user}: {told}",
                    hint="look at the variable that holds it, and at `user` of the channel",
                )
            await sleep(_AGAIN)

    async def _now(self) -> str:
        """Where a new channel begins: what was said before is not answered."""
        return (await self._sync("", first=True)).next_batch

    async def _sync(self, since: str, *, first: bool) -> SyncResponse:
        while True:
            wait = 0 if first else self._poll * 1000
            try:
                found = await self._client.sync(
                    wait, sync_filter=_FILTER, since=since or None, full_state=first
                )
            except (ClientError, TimeoutError, OSError):
                await sleep(_AGAIN)
                continue
            if isinstance(found, SyncResponse):
                return found
            if found.status_code in _NOBODY:
                raise ChannelFailed(f"the homeserver lets us in no more: {self._told(found)}")
            await sleep((found.retry_after_ms or 0) / 1000 or _AGAIN)

    async def _receive_all(self, found: SyncResponse, receive: Receive, since: str) -> bool:
        """Whether all of it was taken in; else it comes again."""
        try:
            for room in found.rooms.invite:
                await self._client.join(room)
            for room, info in found.rooms.join.items():
                for event in await self._whole(room, info.timeline, since):
                    message = await self._message(self._client.rooms[room], event, since)
                    if message is not None:
                        await receive(message)
        except (MentisError, ClientError, TimeoutError, OSError):  # a store that is busy, a server
            await sleep(_AGAIN)
            return False
        return True

    async def _whole(self, room: str, timeline: Timeline, since: str) -> list[Event]:
        """What was said in a room, also where the server left out the beginning of it."""
        events: list[Event] = [*cast("list[Event]", timeline.events)]
        place = timeline.prev_batch
        while timeline.limited and place:
            page = await self._client.room_messages(room, place, end=since, limit=_PAGE)
            if not isinstance(page, RoomMessagesResponse) or not page.chunk:
                break
            events[:0] = [one for one in reversed(page.chunk) if isinstance(one, Event)]
            place = page.end
        return events

    async def _message(self, room: MatrixRoom, event: Event, since: str) -> RoomMessage | None:
        if not isinstance(event, MatrixMessage | RoomMessageMedia) or event.sender == self._user:
            return None
        content = _members(event.source.get("content"))
        if content.get("msgtype") == "m.notice":
            return None  # said by another program, which nobody answers
        relation = _members(content.get("m.relates_to"))
        edit = relation.get("event_id", "") if relation.get("rel_type") == "m.replace" else ""
        said = _members(content.get("m.new_content")) if edit else content
        text = str(said.get("body", ""))
        replied = _members(relation.get("m.in_reply_to")).get("event_id", "")
        quoted, by_us = await self._quoted(room, str(replied)) if replied else (None, False)
        files = _files(said) if isinstance(event, RoomMessageMedia) else ()
        return RoomMessage(
            room.room_id,
            event.event_id,
            event.sender,
            "" if files and said.get("filename") in (None, text) else text,
            name=room.user_name(event.sender) or event.sender,
            room_name=room.display_name or "",
            private=room.joined_count == 2 and room.invited_count == 0,
            mentioned=by_us or self._named(room, said, text),
            reply_to=quoted,
            edit_of=str(edit),
            files=files,
            cursor=since,
        )

    def _named(self, room: MatrixRoom, said: dict[str, Any], text: str) -> bool:
        listed = _members(said.get("m.mentions")).get("user_ids")
        name = re.escape(room.user_name(self._user) or self._user)
        named = isinstance(listed, list) and self._user in listed
        return named or bool(re.search(rf"(?<!\w){name}(?!\w)", text, re.IGNORECASE))

    async def _quoted(self, room: MatrixRoom, event_id: str) -> tuple[ReplyTo | None, bool]:
        """The message that is answered, and whether we said it."""
        found = await self._client.room_get_event(room.room_id, event_id)
        if not isinstance(found, RoomGetEventResponse):
            return None, False
        event = found.event
        text = str(_members(event.source.get("content")).get("body", ""))
        name = room.user_name(event.sender) or event.sender
        quoted = ReplyTo(text, author=name, message_id=event_id) if text else None
        return quoted, event.sender == self._user

    async def send(self, answer: RoomAnswer) -> str:
        async with self._asking():
            sent = ""
            for place, part in enumerate(answer.images):
                content = await self._uploaded(part.data or b"", part.mime, part.name)
                sent = await self._send(answer.room, content, f"{answer.key}/image/{place}")
            if answer.text:
                sent = await self._send(answer.room, _content(answer), answer.key)
            return answer.edits or sent

    async def _send(self, room: str, content: dict[str, Any], key: str) -> str:
        transaction = hashlib.sha256(key.encode()).hexdigest()
        found = await self._client.room_send(room, "m.room.message", content, transaction)
        if not isinstance(found, RoomSendResponse):
            self._raise(found)
        return found.event_id

    async def _uploaded(self, data: bytes, mime: str, name: str) -> dict[str, Any]:
        found, _ = await self._client.upload(
            BytesIO(data), content_type=mime, filename=name or "image", filesize=len(data)
        )
        if not isinstance(found, UploadResponse):
            self._raise(found)
        told = {"mimetype": mime, "size": len(data)}
        return {
            "msgtype": "m.image",
            "body": name or "image",
            "url": found.content_uri,
            "info": told,
        }

    async def show_typing(self, room: str) -> None:
        async with self._asking():
            await self._client.room_typing(room, timeout=8000)

    async def fetch(self, file: ChannelFile, most: int) -> bytes:
        async with self._asking():
            found = await self._client.download(file.handle)  # pyright: ignore[reportUnknownMemberType]  # of a path it may be given
        if isinstance(found, MemoryDownloadResponse):
            if len(found.body) > most:
                raise ChannelFailed(f"it is larger than {most} bytes")
            return found.body
        told = self._told(found) if isinstance(found, DownloadError) else "it is kept on disk"
        raise ChannelFailed(f"Matrix: {told}")

    @asynccontextmanager
    async def _asking(self) -> AsyncGenerator[None]:
        """What goes wrong on the way, as what became of the message."""
        try:
            yield
        except ClientConnectorError as error:
            raise ChannelFailed(f"Matrix: {error}", sent="later") from error
        except (TimeoutError, ClientError, OSError) as error:
            told = str(error) or type(error).__name__
            raise ChannelFailed(f"Matrix: {told}", sent="unknown") from error

    def _raise(self, found: ErrorResponse) -> NoReturn:
        limited = found.status_code in ("M_LIMIT_EXCEEDED", "429")
        seconds = (found.retry_after_ms or 0) / 1000
        unsure = found.status_code in (None, "M_UNKNOWN")
        state = "later" if limited else "unknown" if unsure else "never"
        raise ChannelFailed(f"Matrix: {self._told(found)}", sent=state, retry_after=seconds)

    def _told(self, found: ErrorResponse) -> str:
        return f"{found.status_code or ''} {found.message}".strip().replace(self._key, "***")


def _content(answer: RoomAnswer) -> dict[str, Any]:
    said: dict[str, Any] = {"msgtype": "m.text", "body": answer.text, "m.mentions": {}}
    if answer.edits:
        relation = {"rel_type": "m.replace", "event_id": answer.edits}
        return {**said, "body": f"* {answer.text}", "m.new_content": said, "m.relates_to": relation}
    if answer.reply_to:
        said["m.relates_to"] = {"m.in_reply_to": {"event_id": answer.reply_to}}
    return said


def _members(value: object) -> dict[str, Any]:
    """Of what a stranger's client sent: nothing where it is no object."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _files(said: dict[str, Any]) -> tuple[ChannelFile, ...]:
    info = _members(said.get("info"))
    name = str(said.get("filename") or said.get("body") or "")
    size = info.get("size", 0)
    url, mime = str(said.get("url", "")), str(info.get("mimetype", ""))
    file = ChannelFile(url, name, mime, size if isinstance(size, int) else 0)
    return (file,) if url else ()
