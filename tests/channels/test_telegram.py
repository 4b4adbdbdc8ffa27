"""The Telegram adapter against a server on loopback that speaks the Bot API."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("telegram")

from mentis.channels.telegram import TelegramChannel
from mentis.errors import ChannelFailed

from .rooms import living, make_home, pair_owner
from .telegram_server import BOB, GARDEN, TOKEN, telegram_server
from .test_rooms import PNG

pytestmark = [
    pytest.mark.anyio,
    # Of the library to itself, whenever a limit is reached.
    pytest.mark.filterwarnings("ignore::telegram.warnings.PTBDeprecationWarning"),
]
NAMED = [{"type": "mention", "offset": 0, "length": 8}]


async def test_a_private_talk_a_group_an_edit_and_a_file_go_to_and_fro(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    pair_owner(home)
    async with telegram_server() as (server, address):
        replies = ["Hello, Ann.", "Hello, Bob.", "A dot.", "Five."]
        async with living(home, TelegramChannel(address, TOKEN, poll=1), replies) as rooms:
            server.write("Hello!")
            await rooms.until(lambda: len(server.sent()) == 1)
            first = server.sent()[0]
            assert (first["chat_id"], first["text"]) == ("42", "Hello, Ann.")
            assert server.sent("sendChatAction")[0]["action"] == "typing"

            server.write("Nobody is named.", who=BOB, where=GARDEN)
            asked = server.write("@ada_bot hello", who=BOB, where=GARDEN, entities=NAMED)
            await rooms.until(lambda: len(server.sent()) == 2)
            second = server.sent()[1]
            assert (second["chat_id"], second["text"]) == ("-100", "Hello, Bob.")
            assert json.loads(second["reply_parameters"])["message_id"] == asked
            assert b"Bob Ray (guest)" in rooms.prompts[1]

            server.files["f1"] = PNG
            sizes = [{"file_id": "f1", "file_unique_id": "f1", "width": 1, "height": 1}]
            number = server.write("", photo=sizes, caption="What is it?")
            await rooms.until(lambda: len(server.sent()) == 3)
            server.edit(number, "Two and three?")
            await rooms.until(lambda: len(server.sent("editMessageText")) == 1)
            assert server.sent("editMessageText")[0]["text"] == "Five."
            await rooms.settled()
            # Each was acknowledged only by asking for what comes after it.
            await rooms.until(lambda: server.acknowledged == len(server.updates))
            assert len(rooms.entries("received")) == 4


async def test_a_rate_limit_is_obeyed_and_a_refusal_is_final(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    pair_owner(home)
    async with telegram_server() as (server, address):
        server.failures = [
            (429, {"description": "Too Many Requests", "parameters": {"retry_after": 1}}),
            (403, {"description": "Forbidden: bot was blocked by the user"}),
        ]
        async with living(home, TelegramChannel(address, TOKEN, poll=1), ["One."]) as rooms:
            server.write("Hello?")
            await rooms.until(lambda: bool(rooms.happened("unsent")))
            assert len(server.sent()) == 2
            assert "too many" not in rooms.happened("unsent")[0].reason.lower()
            assert len(rooms.entries("put off")) == 1
        (entry,) = rooms.happened("put off")
        assert TOKEN not in entry.reason


async def test_a_wrong_token_ends_the_channel_and_is_not_told(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    async with telegram_server() as (_server, address):
        async with living(home, TelegramChannel(address, "99:wrong", poll=1), fails=True) as rooms:
            await rooms.until(lambda: bool(rooms.failures))
        assert isinstance(rooms.failures[0], ChannelFailed)
        assert "99:wrong" not in rooms.failures[0].message
