"""Discord, through `discord.py`: the gateway for what is said, REST for what is answered.

The gateway forgets what nobody heard. So the id of a message is kept with its receipt, and the next
process asks each room for what came after the last one. Limits are obeyed by the library.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Any, cast
from urllib.parse import urlsplit

import discord
import yarl
from aiohttp import ClientConnectorError, ClientError
from anyio import TASK_STATUS_IGNORED, CancelScope, Event, create_task_group, sleep
from anyio.abc import TaskStatus
from discord.gateway import DiscordWebSocket
from discord.http import Route

from mentis.errors import ChannelFailed, MentisError
from mentis.home.channel_reach import SERVERS
from mentis.net.targets import origin_of
from mentis.ports.channel_adapter import Receive
from mentis.settings.channels import ChannelSettings
from mentis.values.channel import (
    ButtonPress,
    ChannelAbilities,
    ChannelFile,
    ChannelStart,
    RoomAnswer,
    RoomEvent,
    RoomMessage,
)
from mentis.values.request import ReplyTo

_FILES = ("cdn.discordapp.com", "media.discordapp.net")
_AGAIN = 5.0
_NONCE = 24  # characters; it may have 25


def open_channel(server: str, _chosen: ChannelSettings, key: str) -> DiscordChannel:
    return DiscordChannel(server, key)


class DiscordChannel:
    def __init__(self, server: str, key: str) -> None:
        self._server, self._key = server, key
        if server != origin_of(SERVERS["discord"]):  # one for tests, or in between
            Route.BASE = f"{server}/api/v10"
            gateway = f"{server.replace('http', 'ws', 1)}/gateway"
            DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway)
        self._client: discord.Client | None = None
        self._there = Event()
        self._heard: list[RoomEvent | discord.Interaction] = []
        self._came = Event()

    @property
    def abilities(self) -> ChannelAbilities:
        return ChannelAbilities(longest=2000, buttons=True, edits=True, images=True)

    async def run(
        self,
        receive: Receive,
        start: ChannelStart,
        *,
        task_status: TaskStatus[None] = TASK_STATUS_IGNORED,
    ) -> None:
        self._client = client = self._listening()
        failures: list[ChannelFailed] = []

        async def connect() -> None:
            try:
                await client.start(self._key)
            except (discord.LoginFailure, discord.PrivilegedIntentsRequired) as error:
                hint = "look at the token, and at the intent `message content` of the application"
                failures.append(ChannelFailed(f"Discord: {self._told(error)}", hint=hint))
                tasks.cancel_scope.cancel()

        try:
            async with create_task_group() as tasks:
                tasks.start_soon(connect)
                await self._there.wait()
                task_status.started()
                for event in await self._missed(start):
                    await _until_taken(receive, event)
                await self._hear(receive)
        finally:
            with CancelScope(shield=True):
                await client.close()
        if failures:
            raise failures[0]

    def _listening(self) -> discord.Client:
        intents = discord.Intents.none()
        intents.guilds = intents.messages = intents.message_content = True
        client = discord.Client(intents=intents, allowed_mentions=discord.AllowedMentions.none())

        async def on_ready() -> None:
            self._there.set()

        async def on_message(message: discord.Message) -> None:
            self._hears(self._message(message))

        async def on_raw_message_edit(payload: discord.RawMessageUpdateEvent) -> None:
            if payload.message.edited_at is not None:  # else only its preview has come
                self._hears(self._message(payload.message, edit=True))

        async def on_interaction(interaction: discord.Interaction) -> None:
            if interaction.type is discord.InteractionType.component:
                self._hears(interaction)

        for listener in (on_ready, on_message, on_raw_message_edit, on_interaction):
            client.event(listener)
        return client

    def _hears(self, event: RoomEvent | discord.Interaction | None) -> None:
        if event is not None:
            self._heard.append(event)
            self._came.set()

    async def _hear(self, receive: Receive) -> None:
        while True:
            while self._heard:
                event = self._heard[0]
                if isinstance(event, discord.Interaction):
                    await _until_taken(receive, _press(event))
                    await _acknowledge(event)
                else:
                    await _until_taken(receive, event)
                self._heard.pop(0)
            self._came = Event()
            await self._came.wait()

    async def _missed(self, start: ChannelStart) -> list[RoomMessage]:
        """What came while nobody was there, in the rooms that were talked in."""
        found: list[RoomMessage] = []
        for room in start.rooms if start.cursor else ():
            try:
                channel = await self._room(room)
                after = discord.Object(int(start.cursor))
                async for one in channel.history(after=after, oldest_first=True, limit=None):
                    message = self._message(one)
                    found += [message] if message is not None else []
            except (discord.HTTPException, ChannelFailed):
                continue  # a room that is closed to us now
        return sorted(found, key=lambda one: int(one.id))

    def _message(self, message: discord.Message, *, edit: bool = False) -> RoomMessage | None:
        own = self._client.user if self._client is not None else None
        if message.author.bot or message.webhook_id is not None or own is None:
            return None
        replied = message.reference.resolved if message.reference else None
        quoted = replied if isinstance(replied, discord.Message) else None
        by_us = quoted is not None and quoted.author.id == own.id
        number = str(message.id)
        return RoomMessage(
            str(message.channel.id),
            f"{number}.{message.edited_at.timestamp()}" if edit and message.edited_at else number,
            str(message.author.id),
            message.clean_content,
            name=message.author.display_name,
            room_name=str(getattr(message.channel, "name", "") or ""),
            private=isinstance(message.channel, discord.DMChannel),
            mentioned=by_us or any(one.id == own.id for one in message.mentions),
            reply_to=None if quoted is None else _quoted(quoted),
            edit_of=number if edit else "",
            time=message.created_at.isoformat(),
            files=tuple(
                ChannelFile(one.url, one.filename, one.content_type or "", one.size)
                for one in message.attachments
            ),
            cursor="" if edit else number,
        )

    async def _room(self, room: str) -> discord.DMChannel:
        """Every kind of channel that can be written to has these methods; this is one of them."""
        client = self._client
        if client is None or not self._there.is_set():
            raise ChannelFailed("Discord: it is not connected yet", sent="later")
        found = client.get_channel(int(room)) or await client.fetch_channel(int(room))
        return cast("discord.DMChannel", found)

    async def send(self, answer: RoomAnswer) -> str:
        async with self._asking():
            channel = await self._room(answer.room)
            if answer.edits:
                await channel.get_partial_message(int(answer.edits)).edit(content=answer.text)
                return answer.edits
            told: dict[str, Any] = {"silent": answer.quiet}
            # The library tries again by itself: with a nonce the platform knows the second by it.
            told["nonce"] = hashlib.sha256(answer.key.encode()).hexdigest()[:_NONCE]
            if answer.reply_to:
                told["reference"] = discord.MessageReference(
                    message_id=int(answer.reply_to),
                    channel_id=int(answer.room),
                    fail_if_not_exists=False,
                )
            if answer.buttons:
                told["view"] = _buttons(answer)
            if answer.images:
                told["files"] = [
                    discord.File(BytesIO(part.data or b""), part.name or f"image{n}.png")
                    for n, part in enumerate(answer.images)
                ]
            sent = await channel.send(answer.text or None, **told)
            return str(sent.id)

    async def show_typing(self, room: str) -> None:
        async with self._asking():
            channel = await self._room(room)
            await channel.typing()

    async def fetch(self, file: ChannelFile, most: int) -> bytes:
        host = urlsplit(file.handle).hostname or ""
        if host not in (*_FILES, urlsplit(self._server).hostname):
            raise ChannelFailed(f"Discord: no attachment is at {host}")
        if self._client is None:
            raise ChannelFailed("Discord: it is not connected")
        async with self._asking():
            data = await self._client.http.get_from_cdn(file.handle)
        if len(data) > most:
            raise ChannelFailed(f"it is larger than {most} bytes")
        return data

    @asynccontextmanager
    async def _asking(self) -> AsyncGenerator[None]:
        """What goes wrong on the way, as what became of the message."""
        try:
            yield
        except discord.RateLimited as error:
            told = "Discord: too many requests"
            raise ChannelFailed(told, sent="later", retry_after=error.retry_after) from error
        except discord.HTTPException as error:
            limited, refused = error.status == 429, 400 <= error.status < 500
            sent = "later" if limited else "never" if refused else "unknown"
            raise ChannelFailed(f"Discord: {self._told(error)}", sent=sent) from error
        except ClientConnectorError as error:
            raise ChannelFailed(f"Discord: {error}", sent="later") from error
        except (ClientError, TimeoutError, OSError) as error:
            raise ChannelFailed(f"Discord: {self._told(error)}", sent="unknown") from error

    def _told(self, error: BaseException) -> str:
        return (str(error) or type(error).__name__).replace(self._key, "***")


async def _until_taken(receive: Receive, event: RoomEvent) -> None:
    while True:
        try:
            await receive(event)
        except MentisError:  # a store that is busy
            await sleep(_AGAIN)
        else:
            return


def _press(interaction: discord.Interaction) -> ButtonPress:
    data = cast("dict[str, Any]", interaction.data or {})
    return ButtonPress(
        str(interaction.channel_id),
        str(interaction.id),
        str(interaction.user.id),
        str(data.get("custom_id", "")),
        private=interaction.guild_id is None,
    )


async def _acknowledge(interaction: discord.Interaction) -> None:
    try:
        await interaction.response.defer()
    except discord.HTTPException:
        return  # the button shows an error, and the decision counts all the same


def _quoted(message: discord.Message) -> ReplyTo | None:
    text = message.clean_content
    name = message.author.display_name
    return ReplyTo(text, author=name, message_id=str(message.id)) if text else None


def _buttons(answer: RoomAnswer) -> discord.ui.View:
    view = discord.ui.View(timeout=None)
    for one in answer.buttons:
        button: discord.ui.Button[discord.ui.View] = discord.ui.Button(
            label=one.text, custom_id=one.data
        )
        view.add_item(button)
    return view
