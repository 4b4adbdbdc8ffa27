"""Telegram, through `python-telegram-bot`: long polling, so that no address has to be reachable.

An update is acknowledged by asking for the next one, which happens only after it was taken in.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NoReturn

from anyio import TASK_STATUS_IGNORED, CancelScope, sleep
from anyio.abc import TaskStatus
from telegram import (
    Bot,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputMediaPhoto,
    Message,
    ReplyParameters,
    Update,
    User,
)
from telegram.error import (
    BadRequest,
    Conflict,
    Forbidden,
    InvalidToken,
    RetryAfter,
    TelegramError,
)
from telegram.request import HTTPXRequest

from mentis.errors import ChannelFailed, MentisError
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

_POLL, _SECONDS, _AGAIN = 30, 20.0, 5.0
_WANTED = ["message", "edited_message", "callback_query"]
_NEVER_SENT = ("ConnectError", "ConnectTimeout", "PoolTimeout")  # no byte of it left


def open_channel(server: str, _chosen: ChannelSettings, key: str) -> TelegramChannel:
    return TelegramChannel(server, key)


class TelegramChannel:
    def __init__(self, server: str, key: str, *, poll: int = _POLL) -> None:
        self._key, self._poll = key, poll
        # No proxy and nothing else that a variable of the environment could name.
        client: dict[str, Any] = {"trust_env": False, "follow_redirects": False}
        self._bot = Bot(
            key,
            base_url=f"{server}/bot",
            base_file_url=f"{server}/file/bot",
            request=HTTPXRequest(
                8, read_timeout=_SECONDS, write_timeout=_SECONDS, httpx_kwargs=client
            ),
            get_updates_request=HTTPXRequest(1, httpx_kwargs=client, read_timeout=poll + _SECONDS),
        )

    @property
    def abilities(self) -> ChannelAbilities:
        return ChannelAbilities(longest=4096, buttons=True, edits=True, images=True)

    async def run(
        self,
        receive: Receive,
        start: ChannelStart,  # noqa: ARG002  # the platform knows what was acknowledged
        *,
        task_status: TaskStatus[None] = TASK_STATUS_IGNORED,
    ) -> None:
        try:
            await self._begin()
            task_status.started()
            offset: int | None = None
            while True:
                offset = await self._next(receive, offset)
        finally:
            with CancelScope(shield=True):
                await self._bot.shutdown()

    async def _begin(self) -> None:
        """Who it is; until the platform can be reached."""
        while True:
            try:
                await self._bot.initialize()
            except (InvalidToken, Forbidden) as error:
                raise ChannelFailed(
                    f"Telegram does not know this token: {self._told(error)}",
                    hint="look at the variable that holds it: @BotFather shows the token",
                ) from error
            except TelegramError:
                await sleep(_AGAIN)
            else:
                return

    async def _next(self, receive: Receive, offset: int | None) -> int | None:
        """Take in what has come; the number of the update that is asked for next."""
        try:
            updates = await self._bot.get_updates(
                offset=offset, timeout=timedelta(seconds=self._poll), allowed_updates=_WANTED
            )
        except RetryAfter as error:
            await sleep(_seconds(error))
            return offset
        except Conflict as error:
            raise ChannelFailed(
                f"somebody else asks for the messages of this bot: {self._told(error)}",
                hint="one process runs a bot; a webhook has to be removed first",
            ) from error
        except TelegramError:
            await sleep(_AGAIN)
            return offset
        for update in updates:
            event = self._event(update)
            if event is not None:
                try:
                    await receive(event)
                except MentisError:  # a store that is busy: it comes again
                    await sleep(_AGAIN)
                    return update.update_id
            if update.callback_query is not None:
                await self._pressed(update)
            offset = update.update_id + 1
        return offset

    async def _pressed(self, update: Update) -> None:
        try:
            await self._bot.answer_callback_query(update.callback_query.id)  # pyright: ignore[reportOptionalMemberAccess]  # there is one
        except TelegramError:
            return  # its clock goes on turning for a while, and that is all

    def _event(self, update: Update) -> RoomEvent | None:
        if (press := update.callback_query) is not None:
            message = press.message
            if message is None or press.data is None:
                return None
            private = message.chat.type == "private"
            return ButtonPress(
                str(message.chat.id), press.id, str(press.from_user.id), press.data, private
            )
        if update.edited_message is not None:
            return self._message(update.edited_message, update.update_id, edit=True)
        if update.message is not None:
            return self._message(update.message, update.update_id, edit=False)
        return None

    def _message(self, message: Message, update: int, *, edit: bool) -> RoomMessage | None:
        sender = message.from_user
        if sender is None or sender.is_bot or message.sender_chat is not None:
            return None  # a channel, an anonymous group, another bot: nobody who can be answered
        text, own = message.text or message.caption or "", str(message.message_id)
        private, name = message.chat.type == "private", self._bot.username
        thread = f":{message.message_thread_id}" if message.is_topic_message else ""
        replied = message.reply_to_message
        to_us = replied is not None and _is(replied.from_user, self._bot.id)
        return RoomMessage(
            f"{message.chat.id}{thread}",
            f"{own}.{update}" if edit else own,
            str(sender.id),
            text,
            name=sender.full_name,
            room_name=message.chat.title or "",
            private=private,
            mentioned=to_us or f"@{name}".lower() in text.lower().split(),
            reply_to=None if replied is None else _quoted(replied),
            edit_of=own if edit else "",
            time=message.date.isoformat(),
            files=_files(message),
        )

    async def send(self, answer: RoomAnswer) -> str:
        try:
            return await self._send(answer)
        except TelegramError as error:
            self._raise(error)

    async def _send(self, answer: RoomAnswer) -> str:
        chat, _, thread = answer.room.partition(":")
        buttons = [
            [InlineKeyboardButton(one.text, callback_data=one.data)] for one in answer.buttons
        ]
        markup = InlineKeyboardMarkup([[row[0] for row in buttons]]) if buttons else None
        if answer.edits and not answer.images:
            await self._bot.edit_message_text(
                answer.text, chat_id=int(chat), message_id=int(answer.edits), reply_markup=markup
            )
            return answer.edits
        reply = int(answer.reply_to.partition(".")[0]) if answer.reply_to else None
        to: dict[str, Any] = {
            "chat_id": int(chat),
            "message_thread_id": int(thread) if thread else None,
            "disable_notification": answer.quiet,
            "reply_parameters": reply and ReplyParameters(reply, allow_sending_without_reply=True),
        }
        if answer.images:
            return await self._send_images(answer, to)
        sent = await self._bot.send_message(text=answer.text, reply_markup=markup, **to)
        return str(sent.message_id)

    async def _send_images(self, answer: RoomAnswer, to: dict[str, Any]) -> str:
        """All in one message, so that they are sent or not."""
        if len(answer.images) == 1:
            sent = await self._bot.send_photo(photo=answer.images[0].data or b"", **to)
            return str(sent.message_id)
        media = [InputMediaPhoto(part.data or b"") for part in answer.images]
        messages = await self._bot.send_media_group(media=media, **to)
        return str(messages[0].message_id)

    async def show_typing(self, room: str) -> None:
        try:
            await self._bot.send_chat_action(int(room.partition(":")[0]), "typing")
        except TelegramError as error:
            self._raise(error)

    async def fetch(self, file: ChannelFile, most: int) -> bytes:
        try:
            found = await self._bot.get_file(file.handle)
            if found.file_size is not None and found.file_size > most:
                raise ChannelFailed(f"it is larger than {most} bytes")
            return bytes(await found.download_as_bytearray())
        except TelegramError as error:
            self._raise(error)

    def _raise(self, error: TelegramError) -> NoReturn:
        """As what became of the message, which is all that matters here."""
        told = f"Telegram: {self._told(error)}"
        if isinstance(error, RetryAfter):
            raise ChannelFailed(told, sent="later", retry_after=_seconds(error)) from error
        if isinstance(error, (BadRequest, Forbidden, InvalidToken)):
            raise ChannelFailed(told, sent="never") from error
        unsent = type(error.__cause__).__name__ in _NEVER_SENT
        raise ChannelFailed(told, sent="later" if unsent else "unknown") from error

    def _told(self, error: TelegramError) -> str:
        """Its words, without the token, which is part of every address there."""
        return str(error).replace(self._key, "***")


def _seconds(error: RetryAfter) -> float:
    wait = error.retry_after
    return wait.total_seconds() if isinstance(wait, timedelta) else float(wait)


def _is(user: User | None, own: int) -> bool:
    return user is not None and user.id == own


def _quoted(message: Message) -> ReplyTo | None:
    text = message.text or message.caption or ""
    name = message.from_user.full_name if message.from_user else ""
    return ReplyTo(text, author=name, message_id=str(message.message_id)) if text else None


def _files(message: Message) -> tuple[ChannelFile, ...]:
    found: list[ChannelFile] = []
    if message.photo:  # the same in several sizes, the largest last
        largest = message.photo[-1]
        found.append(
            ChannelFile(largest.file_id, "photo.jpg", "image/jpeg", largest.file_size or 0)
        )
    for one in (message.document, message.audio, message.video, message.voice):
        if one is not None:
            name = getattr(one, "file_name", None) or ""
            found.append(ChannelFile(one.file_id, name, one.mime_type or "", one.file_size or 0))
    return tuple(found)
