"""The Telegram adapter against a server on loopback that speaks the Bot API."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest
from anyio import fail_after, open_process
from tests.rounds import LETTER, Rounds, calls, says, send

pytest.importorskip("telegram")

from mentis import create_home
from mentis.channels.bell import Bell
from mentis.channels.telegram import TelegramChannel
from mentis.errors import ChannelFailed
from mentis.homes import open_channels

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


async def test_an_approval_is_a_button(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write('\n[acts]\nask = ["send"]\n')
    pair_owner(home)
    provider = Rounds(calls(LETTER), says("I asked."), says("I sent it."))
    async with telegram_server() as (server, address):
        adapter = TelegramChannel(address, TOKEN, poll=1)
        async with living(home, adapter, tools=[send], provider=provider) as rooms:
            server.write("Write to Mallory.")
            await rooms.until(lambda: any("reply_markup" in one for one in server.sent()))
            offer = next(one for one in server.sent() if "reply_markup" in one)
            ((yes, no),) = json.loads(offer["reply_markup"])["inline_keyboard"]
            assert (yes["text"], no["text"]) == ("Yes", "No")
            server.press(yes["callback_data"], who=BOB)  # whoever it is that forwards it
            server.press(yes["callback_data"])
            await rooms.until(lambda: "I sent it." in [one["text"] for one in server.sent()])
            assert len(rooms.happened("ignored")) == 1
            await rooms.until(lambda: len(server.sent("answerCallbackQuery")) == 2)


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("channels", "run", "phone"), marks=pytest.mark.slow),
        ("run", "--interval", "3600"),
    ],
)
async def test_the_commands_answer_until_they_are_told_to_stop(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    home = Path(create_home(tmp_path / "home"))
    text = (home / "mentis.toml").read_text(encoding="utf-8")
    script = '[routes]\ndefault = { backend = "scripted", replies = ["Hello, Ann."] }\n'
    (home / "mentis.toml").write_text(text.replace("[routes]\n", script), encoding="utf-8")
    channels = open_channels(home)
    environ = {**os.environ, "TELEGRAM_BOT_TOKEN": TOKEN, "MENTIS_HOME": str(home)}
    async with telegram_server() as (server, address):
        channels.add("telegram", "phone", url=address)
        server.write(channels.pair("phone"))
        server.write("Hello!")
        program = [sys.executable, "-m", "mentis", *command]
        async with await open_process(program, env=environ, stdout=None, stderr=None) as running:
            with fail_after(60):
                while len(server.sent()) < 2:
                    await Bell().wait(0.05)
            running.send_signal(signal.SIGTERM)
            assert await running.wait() == 0
        said = [one["text"] for one in server.sent()]
        assert said == ["From now on I know you as my owner here.", "Hello, Ann."]
        assert channels.status("phone").state == "paired"
